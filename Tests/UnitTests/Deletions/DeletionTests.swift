import Foundation
import SyncEngine
import TestSupport
import Testing

/// A row whose deletion is the test's own.
struct Task10: Entity {
  var id = 0
  var project = 1
  var title: String?
  var goneAt: Date?
  static let table = "task"
  @TaskLocal static var source = Source(.probe, "tasks", paging: .none)
  @TaskLocal static var deletion = Deletion<Task10>.missing
  static var mapping: Mapping<Task10> {
    Key(\.id)
    Field(\.project)
    Field(\.title)
    Local(\.goneAt)
  }
}

@Suite("Rows that are missing", .timeLimit(.minutes(15)), .fewAtATime)
struct DeletionTests {
  /// Runs over lists of ids in turn, in one store.
  private final class Runs {
    let fixture: Fixture
    let server: AnswerServer
    var options: Engine.Options

    init() throws {
      fixture = try Fixture()
      server = try fixture.server()
      options = Engine.Options(urls: ["probe": server.base + "/"])
    }

    /// `2 deleted, proven`, or the failure.
    ///
    /// - Parameter title: of all records; nil leaves it out.
    func callAsFunction(
      _ ids: some Sequence<Int>, _ deletion: Deletion<Task10> = .missing, _ others: [Route] = [],
      title: String? = nil
    ) async throws -> String {
      let rest = title.map { #", "title": "\#($0)""# } ?? ""
      let rows = ids.map { #"{"id": \#($0), "project": \#($0 < 100 ? 1 : 2)\#(rest)}"# }
      try server.serve(others + [Route("/tasks", body: "[\(rows.joined(separator: ","))]")])
      try server.reset()
      let engine = Engine(store: fixture.store, options: options)
      let line = await Task10.$deletion.withValue(deletion) { await outcome(of: engine, Task10.self) }
      return line.contains("unchanged, ")
        ? String(line.split(separator: "unchanged, ", maxSplits: 1)[1]) : line
    }

    func ids(_ condition: String = "true") throws -> String {
      try fixture.rows(
        "SELECT group_concat(id, ' ') FROM (SELECT id FROM task WHERE \(condition) ORDER BY id) AS t")
    }
  }

  @Test("many small deletions do not add up to what one must not be")
  func nibbling() async throws {
    let runs = try Runs()
    #expect(try await runs(1...10) == "0 deleted, proven")
    #expect(try await runs(1...7) == "3 deleted, proven")
    #expect(try await runs(1...5) == "2 deleted, proven")
    expect(
      try await runs(1...4),
      is:
        "task: the run would delete 1 of 5 rows (with what was deleted before, 60% of the 10 rows of the last 24 hours, and the guard allows 50%); nothing was written"
    )
    #expect(try runs.ids() == "1 2 3 4 5")
    // A day later it begins anew.
    try runs.fixture.execute("UPDATE syncd_runs SET started_at = '2026-01-01T00:00:00.000Z'")
    #expect(try await runs(1...4).hasSuffix("deleted, proven"))
  }

  @Test("a person may allow a number of deletions for one run, from which the count begins anew")
  func allowed() async throws {
    let runs = try Runs()
    _ = try await runs(1...10)
    #expect(try await runs(1...1).contains("the guard allows 50%"))
    runs.options.allowedDeletions = 8
    #expect(try await runs(1...1).contains("(more than the 8 that are allowed)"))
    runs.options.allowedDeletions = 9
    #expect(try await runs(1...1) == "9 deleted, proven")
    runs.options.allowedDeletions = nil
    #expect(try await runs(1...2) == "0 deleted, proven")
    #expect(try await runs(1...1) == "1 deleted, proven")
    runs.options.allowedDeletions = 1
    #expect(try await runs([Int]()) == "1 deleted, proven")
    #expect(try runs.ids() == "∅")
  }

  @Test("only rows in the scope are judged, and only they count")
  func scope() async throws {
    let runs = try Runs()
    _ = try await runs(Array(1...4) + Array(101...120))
    let one = Deletion<Task10>.missing(within: .column(\.project, is: 1))
    #expect(try await runs(3...4, one) == "2 deleted, proven")
    #expect(try runs.ids("project = 1") == "3 4")
    #expect(try await runs(4...4, .missing(within: .sql("project = 1 AND id > 3"))) == "0 deleted, proven")
    #expect(
      try await runs(4...4, .missing(within: .column(\.project, is: 1).and(.sql("id = 3")), atMost: 1))
        == "1 deleted, proven")
    #expect(try runs.ids("project = 2").split(separator: " ").count == 20)
    let broken = try await runs(4...4, .missing(within: .sql("nowhere = 1")))
    let message = StoreKind.words(
      sqlite: "no such column: nowhere", postgresql: "column \"nowhere\" does not exist")
    #expect(broken.contains(message), "\(broken)")
  }

