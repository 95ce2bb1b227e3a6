import Foundation
import PostgresStore
import SyncEngine
import TestSupport
import Testing

/// Connections that end under a worker: no unit is lost, no row is, and what is missing goes in the end.
@Suite("Outages of shared work", .timeLimit(.minutes(15)), .fewAtATime)
struct SharedOutageTests {
  private struct Count: Decodable {
    var count: Int
    var question: String?
  }

  @Test(
    "a connection that ends at any question to the server: the worker joins again, and the generation ends with the right table",
    arguments: ["terminate", "silence"])
  func everyQuestion(_ how: String) async throws {
    let place = try SharedPlace()
    let server = try PostgresServer.shared()
    let port = server.split(separator: ":").last?.prefix { $0.isNumber } ?? ""
    let proxy = try ServerProcess(script: "postgres_proxy.py", [String(port)])
    let url = place.schema.url.replacing(":\(port)", with: ":\(try proxy.port())") + "&sslmode=disable"
    func ask(_ path: String) throws -> Count {
      try JSONDecoder().decode(
        Count.self, from: Shell.run("curl", "-sf", "http://127.0.0.1:\(try proxy.port())" + path))
    }
    try place.rows("CREATE TABLE owner (id bigint PRIMARY KEY); INSERT INTO owner VALUES (1), (2)")
    let other = try await place.worker("other", Cut.Line.self)
    _ = try ask("/arm")
    let isLong = ProcessInfo.processInfo.environment["SYNCD_TEST_LONG"] != nil
    var (at, questions, cuts) = (0, 0, 0)
    while true {
      // Many questions are asked again and again.
      at += at < 4 || isLong ? 1 : 23
      let edition = at
      let lines = [1: [1, 2, edition + 10], 2: [edition + 10, edition + 11]]
      try place.serve(owners: lines, text: "\(edition)")
      try place.due()
      let before = try place.rows("SELECT coalesce(max(generation), 0) FROM syncd_units WHERE slice = ''")
      let runs = try place.rows("SELECT coalesce(max(id), 0) FROM syncd_runs")
      _ = try ask("/arm?at=\(at)&how=\(how)")
      let worker = try SharedWorker(place, "one", [Cut.Line.self], url: url)
      var said: [String] = []
      // The generation that is under way, and one that has begun after all rows were there.
      for attempt in 1...60 {
        do {
          _ = try await worker.renew()
          said += try await worker.work()
        } catch { said.append("\(error)") }
        // What has failed need not wait here.
        try place.due(
          "failures > 0 OR ready_at <= clock_timestamp() + interval '1 minute' OR slice = '' AND \(attempt) % 10 = 0"
        )
        let isOver = try place.rows(
          "SELECT generation > \(before) FROM syncd_units WHERE slice = '' AND holder IS NULL")
        if isOver == "1" { break }
        #expect(attempt < 60, "question \(at): \(said)")
      }
      let end = try ask("/count")
      _ = try ask("/arm")
      await worker.queue.leave()
      await worker.store.close()
      _ = try await other.renew()
      // Whatever it left behind is free.
      expect(try place.rows("SELECT count(*) FROM syncd_units WHERE holder IS NOT NULL"), is: "0")
      let expected = lines.sorted { $0.key < $1.key }.flatMap { owner, lines in
        lines.map { "\(owner) | \($0) | \(edition)" }
      }
      let found = try place.rows("SELECT owner, n, v FROM line ORDER BY 1, 2")
      #expect(found == expected.joined(separator: "\n"), "question \(at), \(end): \(said)")
      // Each slice was committed at least once, and each end once.
      let ends = try place.rows(
        "SELECT count(*) FROM syncd_runs WHERE id > \(runs) AND entity = 'line' AND outcome = 'proven'")
      #expect(ends == "1", "question \(at), \(end): \(said)")
      if end.question == nil { break }
      (questions, cuts) = (at, cuts + 1)
    }
    print("killed shared work at \(cuts) of \(questions) questions (\(how))")
    #expect(cuts > 8)
  }

  @Test("a server that is stopped and started again: claims go on, and each unit runs")
  func restarted() async throws {
    let server = try PostgresServer()
    let place = try SharedPlace()
    try place.server.serve([Route("/items", body: #"{"data":[{"id":1}]}"#)])
    let one = try SharedWorker(place, "one", [Item.self], url: server.url)
    _ = try await one.renew()
    let claim = try await one.claim()[0]
    for mode in ["fast", "immediate"] {
      try server.stop(mode)
      await #expect(throws: StoreError.self) { try await one.renew() }
      await #expect(throws: StoreError.self) { try await one.claim() }
      try server.start()
    }
    let early = await one.run(claim)
    #expect(try await one.joinsAgain())
    let next = try await one.claim()
    #expect(next.map(\.unit.name) == ["item"] || early.hasSuffix("proven"), "\(early)")
    for claim in next { #expect(await one.run(claim).hasSuffix(", proven")) }
    #expect(
      try Postgres.rows(server.url, "SELECT count(*) FROM item; SELECT count(holder) FROM syncd_units")
        == "1\n0")
  }
}
