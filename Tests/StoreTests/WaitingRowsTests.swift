import Foundation
import SyncEngine
import TestSupport
import Testing

/// Rows between the pages and the commit: in memory, in a file, or let go since the table has them.
@Suite("Waiting rows", .fewAtATime)
struct WaitingRowsTests {
  struct Line: Record {
    var order = 0
    var number = 0
    var text: String?
    static let table = "line"
    static var mapping: Mapping<Line> {
      Key(\.order, "@parent.id")
      Key(\.number)
      Field(\.text)
    }
  }

  struct Order: Entity {
    var id = 0
    var name = ""
    var amount: Double?
    var placed: Date?
    var isPaid: Bool?
    var tags: [String]?
    var note: String?
    static let table = "orders"
    static let source = Source(.test, "orders", rows: "data", paging: .next("next"))
    static var mapping: Mapping<Order> {
      Key(\.id)
      Field(\.name)
      Field(\.amount)
      Field(\.placed)
      Field(\.isPaid, "paid")
      Field(\.tags)
      Local(\.note)
    }
    static let deletion = Deletion<Order>.missing
  }

  struct Nested: Entity {
    var id = 0
    var name = ""
    static let table = "nested"
    static let source = Source(.test, "orders", rows: "data", paging: .next("next"))
    static var mapping: Mapping<Nested> {
      Key(\.id)
      Field(\.name)
      Children(Line.self, at: "lines")
    }
    static let deletion = Deletion<Nested>.missing
  }

  /// Rows from which on the table is read beside the requests, and more.
  static let count = 3000

  private func record(_ id: Int, name: String? = nil) -> String {
    let tags = id % 3 == 0 ? "null" : "[ \"a\",\"\(id)\"]"
    return """
      {"id":\(id),"name":"\(name ?? "Order \(id)")","amount":\(id).25,\
      "placed":"2026-0\(id % 9 + 1)-01T0\(id % 10):00:00.5Z","paid":\(id % 2 == 0),"tags":\(tags),\
      "lines":[{"number":1,"text":"x\(id)"},{"number":2}]}
      """
  }

  /// Pages of 500 records.
  private func pages(_ ids: [Int], changed: [Int: String] = [:]) -> [Route] {
    let pages = stride(from: 0, to: ids.count, by: 500).map { Array(ids[$0..<min($0 + 500, ids.count)]) }
    return pages.enumerated().map { number, ids in
      let next = number + 1 < pages.count ? "\"/orders/\(number + 1)\"" : "null"
      let records = ids.map { record($0, name: changed[$0]) }.joined(separator: ",")
      return Route(
        number == 0 ? "/orders" : "/orders/\(number)",
        body: "{\"data\":[\(records)],\"next\":\(next)}")
    }
  }

  @Test("rows that have no room in memory wait in a file: what is committed is the same, children and all")
  func spooled() async throws {
    var ids = Array(1...Self.count)
    // A record that comes again, on a later page: the last one counts.
    ids.insert(7, at: 2600)
    var results: [String] = []
    for memory in [64 << 20, 1] {
      let fixture = try Fixture()
      let server = try fixture.server()
      let engine = fixture.engine(server, apis: ["test"], memory: memory)
      try server.serve(pages(ids))
      var text = await outcome(of: engine, Order.self) + "\n"
      text += await outcome(of: engine, Nested.self) + "\n"
      try server.serve(pages(Array(100...Self.count), changed: [200: "changed"]))
      text += await outcome(of: engine, Order.self) + "\n"
      text += await outcome(of: engine, Nested.self) + "\n"
      text += try fixture.rows("SELECT id, name, amount, placed, is_paid, tags, note FROM orders ORDER BY id")
      text += try fixture.rows("SELECT \"order\", number, text FROM line ORDER BY 1, 2")
      results.append(text)
    }
    #expect(results[0] == results[1])
    let lines = results[0].split(separator: "\n").prefix(4).joined(separator: "\n")
    expect(
      lines,
      is: """
        orders: 7 pages, 3001 records, 3000 inserted, 0 updated, 0 unchanged, 0 deleted, 1 duplicates, unproven: 1 records came twice
        nested: 7 pages, 3001 records, 3000 inserted, 0 updated, 0 unchanged, 0 deleted, 1 duplicates, unproven: 1 records came twice
        orders: 6 pages, 2901 records, 0 inserted, 1 updated, 2900 unchanged, 99 deleted, proven
        nested: 6 pages, 2901 records, 0 inserted, 1 updated, 2900 unchanged, 99 deleted, proven
        """)
  }

