import Foundation
import SyncEngine
import TestSupport
import Testing

/// A row whose watermark is the test's own.
struct Change: Entity {
  var id = 0
  var n: Int?
  var at: Date?
  static let table = "change"
  @TaskLocal static var source = Source(.probe, "items", rows: "data", paging: .none)
  @TaskLocal static var deletion = Deletion<Change>.never
  @TaskLocal static var incremental = Incremental<Change>.never
  static var mapping: Mapping<Change> {
    Key(\.id)
    Field(\.n)
    Field(\.at)
  }
}

@Suite("What changed since the last run", .timeLimit(.minutes(15)), .fewAtATime)
struct IncrementalTests {
  private final class Runs {
    let fixture: Fixture
    let server: AnswerServer
    var options: Engine.Options
    var source = Source(.probe, "items", rows: "data", paging: .none)
    var deletion = Deletion<Change>.never
    let incremental: Incremental<Change>

    init(_ incremental: Incremental<Change>) throws {
      (fixture, self.incremental) = (try Fixture(), incremental)
      server = try fixture.server()
      options = Engine.Options(urls: ["probe": server.base + "/"])
    }

    /// What was asked for, and the outcome.
    func callAsFunction(_ routes: [Route]) async throws -> String {
      try server.serve(routes)
      try server.reset()
      let engine = Engine(store: fixture.store, options: options)
      let line = await Change.$source.withValue(source) {
        await Change.$deletion.withValue(deletion) {
          await Change.$incremental.withValue(incremental) { await outcome(of: engine, Change.self) }
        }
      }
      let asked = try server.requests().map(\.target).joined(separator: " ")
      let end = line.range(of: "inserted, ").map { String(line[$0.upperBound...]) } ?? line
      return "\(asked): \(end)"
    }

