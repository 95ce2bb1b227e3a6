import Foundation
import SyncEngine
import TestSupport
import Testing

/// Nested records in places and tables that are seldom met.
@Suite("Edges of nested records", .fewAtATime)
struct NestedEdgeTests {
  // MARK: The record itself as a nested one

  struct Invoice: Entity {
    var id = 0
    var customer = 0
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Invoice> {
      Key(\.id)
      Field(\.customer, "customer_id", references: Customer.self)
      Embedded(Customer.self, at: .object(.root))
      Children(Payment.self, at: .object(.root))
    }
  }

  struct Customer: Record {
    var id = 0
    var name: String?
    static let table = "customer"
    static var mapping: Mapping<Customer> {
      Key(\.id, "customer_id")
      Field(\.name, "customer_name")
    }
  }

  struct Payment: Record {
    var invoice = 0
    var paid: Bool?
    var seen: Date?
    static var mapping: Mapping<Payment> {
      Key(\.invoice, "@parent.id")
      Field(\.paid)
      Field(\.seen, "@fetchedAt")
    }
  }

  @Test("a flat record can fill several tables")
  func flat() async throws {
    let scene = try Scene()
    let body =
      #"[{"id":1,"customer_id":7,"customer_name":"A","paid":true},{"id":2,"customer_id":7,"paid":"0","customer_name":"B"}]"#
    let line = try await scene.run(Invoice.self, body)
    expect(line, is: "thing: 1 pages, 2 records, 2 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    expect(try scene.rows(), is: "1 | 7\n2 | 7")
    expect(try scene.rows("SELECT * FROM customer"), is: "7 | B")
    expect(
      try scene.rows("SELECT invoice, paid, seen > '2002-01-01' FROM payment ORDER BY 1"),
      is: "1 | 1 | 1\n2 | 0 | 1")
    try scene.fixture.execute("UPDATE payment SET seen = '2000-01-01T00:00:00.000Z'")
    _ = try await scene.run(Invoice.self, body.replacingOccurrences(of: "true", with: "false"))
    expect(
      try scene.rows("SELECT invoice, paid, seen > '2002-01-01' FROM payment ORDER BY 1"),
      is: "1 | 0 | 1\n2 | 0 | 0")
    expect(
      try await scene.run(Invoice.self, #"[{"id":1,"customer_id":8,"paid":"x"},{"id":2}]"#),
      is: """
        thing: 2 bad records, nothing was written:
          page 1, record 1 (id 1), field "payment.paid" at "paid": "x" is not a boolean
          page 1, record 2 (id 2), field "customer.id" at "customer_id": the key is missing
        """)
  }

  // MARK: Children that are declared later, or no longer

  struct Alone: Entity {
    var id = 0
    static let table = "order"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Alone> { Key(\.id) }
    static let deletion = Deletion<Alone>.missing(atMost: 1)
  }

  @Test(
    "children that are declared later get their tables; those that are not any more go with their owners all the same"
  )
  func laterAndNoLonger() async throws {
    let scene = try Scene()
    _ = try await scene.run(Alone.self, #"[{"id":1},{"id":2}]"#)
    _ = try await scene.run(Shop.Order.self, Shop.first)
    expect(try scene.rows("SELECT count(*) FROM part"), is: "4")
    _ = try await scene.run(Alone.self, #"[{"id":1},{"id":2}]"#)
    _ = try await scene.run(Alone.self, #"[{"id":2}]"#)
    expect(
      try scene.rows(Shop.all),
      is: "line | 2 | 1 | r | ∅\norder | 2 | b |  | \npart | 2 | 1 | z | 0\ntag | 2 | red |  | ")
  }

  @Test("the guard and a failing child leave every table as it was")
  func nothingWritten() async throws {
    let scene = try Scene()
    _ = try await scene.run(Shop.Order.self, Shop.first)
    let before = try scene.rows(Shop.all)
    try scene.fixture.execute(
      "CREATE TRIGGER no BEFORE INSERT ON part WHEN new.sku = 'bad' BEGIN SELECT raise(ABORT, 'no such part'); END"
    )
    let line = try await scene.run(
      Shop.Order.self,
      #"[{"id":1,"note":"new","lines":[{"no":1,"parts":[{"sku":"bad"}]}],"meta":{"tags":[]}}]"#)
    // PostgreSQL is given all rows of a list at once, and tells the statement.
    expect(
      line,
      is: StoreKind.words(
        sqlite: "order: page 1, order 1, line 1, sku bad: SQLite: no such part",
        postgresql: "order: PostgreSQL: no such part"))
    expect(try scene.rows(Shop.all), is: before)
    let empty = try await scene.run(Shop.Order.self, "[]")
    expect(
      empty,
      is:
        "order: the run would delete 2 of 2 rows (the source returned no record at all); nothing was written")
    expect(try scene.rows(Shop.all), is: before)
  }

  struct Wide: Entity {
    var id = 0
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Wide> {
      Key(\.id)
      Children(Strict.self, at: "list")
    }
  }

  struct Strict: Record {
    var owner = 0
    var n = 0
    var needed = ""
    var kept: Int?
    static var mapping: Mapping<Strict> {
      Key(\.owner, "@parent.id")
      Key(\.n)
      Field(\.needed, .required)
      Field(\.kept, .missingAsNull)
    }
  }

  @Test("required columns of children: a partial record updates a row that is there, a new one is named")
  func required() async throws {
    let scene = try Scene()
    _ = try await scene.run(
      Wide.self, #"[{"id":1,"list":[{"n":1,"needed":"a","kept":1},{"n":2,"needed":"b"}]}]"#)
    _ = try await scene.run(Wide.self, #"[{"id":1,"list":[{"n":1}]}]"#)
    expect(try scene.rows("SELECT * FROM strict"), is: "1 | 1 | a | ∅")
    expect(
      try await scene.run(Wide.self, #"[{"id":1,"list":[{"n":3},{"n":1,"needed":"x"}]}]"#),
      is: #"thing: owner 1, n 3 is a new row, but the record has no value for "needed", which is required"#)
    expect(try scene.rows("SELECT * FROM strict"), is: "1 | 1 | a | ∅")
  }

  @Test(
    "children's tables of others: without row numbers, with a unique index, with a key that others refer to")
  func oddTables() async throws {
    let scene = try Scene(
      """
      CREATE TABLE "order" (id INTEGER NOT NULL, note TEXT, x TEXT);
      CREATE UNIQUE INDEX ids ON "order" (id);
      CREATE TABLE line ("order" INTEGER REFERENCES "order" (id) DEFERRABLE, no INTEGER, product TEXT, mine TEXT, PRIMARY KEY ("order", no)) WITHOUT ROWID;
      CREATE TABLE part (sku TEXT, line INTEGER, "order" INTEGER, position INTEGER, PRIMARY KEY ("order", line, sku)\(StoreKind.words(sqlite: " ON CONFLICT REPLACE", postgresql: ""))) WITHOUT ROWID;
      CREATE TABLE order_tag ("order" INTEGER, tag TEXT, \(StoreKind.words(sqlite: "n INTEGER PRIMARY KEY", postgresql: "n BIGINT GENERATED ALWAYS AS IDENTITY")), UNIQUE ("order", tag)\(StoreKind.words(sqlite: " ON CONFLICT IGNORE", postgresql: "")));
      """)
    for _ in 1...2 { _ = try await scene.run(Shop.Order.self, Shop.first) }
    expect(
      try scene.rows("SELECT * FROM part ORDER BY 3, 2, 1"),
      is: "x | 1 | 1 | 0\ny | 1 | 1 | 1\nx | 2 | 1 | 0\nz | 1 | 2 | 0")
    expect(try scene.rows("SELECT * FROM order_tag ORDER BY n"), is: "1 | red | 1\n1 | blue | 2\n2 | red | 3")
    let line = try await scene.run(Shop.Order.self, #"[{"id":2,"lines":[]}]"#)
    expect(line, is: "order: 1 pages, 1 records, 0 inserted, 0 updated, 1 unchanged, 1 deleted, proven")
    expect(try scene.rows("SELECT * FROM line"), is: "")
    expect(try scene.rows("SELECT * FROM part"), is: "")
    expect(try scene.rows("SELECT \"order\", tag FROM order_tag"), is: "2 | red")
  }

  @Test("a child's table that does not fit is refused before any request, with the difference")
  func misfit() async throws {
    let scene = try Scene(
      "CREATE TABLE part (\"order\" INTEGER, line INTEGER, sku INTEGER, position INTEGER)")
    expect(
      try await scene.run(Shop.Order.self, Shop.first),
      is:
        #"order: the table "part" that is there does not fit the declaration: the column "sku" is \#(StoreKind.words(sqlite: "INTEGER, not TEXT", postgresql: "bigint, not text"))"#
    )
    #expect(try scene.requests().isEmpty)
    expect(try scene.rows("SELECT count(*) FROM part"), is: "0")
  }

  // MARK: Copies in preparations

  struct Copied: Entity {
    var id = 0
    var copy: String?
    var whole: JSONText?
    static let table = "thing"
    static let source = Source(
      .probe, "things", paging: .none,
      prepare: .setting { record in
        ["copy": record["a"].map { .value($0) } ?? .null, "whole": .value(record), "new": .boolean(true)]
      })
    static var mapping: Mapping<Copied> {
      Key(\.id)
      Field(\.copy)
      Field(\.whole)
    }
  }

  @Test("a preparation can copy a text with escapes, and the record itself")
  func copies() async throws {
    let scene = try Scene()
    _ = try await scene.run(Copied.self, #"[{"id":1,"a":"q\"\\\u00e9\n","b":[ 1.0 ]},{"id":2}]"#)
    // In PostgreSQL the members have an order of its own, and each text one spelling.
    let whole = StoreKind.words(
      sqlite: #"{"id":1,"a":"q\"\\\u00e9\n","b":[1.0]}"#, postgresql: #"{"a":"q\"\\é\n","b":[1.0],"id":1}"#)
    expect(
      try scene.rows("SELECT id, iif(copy IS NULL, 'none', hex(copy)), whole FROM thing ORDER BY 1"),
      is: "1 | 71225CC3A90A | \(whole)\n" + #"2 | none | {"id":2}"#)
  }

  // MARK: Deep nesting

  struct Top: Entity {
    var id = 0
    static let table = "thing"
    static let source = Source(.probe, "things", rows: .byKey(.root), paging: .none)
    static var mapping: Mapping<Top> {
      Key(\.id)
      Children(Middle.self, at: .byKey("m"))
    }
    static let deletion = Deletion<Top>.missing(atMost: 1)
  }

  struct Middle: Record {
    var top = 0
    var key = ""
    static var mapping: Mapping<Middle> {
      Key(\.top, "@parent.id")
      Key(\.key, "@key")
      Children(Low.self, at: .byKey(.root))
    }
  }

  struct Low: Record {
    var top = 0
    var middle = ""
    var key = ""
    var n = 0
    static var mapping: Mapping<Low> {
      Key(\.top, "@parent.top")
      Key(\.middle, "@parent.key")
      Key(\.key, "@key")
      Field(\.n, .root)
    }
  }

  @Test("objects of objects by key, to the third level; keys with escapes and without letters")
  func keyed() async throws {
    let scene = try Scene()
    let line = try await scene.run(
      Top.self,
      #"{"x":{"id":1,"m":{"a\u0022":{"":1,"é\\":2},"b":{}}},"y":{"id":2,"m":{"a\"":{"k":3}}},"z":{"id":3}}"#)
    expect(line, is: "thing: 1 pages, 3 records, 3 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    expect(try scene.rows("SELECT * FROM middle ORDER BY 1, 2"), is: "1 | a\"\n1 | b\n2 | a\"")
    expect(
      try scene.rows("SELECT * FROM low ORDER BY 1, 2, 3"),
      is: "1 | a\" |  | 1\n1 | a\" | é\\ | 2\n2 | a\" | k | 3")
    expect(
      try await scene.run(Top.self, #"{"x":{"id":1,"m":{"a\u0022":{"b.c":"no"}}}}"#),
      is:
        "thing: 1 bad record, nothing was written:\n  page 1, record 1 (id 1), field \"middle.low.n\" at \"m['a\\u0022']['b.c']\": \"no\" is not an integer of 64 bits"
    )
  }

  @Test("an entity and its children are read back; a column that no child ever had is told by check")
  func readBack() async throws {
    let scene = try Scene()
    _ = try await scene.run(Top.self, #"{"x":{"id":1,"m":{"a":{"k":5}}}}"#)
    #expect(try scene.fixture.store.all(Top.self).map(\.id) == [1])
    #expect(try scene.fixture.store.all(Low.self).map(\.n) == [5])
    #expect(try scene.fixture.store.first(Low.self, key: 1, "a", "k")?.n == 5)
    try scene.serve([Route("/things", body: #"[{"id":1,"lines":[{"no":1}],"meta":{"tags":["a"]}}]"#)])
    let (records, absent) = try await scene.engine.check(Shop.Order.self)
    #expect(records == 1)
    expect(absent.joined(separator: " "), is: "note line.product")
  }
}
