import Foundation
import SyncEngine
import TestSupport
import Testing

/// What proves that a walk saw everything, and what it arms.
@Suite("Completeness", .fewAtATime)
struct CompletenessTests {
  /// The line behind the counts: `1 deleted, proven`.
  private func tail(_ line: String) -> String {
    line.range(of: " unchanged, ").map { String(line[$0.upperBound...]) } ?? line
  }

  struct Paged: Entity {
    var id = 0
    var v: String?
    static let table = "item"
    static let source = Source(
      .test, "items", rows: "data", paging: .page("p", size: 2, total: "total", endStatus: [404]))
    static var mapping: Mapping<Paged> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<Paged>.missing
  }

  private func page(_ number: Int, _ ids: [Int], total: Int? = nil, status: Int? = nil, times: Int? = nil)
    -> Route
  {
    let values = ["", "a", "b", "c", "d", "e", "f"]
    let records = ids.map { "{\"id\":\($0),\"v\":\"\(values[$0])\"}" }.joined(separator: ",")
    return Route(
      "/items", query: ["p": "\(number)"], status: status,
      body: "{\"data\":[\(records)]\(total.map { ",\"total\":\($0)" } ?? "")}", times: times)
  }

  @Test("page numbers: an empty page and a met total prove; each request is made once")
  func pageNumbers() async throws {
    let stocked = try Stocked()
    func run(_ routes: [Route]) async throws -> (String, String) {
      try stocked.server.serve(routes)
      try stocked.server.reset()
      let line = await outcome(of: stocked.engine, Paged.self)
      let pages = try stocked.server.requests().compactMap { $0["p"] }.joined(separator: " ")
      return (tail(line), pages)
    }
    #expect(
      try await run([page(1, [1, 2]), page(2, [3, 4]), page(3, [])]) == ("0 deleted, proven", "1 2 3"))
    #expect(
      try await run([page(1, [1, 2], total: 4), page(2, [3, 4], total: 4)]) == ("0 deleted, proven", "1 2"))
    // A short page proves nothing where rows may be deleted: one more is asked for.
    #expect(
      try await run([page(1, [1, 2]), page(2, [3]), page(3, [4]), page(4, [])]) == (
        "0 deleted, proven", "1 2 3 4"
      ))
    // A server that goes on with the last page for ever.
    #expect(
      try await run([page(1, [1, 2]), page(2, [3, 4]), page(3, [3, 4])])
        == (
          "0 deleted, 2 duplicates, unproven: page 3 brought no new key, which may be the end or a fault of the source; 2 records came twice",
          "1 2 3"
        ))
    #expect(
      try await run([page(1, [1, 2], total: 5), page(2, [3, 4], total: 5), page(3, [], total: 5)])
        == ("0 deleted, unproven: the source counts 5 records, but 4 came", "1 2 3"))
    #expect(
      try await run([page(1, [1, 2], total: 3), page(2, [3, 4], total: 4)])
        == ("0 deleted, unproven: the total changed from 3 to 4 during the walk", "1 2"))
    // A declared end status proves when it is given twice, and is asked for twice.
    #expect(
      try await run([page(1, [1, 2]), page(2, [3, 4]), page(3, [], status: 404)]) == (
        "0 deleted, proven", "1 2 3 3"
      ))
    #expect(
      try await run([page(1, [1, 2]), page(2, [3, 4]), page(3, [], status: 404, times: 1), page(3, [5])])
        == (
          "0 deleted, unproven: the page behind the last one was answered differently when asked again",
          "1 2 3 3"
        ))
    expect(try stocked.rows(), is: Stocked.before + "\n5 | e")
  }

  @Test("rows that shift between pages are never deleted: a second walk has to agree")
  func shifting() async throws {
    let stocked = try Stocked()
    // While page 1 was read, row 1 went at the source, so row 3 slid onto page 1 unseen: the first walk misses it.
    try stocked.server.serve([
      page(1, [1, 2], times: 1), page(2, [4], times: 1), page(3, [], times: 1),
      page(1, [2, 3]), page(2, [4]), page(3, []),
    ])
    let line = await outcome(of: stocked.engine, Paged.self)
    #expect(line.hasSuffix("0 deleted, proven"), "\(line)")
    expect(try stocked.rows(), is: Stocked.before)
    // The next run sees the same list twice, and deletes what is really gone.
    let next = await outcome(of: stocked.engine, Paged.self)
    expect(next, is: "item: 6 pages, 6 records, 0 inserted, 0 updated, 3 unchanged, 1 deleted, proven")
    expect(try stocked.rows(), is: "2 | b\n3 | c\n4 | d")
  }

  @Test("a second walk that fails, fails the run")
  func secondWalkFails() async throws {
    let stocked = try Stocked()
    try stocked.server.serve([page(1, [1, 2], times: 1), page(2, [4], times: 1), page(3, [], times: 1)])
    let line = await outcome(of: stocked.engine, Paged.self)
    #expect(line.contains("HTTP 404"), "\(line)")
    expect(try stocked.rows(), is: Stocked.before)
  }

  struct Listed: Entity {
    var id = 0
    var v: String?
    static let table = "item"
    static let source = Source(.test, "items", rows: "data", paging: .none)
    static var mapping: Mapping<Listed> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<Listed>.missing
  }

  private func listed(_ ids: ClosedRange<Int>, more: String = "") -> Route {
    Route("/items", body: "{\"data\":[\(ids.map { "{\"id\":\($0)}" }.joined(separator: ","))]\(more)}")
  }

  @Test("the guard: half of the rows pass, more do not, an empty answer never by default")
  func guarded() async throws {
    let fixture = try Fixture()
    let server = try fixture.server()
    let engine = fixture.engine(server, apis: ["test"])
    func run(_ route: Route) async throws -> String {
      try server.serve([route])
      let line = await outcome(of: engine, Listed.self)
      return line + " / " + (try fixture.rows("SELECT count(*) FROM item"))
    }
    #expect(try await run(Route("/items", body: #"{"data":[]}"#)).hasSuffix("0 deleted, proven / 0"))
    #expect(try await run(listed(1...10)).hasSuffix("0 deleted, proven / 10"))
    expect(
      try await run(listed(1...4)),
      is:
        "item: the run would delete 6 of 10 rows (60% of the rows, and the guard allows 50%); nothing was written / 10"
    )
    expect(
      try await run(Route("/items", body: #"{"data":[]}"#)),
      is:
        "item: the run would delete 10 of 10 rows (the source returned no record at all); nothing was written / 10"
    )
    #expect(try await run(listed(1...5)).hasSuffix("5 deleted, proven / 5"))
    expect(
      try fixture.rows("SELECT outcome, count(*) FROM syncd_runs GROUP BY outcome"),
      is: "proven | 3\nrefused | 2")
  }

  @Test(
    "an error beside the list disarms deletion, an empty one does not",
    arguments: [
      (
        #","errors":["shard 3 is down"]"#,
        #"0 deleted, unproven: the answer carries errors: ["shard 3 is down"]"#
      ),
      (#","error":"partial""#, #"0 deleted, unproven: the answer carries error: "partial""#),
      (#","errors":[],"error":null"#, "1 deleted, proven"),
    ])
  func errorsBeside(_ member: String, _ expected: String) async throws {
    let stocked = try Stocked()
    try stocked.server.serve([listed(1...3, more: member)])
    #expect(tail(await outcome(of: stocked.engine, Listed.self)) == expected)
  }

  struct OtherQuestion: Entity {
    var id = 0
    var v: String?
    static let table = "item"
    static let source = Source(.test, "items", query: ["filter": "x"], rows: "data", paging: .none)
    static var mapping: Mapping<OtherQuestion> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<OtherQuestion>.missing
  }

  @Test("the first run that asks another question deletes nothing, the next one does")
  func changedScope() async throws {
    let stocked = try Stocked()
    try stocked.server.serve([listed(1...4)])
    #expect(tail(await outcome(of: stocked.engine, Listed.self)) == "0 deleted, proven")
    try stocked.server.serve([listed(1...2)])
    #expect(
      tail(await outcome(of: stocked.engine, OtherQuestion.self))
        == "0 deleted, unproven: the declaration asks for other records than at the last run")
    #expect(tail(await outcome(of: stocked.engine, OtherQuestion.self)) == "2 deleted, proven")
  }

  struct Kept: Entity {
    var id = 0
    var v: String?
    static let table = "item"
    static let source = Source(.test, "items", rows: "data", paging: .page("p", size: 2))
    static var mapping: Mapping<Kept> {
      Key(\.id)
      Field(\.v)
    }
  }

  @Test(
    "without a declared deletion nothing is deleted, and a short page ends the walk without another request")
  func never() async throws {
    let stocked = try Stocked()
    try stocked.server.serve([page(1, [1])])
    #expect(
      tail(await outcome(of: stocked.engine, Kept.self))
        == "0 deleted, unproven: the last page was short, and no empty one was asked for")
    #expect(try stocked.server.requests().count == 1)
    expect(try stocked.rows(), is: Stocked.before)
  }

  @Test("two runs of one table exclude each other, and neither mixes its rows into the other's")
  func exclusive() async throws {
    let stocked = try Stocked()
    try stocked.server.serve([
      Route(
        "/items", body: #"{"data":[{"id":1,"v":"first"},{"id":2,"v":"first"}]}"#, times: 1, fault: "slow",
        pause: 0.5),
      Route("/items", body: #"{"data":[{"id":1,"v":"second"},{"id":2,"v":"second"}]}"#),
    ])
    let engine = stocked.engine
    async let one = outcome(of: engine, Listed.self)
    async let two = outcome(of: engine, Listed.self)
    let lines = await [one, two]
    #expect(lines.allSatisfy { $0.contains(", proven") }, "\(lines)")
    expect(try stocked.rows(), is: "1 | second\n2 | second")
  }
}