    func callAsFunction(_ records: String) async throws -> String {
      try await self([Route("/items", body: #"{"data": [\#(records)]}"#)])
    }

    func watermark() throws -> String {
      try fixture.rows("SELECT value FROM syncd_state WHERE entity = 'change' AND name = 'watermark'")
    }
  }

  private static let none = "0 updated, 0 unchanged, 0 deleted, incremental"

  @Test("what a tombstone says of its time counts too, so that it does not come again")
  func tombstones() async throws {
    let runs = try Runs(.since(\.n, parameter: "after"))
    runs.deletion = .never.tombstone(at: "gone")
    _ = try await runs(#"{"id": 1, "n": 1}, {"id": 2, "n": 2}, {"id": 3, "n": 3}, {"id": 5, "n": 3}"#)
    let gone = try await runs(
      #"{"id": 2, "n": 7, "gone": true}, {"id": 3, "n": "x", "gone": true}, {"id": 4, "gone": true}"#)
    #expect(gone == "/items?after=3: 0 updated, 0 unchanged, 2 deleted, incremental", "\(gone)")
    #expect(try await runs("") == "/items?after=7: \(Self.none)")
    #expect(try runs.fixture.rows("SELECT id, n FROM change") == "1 | 1\n5 | 3")
  }

  @Test("the largest value is asked for, by what was seen and never less")
  func since() async throws {
    let runs = try Runs(.since(\.at, parameter: "since", lookBack: .seconds(60)))
    #expect(
      try await runs(#"{"id": 1, "at": "2026-01-01T10:00:00Z"}, {"id": 2, "at": null}, {"id": 3}"#)
        == "/items: 0 updated, 0 unchanged, 0 deleted, proven")
    #expect(try runs.watermark() == "2026-01-01T10:00:00.000Z")
    let second = "/items?since=2026-01-01T09%3A59%3A00.000Z"
    #expect(try await runs("") == "\(second): \(Self.none)")
    #expect(try await runs(#"{"id": 4, "at": "2025-01-01T00:00:00Z"}"#) == "\(second): \(Self.none)")
    #expect(try runs.watermark() == "2026-01-01T10:00:00.000Z")
    // A record from the future does not hide what comes until then.
    _ = try await runs(#"{"id": 5, "at": "2999-01-01T00:00:00Z"}"#)
    let capped = try runs.watermark()
    #expect(capped > "2026-11-01" && capped < "2100")
    runs.options.asksInFull = true
    #expect(try await runs(#"{"id": 1, "at": "2026-01-01T10:00:00Z"}"#).hasSuffix("0 deleted, proven"))
    #expect(try runs.watermark() == capped, "it never goes back")
  }

  @Test("a run that fails, or leaves out records, moves no watermark")
  func unmoved() async throws {
    let runs = try Runs(.since(\.n, parameter: "after", full: .never))
    _ = try await runs(#"{"id": 1, "n": 10}"#)
    #expect(try await runs(#"{"id": 2, "n": 20}, {"id": "x", "n": 30}"#).contains("1 bad record"))
    #expect(try runs.watermark() == "10")
    runs.source = Source(.probe, "items", rows: "data", paging: .none, badRecords: .quarantine(atMost: 9))
    #expect(try await runs(#"{"id": 2, "n": 20}, {"id": "x", "n": 30}"#).hasPrefix("/items?after=10: "))
    #expect(try runs.watermark() == "10")
    #expect(
      try await runs(#"{"id": 2, "n": 20}"#)
        == "/items?after=10: 0 updated, 1 unchanged, 0 deleted, incremental")
    #expect(try runs.watermark() == "20")
  }

  @Test(
    "everything is asked for when it is time, when the declaration changed, and on demand; only that deletes")
  func full() async throws {
    let runs = try Runs(.since(\.n, parameter: "after", full: .every(.seconds(3600))))
    runs.deletion = .missing(atMost: 1)
    let three = #"{"id": 1, "n": 1}, {"id": 2, "n": 2}, {"id": 3, "n": 3}"#
    _ = try await runs(three)
    #expect(try await runs("") == "/items?after=3: \(Self.none)")
    try runs.fixture.execute(
      "UPDATE syncd_state SET value = CAST(CAST(value AS INTEGER) - 3600001 AS TEXT) WHERE name = 'full'")
    #expect(
      try await runs(#"{"id": 2, "n": 2}, {"id": 3, "n": 3}"#)
        == "/items: 0 updated, 2 unchanged, 1 deleted, proven")
    #expect(try await runs("") == "/items?after=3: \(Self.none)")
    runs.options.asksInFull = true
    #expect(try await runs(#"{"id": 3, "n": 3}"#) == "/items: 0 updated, 1 unchanged, 1 deleted, proven")
    runs.options.asksInFull = false
    runs.source = Source(.probe, "items", query: ["q": "1"], rows: "data", paging: .none)
    #expect(try await runs(#"{"id": 4, "n": 1}"#).hasPrefix("/items?q=1: "))
    // That run proved nothing, and so the next one asks for everything too.
    #expect(try await runs(#"{"id": 3, "n": 3}, {"id": 4, "n": 1}"#).hasPrefix("/items?q=1: "))
    #expect(try await runs("") == "/items?q=1&after=3: \(Self.none)")
  }

  @Test("tokens out of bodies and header fields; one that is too old asks for everything in the same run")
  func tokens() async throws {
    let body = try Runs(.token("sync", parameter: "token"))
    body.source = Source(.probe, "items", rows: "data", paging: .next("next"))
    let pages = [
      Route("/items", query: ["token": "a b"], status: 410),
      Route("/items", query: ["p": "2"], body: #"{"sync": "a b", "data": []}"#),
      Route("/items", body: #"{"next": "items?p=2", "data": [{"id": 1}]}"#),
    ]
    #expect(try await body(pages).hasPrefix("/items /items?p=2: "))
    #expect(
      try await body(pages)
        == "/items?token=a%20b /items /items?p=2: 0 updated, 1 unchanged, 0 deleted, proven")
    #expect(
      try await body([Route("/items", query: ["token": "a b"], body: #"{"sync": "c", "data": [{"id": 2}]}"#)])
        == "/items?token=a%20b: \(Self.none)")
    #expect(try body.watermark() == "c")

    let header = try Runs(.token(header: "ETag", parameter: "_since"))
    func routes(_ tag: String) -> [Route] { [Route("/items", answer: ["ETag": tag], body: #"{"data": []}"#)] }
    _ = try await header(routes("\"1\""))
    #expect(try await header(routes("\"2\"")) == "/items?_since=%221%22: \(Self.none)")
    #expect(try await header(routes("\"3\"")) == "/items?_since=%222%22: \(Self.none)")

    let link = try Runs(.link("delta"))
    _ = try await link([Route("/items", body: #"{"delta": "{{base}}/changes?since=1", "data": []}"#)])
    #expect(
      try await link([Route("/changes", body: #"{"delta": "/changes?since=2", "data": [{"id": 9}]}"#)])
        == "/changes?since=1: \(Self.none)")
    #expect(try await link([Route("/changes", body: #"{"data": []}"#)]) == "/changes?since=2: \(Self.none)")
    #expect(try await link([Route("/changes", body: #"{"data": []}"#)]) == "/changes?since=2: \(Self.none)")
  }

  @Test("newest first: pages are read until a record is older than what is known")
  func newestFirst() async throws {
    let runs = try Runs(.newestFirst(by: \.n))
    runs.source = Source(.probe, "items", rows: "data", paging: .next("next"))
    func pages(_ numbers: [[Int]]) -> [Route] {
      numbers.enumerated().reversed().map { page, numbers in
        let next = page + 1 < 4 ? #""items?p=\#(page + 1)""# : "null"
        let records = numbers.map { #"{"id": \#($0), "n": \#($0 / 10)}"# }.joined(separator: ", ")
        return Route(
          "/items", query: page == 0 ? [:] : ["p": "\(page)"],
          body: #"{"next": \#(next), "data": [\#(records)]}"#)
      }
    }
    #expect(try await runs(pages([[40, 30], [20], [10], [1]])).hasSuffix("proven"))
    // 41 is as new as what is known, and may not have been there; 30 was.
    #expect(
      try await runs(pages([[50], [41, 40], [30, 20], [10]]))
        == "/items /items?p=1 /items?p=2: 0 updated, 3 unchanged, 0 deleted, incremental")
    #expect(try runs.watermark() == "5")
    #expect(try runs.fixture.rows("SELECT count(*) FROM change") == "7")
  }

  @Test(
    "what cannot be a watermark is refused before any request",
    arguments: [
      (
        Incremental<Change>.since(\.at, parameter: "since", full: .never), Deletion<Change>.missing,
        "rows are deleted for their absence, but no run ever asks for everything; say how often: full: .every(…)"
      ),
      (
        .since(\.n, parameter: "after", lookBack: .seconds(1)), .never,
        "there is no looking back in \"n\", which holds no instants"
      ),
      (.since(\.at, parameter: "since", .pattern("yyyy-mm-dd")), .never, "parameter"),
    ])
  func refused(
    _ incremental: Incremental<Change>, _ deletion: Deletion<Change>, _ message: String
  ) async throws {
    let runs = try Runs(incremental)
    runs.deletion = deletion
    let line = try await runs("")
    #expect(
      line.hasPrefix(": change: ") && (message == "parameter" || line == ": change: \(message)"), "\(line)")
  }
}