  @Test("a row that is missing is marked, no more than once, and the mark goes when it returns")
  func marks() async throws {
    let runs = try Runs()
    let marking = Deletion<Task10>.marked(\.goneAt)
    _ = try await runs(1...4, marking)
    #expect(try await runs(2...4, marking) == "1 deleted, proven")
    #expect(try runs.ids() == "1 2 3 4" && runs.ids("gone_at IS NOT NULL") == "1")
    let mark = try runs.fixture.rows("SELECT gone_at FROM task WHERE id = 1")
    #expect(try await runs(2...4, marking) == "0 deleted, proven")
    #expect(try runs.fixture.rows("SELECT gone_at FROM task WHERE id = 1") == mark)
    // Of three rows in scope one goes, which the guard allows.
    #expect(try await runs(3...4, marking) == "1 deleted, proven")
    #expect(try await runs([1, 3, 4], marking) == "0 deleted, proven")
    #expect(try runs.ids("gone_at IS NOT NULL") == "2")
    // An unproven run clears a mark too.
    #expect(try await runs([1, 2, 2, 3, 4], marking).contains("unproven"))
    #expect(try runs.ids("gone_at IS NOT NULL") == "∅")
  }

  @Test("a row goes after it was missing in so many proven runs in a row")
  func patience() async throws {
    let runs = try Runs()
    let patient = Deletion<Task10>.missing(after: .runs(3))
    _ = try await runs(1...6, patient)
    #expect(try await runs(2...6, patient) == "0 deleted, proven")
    #expect(try await runs(3...6, patient) == "0 deleted, proven")
    #expect(try await runs([3, 3, 4, 5, 6], patient).contains("unproven"))
    #expect(try await runs(3...6, patient) == "1 deleted, proven")
    #expect(try runs.ids() == "2 3 4 5 6")
    // A row that returns begins anew, also where the run proves nothing.
    #expect(try await runs([2, 2, 3, 4, 5, 6], patient).contains("unproven"))
    #expect(try await runs(3...6, patient) == "0 deleted, proven")
    #expect(try await runs(3...6, patient) == "0 deleted, proven")
    #expect(try await runs(3...6, patient) == "1 deleted, proven")
    #expect(try runs.fixture.rows("SELECT count(*) FROM syncd_absent") == "1")
    #expect(try await runs(3...6, patient) == "0 deleted, proven")
    #expect(try runs.fixture.rows("SELECT count(*) FROM syncd_absent") == "0")
  }

  @Test("runs in which rows are missing are counted, also where all records come whole and as they were")
  func patienceUnchanged() async throws {
    let runs = try Runs()
    let patient = Deletion<Task10>.missing(after: .runs(2))
    for (ids, outcome) in [
      (1...4, "0"), (2...4, "0"), (1...4, "0"), (2...4, "0"), (2...4, "1"), (2...4, "0"),
    ] {
      #expect(try await runs(ids, patient, title: "t") == "\(outcome) deleted, proven", "\(ids)")
    }
    #expect(try runs.ids() == "2 3 4")
    #expect(try runs.fixture.rows("SELECT count(*) FROM syncd_absent") == "0")
  }