  /// A store that holds all orders, after a first run.
  private func stocked() async throws -> (Fixture, AnswerServer, Engine) {
    let fixture = try Fixture()
    let server = try fixture.server()
    let engine = fixture.engine(server, apis: ["test"])
    try server.serve(pages(Array(1...Self.count)))
    expect(
      await outcome(of: engine, Order.self),
      is: "orders: 6 pages, 3000 records, 3000 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    return (fixture, server, engine)
  }

  @Test("what is as it was is known without a look at each row, and what was changed by hand is put right")
  func unchanged() async throws {
    let (fixture, server, engine) = try await stocked()
    expect(
      await outcome(of: engine, Order.self),
      is: "orders: 6 pages, 3000 records, 0 inserted, 0 updated, 3000 unchanged, 0 deleted, proven")
    try fixture.execute("UPDATE orders SET note = 'mine' WHERE id = 3")
    try fixture.execute("UPDATE orders SET name = 'edited' WHERE id = 4")
    try fixture.execute("DELETE FROM orders WHERE id = 2999")
    expect(
      await outcome(of: engine, Order.self),
      is: "orders: 6 pages, 3000 records, 1 inserted, 1 updated, 2998 unchanged, 0 deleted, proven")
    expect(
      try fixture.rows("SELECT id, name, note FROM orders WHERE id IN (3, 4, 2999) ORDER BY id"),
      is: "3 | Order 3 | mine\n4 | Order 4 | ∅\n2999 | Order 2999 | ∅")
    // In another order of the pages, with a change and without two rows.
    try server.serve(pages(Array((3...Self.count).reversed()), changed: [1500: "new"]))
    expect(
      await outcome(of: engine, Order.self),
      is: "orders: 6 pages, 2998 records, 0 inserted, 1 updated, 2997 unchanged, 2 deleted, proven")
  }

  @Test(
    "a row that someone changes while the source is asked is put right, and other people's commits cost nothing",
    .only(.sqlite, "over PostgreSQL such a change comes after the run"), arguments: [1, 2, 4, 6])
  func changedMeanwhile(_ page: Int) async throws {
    let (fixture, server, engine) = try await stocked()
    try fixture.execute("CREATE TABLE other (x INTEGER)")
    try server.reset()
    func run(_ sql: String) async throws -> String {
      line(
        try await engine.sync(Order.self) { progress in
          guard progress.step?.page == page else { return }
          try? fixture.write(sql)
        })
    }
    expect(
      try await run("INSERT INTO other VALUES (1)"),
      is: "orders: 6 pages, 3000 records, 0 inserted, 0 updated, 3000 unchanged, 0 deleted, proven")
    #expect(try server.requests().count == 6)
    #expect(try fixture.rows("SELECT count(*) FROM other") == "1")
    // A walk that was begun anew writes once more.
    expect(
      try await run("UPDATE orders SET name = 'edited' WHERE id = 10 AND name <> 'edited'"),
      is: "orders: 6 pages, 3000 records, 0 inserted, 1 updated, 2999 unchanged, 0 deleted, proven")
    expect(try fixture.rows("SELECT name FROM orders WHERE id = 10"), is: "Order 10")
    expect(
      try await run("DELETE FROM orders WHERE id = 11"),
      is: "orders: 6 pages, 3000 records, 1 inserted, 0 updated, 2999 unchanged, 0 deleted, proven")
    expect(try fixture.rows("SELECT name FROM orders WHERE id = 11"), is: "Order 11")
  }

  @Test("where triggers may change rows, each is looked at", .only(.sqlite, "the trigger is in its words"))
  func triggers() async throws {
    let (fixture, server, engine) = try await stocked()
    try fixture.execute(
      "CREATE TRIGGER spoils AFTER DELETE ON orders BEGIN UPDATE orders SET name = 'spoilt' WHERE id = 1; END"
    )
    try server.serve(pages(Array(1..<Self.count)))
    expect(
      await outcome(of: engine, Order.self),
      is: "orders: 6 pages, 2999 records, 0 inserted, 1 updated, 2998 unchanged, 1 deleted, proven")
    expect(try fixture.rows("SELECT name FROM orders WHERE id = 1"), is: "Order 1")
  }

  @Test(
    "a unique value that moves from row to row, and a row that the table refuses",
    .only(.sqlite, "it writes the rows of a page by one statement"))
  func conflicts() async throws {
    let (fixture, server, engine) = try await stocked()
    try fixture.execute("CREATE UNIQUE INDEX names ON orders (name)")
    // Each takes the name of the next one, which gives it up in the same run.
    let moved = Dictionary(uniqueKeysWithValues: (1..<Self.count).map { ($0, "Order \($0 + 1)") })
    try server.serve(pages(Array(1...Self.count), changed: moved.merging([Self.count: "last"]) { $1 }))
    expect(
      await outcome(of: engine, Order.self),
      is: "orders: 6 pages, 3000 records, 0 inserted, 3000 updated, 0 unchanged, 0 deleted, proven")
    expect(
      try fixture.rows("SELECT id, name FROM orders WHERE id IN (1, 2, 3000) ORDER BY id"),
      is: "1 | Order 2\n2 | Order 3\n3000 | last")
    // One row of a page is at fault: it is named, and nothing is written.
    try fixture.execute("DROP INDEX names")
    try fixture.execute("CREATE UNIQUE INDEX one_bad ON orders (name) WHERE name = 'bad'")
    try server.serve(pages(Array(1...Self.count), changed: [1200: "bad", 1201: "bad", 1202: "good"]))
    let message = await outcome(of: engine, Order.self)
    #expect(message.contains("page 3, id 1201: SQLite: UNIQUE"), "\(message)")
    expect(try fixture.rows("SELECT name FROM orders WHERE id = 1202"), is: "Order 1203")
  }
}
