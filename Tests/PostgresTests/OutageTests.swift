import Foundation
import PostgresStore
import SyncEngine
import TestSupport
import Testing

/// A server that goes, and connections that end: the tables are as before or as after, and the next run is right.
@Suite("Outages", .timeLimit(.minutes(15)), .fewAtATime)
struct OutageTests {
  private static let rows = "SELECT id, v FROM item ORDER BY id"
  private static let old = "1 | old\n2 | old\n3 | old"

  @Test("a server that is stopped in the middle of a run and started again: the run fails as a whole")
  func restarted() async throws {
    for mode in ["fast", "immediate"] {
      let server = try PostgresServer()
      let place = try Place(server.url)
      #expect(try await place.walk("old").hasSuffix("3 inserted, 0 updated, 0 unchanged, 0 deleted, proven"))
      let line = try await place.walk("new") {
        try server.stop(mode)
        try server.start()
      }
      #expect(line.hasPrefix("item: the connection to the server was lost: PostgreSQL: "), "\(line)")
      #expect(!line.contains("could not be recorded"), "\(line)")
      expect(try Postgres.rows(server.url, Self.rows), is: Self.old)
      // The run is kept as failed: the server was there again.
      expect(
        try Postgres.rows(server.url, "SELECT outcome FROM syncd_runs ORDER BY id"), is: "proven\nfailed")
      #expect(try await place.walk("new").hasSuffix("3 updated, 0 unchanged, 0 deleted, proven"))
      #expect(try place.store.all(Item.self).map(\.v) == ["new", "new", "new"])
    }
  }

  @Test("a server that is stopped and stays away: the run says so, and goes well when it is back")
  func away() async throws {
    let server = try PostgresServer()
    let place = try Place(server.url)
    _ = try await place.walk("old")
    let line = try await place.walk("new") { try server.stop() }
    #expect(line.hasPrefix("item: the connection to the server was lost: PostgreSQL: "), "\(line)")
    #expect(
      line.contains("(and the run could not be recorded: the store \(server.url) cannot be opened: "),
      "\(line)")
    #expect(line.contains("Connection refused"), "\(line)")
    // Who begins without a server asks the source nothing.
    try place.server.reset()
    let next = try await place.walk("new")
    #expect(next.contains("Connection refused"), "\(next)")
    #expect(try place.server.requests().isEmpty)
    try server.start()
    expect(try Postgres.rows(server.url, Self.rows), is: Self.old)
    #expect(try await place.walk("new").hasSuffix("3 updated, 0 unchanged, 0 deleted, proven"))
  }

  // MARK: Every statement

  /// Rows with children, a column of JSON, and rows that go: all that a commit has to do.
  struct Whole: Entity {
    var id = 0
    var v = ""
    var more: [String: Int] = [:]
    static let table = "whole"
    static let source = Source(.place, "items", rows: "data", paging: .next("next"), resume: .never)
    static var mapping: Mapping<Whole> {
      Key(\.id)
      Field(\.v)
      Field(\.more)
      Children(Part.self, at: "parts")
    }
    static let deletion = Deletion<Whole>.missing(atMost: 1)
  }

  struct Part: Record {
    var whole = 0
    var n = 0
    static var mapping: Mapping<Part> {
      Key(\.whole, "@parent.id")
      Key(\.n, .root)
    }
  }

  /// Pages of the rows of one edition: each edition has other rows, other texts and other children.
  private static func pages(_ edition: Int) -> [Route] {
    let ids = (1...12).filter { $0 % 5 != edition % 5 }
    let pages = stride(from: 0, to: ids.count, by: 4).map { ids[$0..<min($0 + 4, ids.count)] }
    return pages.enumerated().reversed().map { index, page in
      let records = page.map {
        #"{"id":\#($0),"v":"\#(edition)","more":{"e":\#(edition)},"parts":[\#($0 + edition),\#($0)]}"#
      }.joined(separator: ",")
      let next = index + 1 < pages.count ? #","next":"?p=\#(index + 1)""# : ""
      return Route(
        "/items", query: index == 0 ? nil : ["p": "\(index)"], answer: ["ETag": "\"\(edition)\(index)\""],
        body: #"{"data":[\#(records)]\#(next)}"#)
    }
  }

  private struct Count: Decodable {
    var count: Int
    var question: String?
  }

  @Test(
    "a connection that ends at each question to the server: tables as before or as after, and the next run is right",
    arguments: ["terminate", "silence"])
  func everyQuestion(_ how: String) async throws {
    let server = try PostgresServer()
    let port = server.url.split(separator: ":").last?.prefix { $0.isNumber } ?? ""
    let proxy = try ServerProcess(script: "postgres_proxy.py", [String(port)])
    let base = "http://127.0.0.1:\(try proxy.port())"
    func ask(_ path: String) throws -> Count {
      try JSONDecoder().decode(Count.self, from: Shell.run("curl", "-sf", base + path))
    }
    let url = server.url.replacing(":\(port)", with: ":\(try proxy.port())") + "?sslmode=disable"
    let answers = try AnswerServer([])
    let state = """
      SELECT 'whole', id, v, more::text FROM whole UNION ALL SELECT 'part', whole, n::text, '' FROM part ORDER BY 1, 2, 3;
      SELECT count(*) FROM syncd_pages; SELECT count(*) FROM syncd_runs WHERE outcome = 'proven'
      """
    func run() async throws -> String {
      // Another program each time.
      let store = try PostgreSQL.open(url)
      let engine = Engine(
        store: store, options: .init(urls: ["place": answers.base + "/"], asksInFull: false))
      defer { blocking { await store.close() } }
      return await outcome(of: engine, Whole.self)
    }
    _ = try ask("/arm")
    try answers.serve(Self.pages(0))
    let first = try await run()
    #expect(first.hasSuffix("proven"), "\(first)")

    var (questions, committed, failures) = (0, 0, Set<String>())
    for at in 1...2_000 {
      let before = try Postgres.rows(server.url, state)
      try answers.serve(Self.pages(at))
      _ = try ask("/arm?at=\(at)&how=\(how)")
      let line = try await run()
      let end = try ask("/count")
      _ = try ask("/arm")
      if end.question == nil { break }
      questions = at
      let found = try Postgres.rows(server.url, state)
      let next = try await run()
      #expect(next.hasSuffix(", proven"), "question \(at), \(end): \(line)\nthen \(next)")
      // What the next run leaves differs from the state after the first in its own record alone.
      let after = try Postgres.rows(server.url, state)
      func rows(_ text: String) -> String { text.split(separator: "\n").dropLast().joined(separator: "\n") }
      #expect(found == before || rows(found) == rows(after), "question \(at), \(end): \(line)\n\(found)")
      if found != before { committed += 1 }
      if line.contains(", proven") {
        #expect(found != before, "question \(at), \(end): \(line)")
      } else {
        failures.insert(line.replacing(/:\d+\//, with: ":PORT/"))
      }
    }
    print(
      "killed at each of \(questions) questions (\(how)): \(questions - committed) as before, \(committed) as after"
    )
    for failure in failures.sorted() { print("  \(failure)") }
    #expect(questions > 30 && committed > 0)
  }
}