  @Test("a row that is asked for by itself goes if it is gone, and nothing goes if one is there")
  func verified() async throws {
    let runs = try Runs()
    let careful = Deletion<Task10>.missing.verified(by: "tasks/{id}")
    _ = try await runs(1...6, careful)
    let gone = [Route("/tasks/1", status: 410), Route("/tasks/2", body: #"{"id": 2}"#)]
    #expect(try await runs(2...6, careful, gone) == "1 deleted, proven")
    #expect(try runs.server.requests().map(\.path) == ["/tasks", "/tasks/1"])
    expect(
      try await runs(3...6, careful, gone),
      is:
        "0 deleted, unproven: id 2 is missing from the list, but asked for by itself it is not gone (HTTP 200)"
    )
    #expect(try runs.ids() == "2 3 4 5 6")
    // What the guard refuses is not asked for.
    #expect(try await runs(6...6, careful, gone).contains("the guard allows 50%"))
    #expect(try runs.server.requests().map(\.path) == ["/tasks"])
    let failing = [Route("/tasks/2", status: 403)]
    #expect(try await runs(3...6, careful, failing).hasSuffix("it is not gone (HTTP 403)"))
  }

  @Test("a record may say that its row is gone; the last one of a run counts, and the guard holds")
  func tombstones() async throws {
    let runs = try Runs()
    func run(_ records: String, _ deletion: Deletion<Task10>) async throws -> String {
      try runs.server.serve([Route("/tasks", body: "[\(records)]")])
      let engine = Engine(store: runs.fixture.store, options: runs.options)
      let line = await Task10.$deletion.withValue(deletion) { await outcome(of: engine, Task10.self) }
      return line.contains("inserted, ") ? String(line.split(separator: "inserted, ", maxSplits: 1)[1]) : line
    }
    let stated = Deletion<Task10>.never.tombstone(at: "deleted")
    _ = try await runs(1...6, stated)
    let gone = #"{"id": 1, "deleted": true}, {"id": 2, "deleted": "2026-01-01"}, {"id": 9, "deleted": 1}"#
    let alive =
      #"{"id": 3, "title": "c", "deleted": false}, {"id": 4, "deleted": ""}, {"id": 5, "deleted": null}"#
    #expect(try await run("\(gone), \(alive)", stated) == "1 updated, 2 unchanged, 2 deleted, proven")
    #expect(try runs.ids() == "3 4 5 6")
    // A tombstone needs its key alone, and a later record of the key takes it back.
    #expect(
      try await run(
        #"{"id": 3, "deleted": true}, {"id": 3, "title": "back"}, {"id": 4}, {"id": 4, "deleted": true}"#,
        stated
      )
      .hasPrefix("1 updated, 0 unchanged, 1 deleted, 2 duplicates, unproven"))
    #expect(try runs.ids() == "3 5 6")
    expect(
      try await run(#"{"id": 3, "deleted": true}, {"id": 5, "deleted": true}"#, stated),
      is:
        "task: the run would delete 2 of 3 rows (67% of the rows, and the guard allows 50%); nothing was written"
    )
    #expect(try await run(#"{"id": "x", "deleted": true}"#, stated).contains("1 bad record"))
    // Where it cannot be told, the record is bad; what says nothing says that the row is alive.
    let twice = try await run(#"{"id": 3, "deleted": true, "deleted": false}"#, stated)
    #expect(twice.contains("1 bad record") && twice.contains("stands twice"), "\(twice)")
    let nested = Deletion<Task10>.never.tombstone(at: "meta.deleted")
    let obstacle = try await run(#"{"id": 3, "meta": "x"}"#, nested)
    #expect(obstacle.contains("1 bad record") && obstacle.contains(#""meta" is a string"#), "\(obstacle)")
    #expect(
      try await run(
        #"{"id": 3, "deleted": []}, {"id": 5, "deleted": {}}, {"id": 6, "deleted": 0.0}, {"id": 7}"#, stated
      ).hasSuffix("0 deleted, proven"))
    #expect(try await run(#"{"id": 7, "deleted": {"by": 1}}"#, stated).hasSuffix("1 deleted, proven"))
    let states = Deletion<Task10>.missing.tombstone(at: "state", is: "void")
    #expect(
      try await run(#"{"id": 3, "state": "void"}, {"id": 5, "state": "open"}, {"id": 6, "state": 1}"#, states)
        .hasSuffix("1 deleted, proven"))
    #expect(try runs.ids() == "5 6")
    let marking = Deletion<Task10>.marked(\.goneAt).tombstone(at: "deleted")
    #expect(try await run(#"{"id": 5, "deleted": true}, {"id": 6}"#, marking).hasSuffix("1 deleted, proven"))
    let mark = try runs.fixture.rows("SELECT gone_at FROM task WHERE id = 5")
    #expect(mark != "∅")
    #expect(try await run(#"{"id": 5, "deleted": true}, {"id": 6}"#, marking).hasSuffix("0 deleted, proven"))
    #expect(try runs.fixture.rows("SELECT gone_at FROM task WHERE id = 5") == mark)
    #expect(try await run(#"{"id": 5}, {"id": 6}"#, marking).hasSuffix("0 deleted, proven"))
    #expect(try runs.ids("gone_at IS NOT NULL") == "∅")
  }

  @Test(
    "a row that slips past two walks is not deleted: where rows go meanwhile, the walks go on until two agree"
  )
  func slippingTwice() async throws {
    let runs = try Runs()
    _ = try await runs(Array(1...6) + [99])
    func page(_ offset: Int, _ ids: [Int], times: Int? = nil) -> Route {
      let rows = ids.map { #"{"id": \#($0), "project": 1}"# }.joined(separator: ",")
      return Route("/tasks", query: ["offset": "\(offset)"], body: "[\(rows)]", times: times)
    }
    try runs.server.serve([
      // Row 1 goes when four rows are read: 5 slips past. Then 2 and 3 go when they are read: 4 and 5 slip past.
      page(0, [1, 2], times: 1), page(2, [3, 4], times: 1), page(4, [6], times: 1), page(5, [], times: 1),
      page(0, [2, 3], times: 1), page(2, [6], times: 1),
      page(0, [4, 5]), page(2, [6]), page(3, []),
    ])
    let source = Source(.probe, "tasks", paging: .offset("offset", size: 2))
    let engine = Engine(store: runs.fixture.store, options: runs.options)
    func run() async -> String {
      await Task10.$source.withValue(source) {
        await Task10.$deletion.withValue(.missing(atMost: 1)) { await outcome(of: engine, Task10.self) }
      }
    }
    // As if nothing had been asked for in another way before.
    try runs.fixture.execute("DELETE FROM syncd_state WHERE name = 'scope'")
    let line = await run()
    #expect(line.hasSuffix("1 deleted, proven"), "\(line)")
    #expect(try runs.ids() == "1 2 3 4 5 6")
    #expect(await run().hasSuffix("3 deleted, proven"))
    #expect(try runs.ids() == "4 5 6")
  }

  @Test(
    "a deletion that cannot work is refused before any request",
    arguments: [
      (Deletion<Task10>.missing(after: .runs(0)), "rows are deleted after 0 runs; it has to be 1 or more"),
      (.never.verified(by: "tasks/{id}"), "nothing is deleted, so there is nothing to verify"),
      (
        .missing.verified(by: "tasks/{title}"),
        "\"{title}\" in the path \"tasks/{title}\" is no key column; there are id"
      ),
      (
        .missing(within: .column(\.title, is: nil)),
        "the deletion's scope compares \"title\" with nil, which equals nothing"
      ),
      (.missing(atMost: 10), "the deletion's atMost is 10.0; it is a share from 0 to 1"),
    ])
  func refused(_ deletion: Deletion<Task10>, _ message: String) async throws {
    let runs = try Runs()
    #expect(try await runs(1...2, deletion) == "task: \(message)")
    #expect(try runs.server.requests().isEmpty)
  }
}
