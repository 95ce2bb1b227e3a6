import Foundation
import PostgresStore
import SyncEngine
import TestSupport
import Testing

/// A run whose claim is gone writes nothing.
@Suite("Fences of shared work", .timeLimit(.minutes(15)), .fewAtATime)
struct FenceTests {
  /// What a run can leave: rows, what is kept beside them, and runs that say that they were committed.
  private static let traces = """
    SELECT 'item ' || id || ' ' || coalesce(v, '') FROM item UNION ALL SELECT 'state ' || name FROM syncd_state WHERE entity = 'item' AND name <> 'table'
    UNION ALL SELECT 'page' FROM syncd_pages UNION ALL SELECT 'run ' || outcome FROM syncd_runs ORDER BY 1
    """

  private static let one = [
    Route("/items", answer: ["ETag": "\"1\""], body: #"{"data":[{"id":1,"v":"one"}]}"#)
  ]
  private static let two = [
    Route("/items", answer: ["ETag": "\"2\""], body: #"{"data":[{"id":2,"v":"two"}]}"#)
  ]

  /// A place where the table is there, without rows, and one worker has the claim.
  private func scene() async throws -> (SharedPlace, SharedWorker, SharedWorker, Claim) {
    let place = try SharedPlace()
    let (one, two) = (try await place.worker("one", Item.self), try await place.worker("two", Item.self))
    try place.rows("CREATE TABLE item (id bigint PRIMARY KEY, v text)")
    return (place, one, two, try await one.claim()[0])
  }

  @Test("a claim that was taken over writes no row, no state and no run, and the new one's rows stay")
  func takenOver() async throws {
    let (place, one, two, claim) = try await scene()
    try place.expire(one)
    #expect(try await two.renew())
    let taken = try await two.claim()[0]
    try place.server.serve(Self.one)
    let early = await one.run(claim)
    #expect(early.contains("lease of item ended"), "\(early)")
    expect(try place.rows(Self.traces), is: "run failed")
    try place.server.serve(Self.two)
    #expect(await two.run(taken).hasSuffix("1 inserted, 0 updated, 0 unchanged, 0 deleted, proven"))
    let after = try place.rows(Self.traces)
    try place.server.serve(Self.one)
    #expect(await one.run(claim).contains("lease of item ended"))
    expect(
      try place.rows(Self.traces), is: after.replacing("run failed", with: "run failed\nrun failed"))
    #expect(after.hasPrefix("item 2 two\npage\nrun failed\nrun proven\n"), "\(after)")
    // What failed is not the new claim's failure.
    expect(try place.units("failures"), is: "item | 0")
  }

  @Test("a claim whose lease is over writes nothing, though nobody has taken it")
  func expired() async throws {
    let (place, one, _, claim) = try await scene()
    try place.expire(one)
    try place.server.serve(Self.one)
    let said = await one.run(claim)
    #expect(said.contains("lease of item ended"), "\(said)")
    expect(try place.rows(Self.traces), is: "run failed")
  }

  @Test("a claim of a worker that was reaped, and joined again, writes nothing")
  func joinedAgain() async throws {
    let (place, one, _, claim) = try await scene()
    try place.expire(one)
    #expect(try await !one.renew())
    try place.server.serve(Self.one)
    let said = await one.run(claim)
    #expect(said.contains("lease of item ended"), "\(said)")
    expect(try place.rows(Self.traces), is: "run failed")
    #expect(try await one.claim().count == 1)
  }

  @Test("a lease that ends while the commit waits for somebody's lock: nothing is written")
  func waiting() async throws {
    let (place, one, two, claim) = try await scene()
    try place.server.serve(Self.one)
    let session = try PostgresSession(place.schema.url)
    _ = try session.rows("BEGIN; LOCK TABLE item IN SHARE MODE")
    async let said = one.run(claim)
    let waits = "SELECT count(*) FROM pg_locks WHERE relation = 'item'::regclass AND NOT granted"
    while try place.rows(waits) == "0" { try await Task.sleep(for: .milliseconds(5)) }
    try place.expire(one)
    // Nobody has it as long as the commit goes on.
    #expect(try await two.claim().isEmpty)
    _ = try session.rows("COMMIT")
    let line = await said
    #expect(line.contains("lease of item ended"), "\(line)")
    expect(try place.rows(Self.traces), is: "run failed")
    #expect(try await two.renew())
    #expect(try await two.claim().count == 1)
  }

  @Test("a worker that hangs in its commit is ended by who reaps it, and holds up nobody")
  func ended() async throws {
    let (place, one, two, claim) = try await scene()
    try place.server.serve(Self.one)
    let session = try PostgresSession(place.schema.url)
    _ = try session.rows("BEGIN; LOCK TABLE item IN SHARE MODE")
    async let said = one.run(claim)
    let waits = "SELECT count(*) FROM pg_locks WHERE relation = 'item'::regclass AND NOT granted"
    while try place.rows(waits) == "0" { try await Task.sleep(for: .milliseconds(5)) }
    try place.expire(one)
    #expect(try await two.renew())
    let line = await said
    #expect(line.contains("the connection to the server was lost"), "\(line)")
    _ = try session.rows("COMMIT")
    // What its session had locked is free when that has ended.
    var taken: [Claim] = []
    while taken.isEmpty {
      _ = try await two.renew()
      try place.rows("UPDATE syncd_units SET ready_at = now() WHERE holder IS NULL")
      taken = try await two.claim()
    }
    try place.server.serve(Self.two)
    #expect(await two.run(taken[0]).hasSuffix(", proven"))
    expect(try place.rows("SELECT id FROM item"), is: "2")
  }

  @Test("the right to the table of a worker that was ended goes with it")
  func tableLease() async throws {
    let (place, one, two, claim) = try await scene()
    try place.server.serve([Route("/items", body: "{}", fault: "stall")])
    let run = Task { await one.run(claim) }
    while try place.server.requests().isEmpty { try await Task.sleep(for: .milliseconds(5)) }
    try place.expire(one)
    #expect(try await two.renew())
    let taken = try await two.claim()[0]
    try place.server.serve(Self.two)
    #expect(await two.run(taken).hasSuffix(", proven"))
    run.cancel()
    _ = await run.value
    expect(try place.rows("SELECT id FROM item"), is: "2")
  }

  @Test("a slice is fenced as a whole entity is, and so are the cut and the end of a generation")
  func slices() async throws {
    let place = try SharedPlace()
    let one = try await place.worker("one", Cut.Owner.self, Cut.Line.self)
    let two = try await place.worker("two", Cut.Owner.self, Cut.Line.self)
    try place.serve(owners: [1: [1], 2: [1]])
    let whole = try await one.claim()
    #expect(whole.map(\.unit.name) == ["line", "owner"])
    #expect(await one.run(whole[1]).hasSuffix(", proven"))
    func lose() async throws {
      try place.expire(one)
      _ = try await two.renew()
      try place.rows("UPDATE syncd_units SET ready_at = now() WHERE holder IS NULL AND entity = 'line'")
    }
    try await lose()
    let cut = await one.run(whole[0])
    #expect(isLost(cut, "line"), "\(cut)")
    expect(try place.rows("SELECT count(*) FROM syncd_units WHERE slice <> ''"), is: "0")
    #expect(
      try await two.work() == ["line: 2 slices, 2 new, 0 gone"] + lines("inserted", "line[1]", "line[2]") + [
        "line: 2 pages, 2 records, 2 inserted, 0 updated, 0 unchanged, 0 deleted, proven"
      ])

    _ = try await one.renew()
    try place.serve(owners: [1: [1, 2], 2: []])
    try place.due("entity = 'line' AND slice = '1'")
    let slice = try await one.claim()[0]
    try await lose()
    let late = await one.run(slice)
    #expect(isLost(late, "line[1]"), "\(late)")
    expect(try place.rows("SELECT owner, n FROM line ORDER BY 1"), is: "1 | 1\n2 | 1")
    #expect(try await two.work().count > 0)
    expect(try place.rows("SELECT owner, n FROM line ORDER BY 1, 2"), is: "1 | 1\n1 | 2")

    // The end of a generation, which would delete.
    try place.serve(owners: [1: [1], 2: []])
    _ = try await one.renew()
    try place.due("entity = 'line' AND slice <> ''")
    for claim in try await one.claim() { _ = await one.run(claim) }
    let end = try await one.claim()
    #expect(end.map(\.unit.name) == ["line"])
    try await lose()
    let last = await one.run(end[0])
    #expect(isLost(last, "line"), "\(last)")
    expect(try place.rows("SELECT owner, n FROM line ORDER BY 1, 2"), is: "1 | 1\n1 | 2")
    _ = try await two.work()
    expect(try place.rows("SELECT owner, n FROM line ORDER BY 1, 2"), is: "1 | 1")
  }

  /// Sessions of a worker whose lease is over are ended: it may find the one or the other first.
  private func isLost(_ said: String, _ unit: String) -> Bool {
    said.contains("lease of \(unit) ended")
      || said.hasPrefix("\(unit): the connection to the server was lost")
  }

  private func lines(_ what: String, _ units: String...) -> [String] {
    units.map { "\($0): 1 pages, 1 records, 1 inserted, 0 updated, 0 unchanged, 0 deleted, proven" }
  }
}
