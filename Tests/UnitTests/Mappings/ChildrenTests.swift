import Foundation
import SyncEngine
import TestSupport
import Testing

/// Orders with lines, parts of lines and tags: an entity whose children have children.
enum Shop {
  struct Order: Entity {
    var id = 0
    var note: String?
    static let table = "order"
    static let source = Source(.probe, "things", paging: .none, badRecords: .quarantine(atMost: 3))
    static var mapping: Mapping<Order> {
      Key(\.id)
      Field(\.note)
      Children(Line.self, at: "lines")
      Children(OrderTag.self, at: .list("meta.tags").nullIsEmpty)
    }
    static let deletion = Deletion<Order>.missing(atMost: 1)
  }

  struct Line: Record {
    var order = 0
    var no = 0
    var product = ""
    var mine: String?
    static var mapping: Mapping<Line> {
      Key(\.order, "@parent.id")
      Key(\.no)
      Field(\.product)
      Local(\.mine)
      Children(Part.self, at: "parts")
    }
  }

  struct Part: Record {
    var order = 0
    var line = 0
    var sku = ""
    var position = 0
    static var mapping: Mapping<Part> {
      Key(\.order, "@parent.order")
      Key(\.line, "@parent.no")
      Key(\.sku)
      Field(\.position, "@index")
    }
  }

  struct OrderTag: Record {
    var order = 0
    var tag = ""
    static var mapping: Mapping<OrderTag> {
      Key(\.order, "@parent.id")
      Key(\.tag, .root)
    }
  }

  static let all = """
    SELECT 'order', CAST(id AS TEXT), note, '', '' FROM "order" UNION ALL
    SELECT 'line', CAST("order" AS TEXT), CAST(no AS TEXT), product, mine FROM line UNION ALL
    SELECT 'part', CAST("order" AS TEXT), CAST(line AS TEXT), sku, CAST(position AS TEXT) FROM part UNION ALL
    SELECT 'tag', CAST("order" AS TEXT), tag, '', '' FROM order_tag ORDER BY 1, 2, 3, 4
    """

  static let first = """
    [{"id":1,"note":"a","lines":[{"no":1,"product":"p","parts":[{"sku":"x"},{"sku":"y"}]},{"no":2,"product":"q","parts":[{"sku":"x"}]}],"meta":{"tags":["red","blue"]}},
     {"id":2,"note":"b","lines":[{"no":1,"product":"r","parts":[{"sku":"z"}]}],"meta":{"tags":["red"]}}]
    """

  /// Notes every write to the tables of the shop.
  static let log =
    "CREATE TABLE heard (what TEXT);"
    + [
      ("order", "id"), ("line", "\"order\" || '/' || %.no"),
      ("part", "\"order\" || '/' || %.line || '/' || %.sku"), ("order_tag", "\"order\" || '/' || %.tag"),
    ]
    .flatMap { table, key in
      [("INSERT", "new"), ("UPDATE", "new"), ("DELETE", "old")].map { what, row in
        """
        CREATE TRIGGER "\(table)_\(what)" AFTER \(what) ON "\(table)" BEGIN
        INSERT INTO heard VALUES ('\(what.lowercased()) \(table) ' || \(row).\(key.replacingOccurrences(of: "%", with: row))); END;
        """
      }
    }.joined(separator: "\n")
}

@Suite("Children", .fewAtATime)
struct ChildrenTests {
  /// A scene with the shop's first answer in the tables.
  private func stocked() async throws -> Scene {
    let scene = try Scene()
    let line = try await scene.run(Shop.Order.self, Shop.first)
    expect(line, is: "order: 1 pages, 2 records, 2 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    return scene
  }

  private static let stock = """
    line | 1 | 1 | p | ∅
    line | 1 | 2 | q | ∅
    line | 2 | 1 | r | ∅
    order | 1 | a |  | 
    order | 2 | b |  | 
    part | 1 | 1 | x | 0
    part | 1 | 1 | y | 1
    part | 1 | 2 | x | 0
    part | 2 | 1 | z | 0
    tag | 1 | blue |  | 
    tag | 1 | red |  | 
    tag | 2 | red |  | 
    """

  @Test("three levels are filled, and the same answer again writes nothing at all")
  func unchanged() async throws {
    let scene = try await stocked()
    expect(try scene.rows(Shop.all), is: Self.stock)
    try scene.fixture.execute(Shop.log)
    let line = try await scene.run(Shop.Order.self, Shop.first)
    expect(line, is: "order: 1 pages, 2 records, 0 inserted, 0 updated, 2 unchanged, 0 deleted, proven")
    expect(try scene.rows("SELECT * FROM heard"), is: "")
    expect(try scene.rows(Shop.all), is: Self.stock)
  }

  @Test("only the rows that differ are written, only within their owner, and what is below goes with it")
  func replaced() async throws {
    let scene = try await stocked()
    try scene.fixture.execute(Shop.log + "UPDATE line SET mine = 'kept'; DELETE FROM heard;")
    let line = try await scene.run(
      Shop.Order.self,
      #"[{"id":1,"lines":[{"no":2,"product":"Q","parts":[{"sku":"x"}]},{"no":3,"product":"n"}],"meta":{"tags":["blue","new"]}},{"id":2}]"#
    )
    expect(line, is: "order: 1 pages, 2 records, 0 inserted, 0 updated, 2 unchanged, 0 deleted, proven")
    expect(
      try scene.rows("SELECT what FROM heard ORDER BY 1"),
      is: """
        delete line 1/1
        delete order_tag 1/red
        delete part 1/1/x
        delete part 1/1/y
        insert line 1/3
        insert order_tag 1/new
        update line 1/2
        """)
    expect(
      try scene.rows(Shop.all),
      is: """
        line | 1 | 2 | Q | kept
        line | 1 | 3 | n | ∅
        line | 2 | 1 | r | kept
        order | 1 | a |  | 
        order | 2 | b |  | 
        part | 1 | 2 | x | 0
        part | 2 | 1 | z | 0
        tag | 1 | blue |  | 
        tag | 1 | new |  | 
        tag | 2 | red |  | 
        """)
  }

  @Test("an empty list deletes, a null that is declared to be one too, and a missing one keeps the rows")
  func emptyAndMissing() async throws {
    let scene = try await stocked()
    _ = try await scene.run(
      Shop.Order.self,
      #"[{"id":1,"lines":[{"no":1,"parts":[]},{"no":2}],"meta":{"tags":null}},{"id":2,"lines":[],"meta":{}}]"#
    )
    expect(
      try scene.rows(Shop.all),
      is: """
        line | 1 | 1 | p | ∅
        line | 1 | 2 | q | ∅
        order | 1 | a |  | 
        order | 2 | b |  | 
        part | 1 | 2 | x | 0
        tag | 2 | red |  | 
        """)
  }

  @Test("children and grandchildren go with an owner that is deleted")
  func goneOwner() async throws {
    let scene = try await stocked()
    let line = try await scene.run(Shop.Order.self, #"[{"id":2}]"#)
    expect(line, is: "order: 1 pages, 1 records, 0 inserted, 0 updated, 1 unchanged, 1 deleted, proven")
    expect(
      try scene.rows(Shop.all),
      is: """
        line | 2 | 1 | r | ∅
        order | 2 | b |  | 
        part | 2 | 1 | z | 0
        tag | 2 | red |  | 
        """)
  }

  @Test("of an owner that comes twice in a run the last record's children count, at every depth")
  func doubledOwner() async throws {
    let scene = try await stocked()
    let line = try await scene.run(
      Shop.Order.self,
      #"[{"id":1,"lines":[{"no":9,"product":"no","parts":[{"sku":"no"}]}],"meta":{"tags":["no"]}},{"id":2,"lines":[{"no":4,"parts":[{"sku":"no"}]},{"no":4,"product":"t","parts":[{"sku":"l"}]}]},{"id":1,"lines":[{"no":7,"product":"s","parts":[{"sku":"k"}]}]}]"#
    )
    expect(
      line,
      is:
        "order: 1 pages, 3 records, 0 inserted, 0 updated, 2 unchanged, 0 deleted, 1 duplicates, unproven: 1 records came twice"
    )
    expect(
      try scene.rows(Shop.all),
      is: """
        line | 1 | 7 | s | ∅
        line | 2 | 4 | t | ∅
        order | 1 | a |  | 
        order | 2 | b |  | 
        part | 1 | 7 | k | 0
        part | 2 | 4 | l | 0
        tag | 1 | blue |  | 
        tag | 1 | red |  | 
        tag | 2 | red |  | 
        """)
  }

  @Test("a record in quarantine leaves nothing of its children behind, and keeps the old ones")
  func quarantined() async throws {
    let scene = try await stocked()
    let line = try await scene.run(
      Shop.Order.self,
      #"[{"id":1,"lines":[{"no":5,"product":"n","parts":[{"sku":"1"},{"sku":null}]}],"meta":{"tags":["no"]}},{"id":2,"lines":[{"no":1,"product":"R"}]},{"id":3,"lines":[{"no":1,"product":"n","parts":[{"sku":"q"}]}],"meta":{"tags":["new",{}]}},{"id":4,"meta":{"tags":["four"]}},{"id":5,"lines":[{"no":1},{"no":2,"parts":7}]}]"#
    )
    expect(
      line,
      is:
        "order: 1 pages, 5 records, 1 inserted, 0 updated, 1 unchanged, 0 deleted, 3 rejected, unproven: 3 records were skipped as bad"
    )
    expect(
      try scene.rows(Shop.all),
      is: """
        line | 1 | 1 | p | ∅
        line | 1 | 2 | q | ∅
        line | 2 | 1 | R | ∅
        order | 1 | a |  | 
        order | 2 | b |  | 
        order | 4 | ∅ |  | 
        part | 1 | 1 | x | 0
        part | 1 | 1 | y | 1
        part | 1 | 2 | x | 0
        part | 2 | 1 | z | 0
        tag | 1 | blue |  | 
        tag | 1 | red |  | 
        tag | 2 | red |  | 
        tag | 4 | four |  | 
        """)
    expect(
      try scene.rows("SELECT position, key, field, path, reason FROM syncd_rejects ORDER BY id"),
      is: """
        1 | id 1 | line.part.sku | lines[0].parts[1].sku | the key is null
        3 | id 3 | order_tag.tag | meta.tags[1] | {} is an object, not a text
        5 | id 5 | line.part | lines[1].parts | "parts" has to be a list of records, but it is a number
        """)
  }

  @Test("a null list, and a list of another kind, make the record bad: table, path and owner are named")
  func wrongLists() async throws {
    let scene = try await stocked()
    let line = try await scene.run(
      Shop.Order.self,
      #"[{"id":1,"lines":null},{"id":2,"lines":{"no":1}},{"id":3,"meta":5},{"id":4,"lines":[5]},{"id":5,"lines":[null]}]"#
    )
    expect(
      line,
      is: """
        order: 5 bad records, more than the 3 that may be quarantined:
          page 1, record 1 (id 1), field "line" at "lines": "lines" has to be a list of records, but it is null
          page 1, record 2 (id 2), field "line" at "lines": "lines" has to be a list of records, but it is an object
          page 1, record 3 (id 3), field "order_tag" at "meta.tags": a number stands where the path goes on: 5
          page 1, record 4 (id 4), field "line" at "lines[0]": the record is a number, not an object
          page 1, record 5 (id 5), field "line" at "lines[0]": the record is null, not an object
        """)
    expect(try scene.rows(Shop.all), is: Self.stock)
  }

  // MARK: Other shapes

  struct Rates: Entity {
    var day = Day.someDay
    static let table = "thing"
    static let source = Source(.probe, "things", rows: .listOrObject(.root), paging: .none)
    static var mapping: Mapping<Rates> {
      Key(\.day)
      Children(Rate.self, at: .byKey("rates"))
      Children(Holder.self, at: .listOrObject("holder"))
      Children(Sheet.self, at: .object("sheet"))
      Children(Officer.self, at: "users[*].officer")
    }
  }

  struct Rate: Record {
    var day = Day.someDay
    var currency = ""
    var value: Decimal?
    var bid: Double?
    static var mapping: Mapping<Rate> {
      Key(\.day, "@parent.day")
      Key(\.currency, "@key")
      Field(\.value, "v")
      Field(\.bid, "b")
    }
  }

  struct Holder: Record {
    var day = Day.someDay
    var index = 0
    var name = ""
    static var mapping: Mapping<Holder> {
      Key(\.day, "@parent.day")
      Key(\.index, "@index")
      Field(\.name)
    }
  }

  struct Sheet: Record {
    var day = Day.someDay
    var total = 0
    static var mapping: Mapping<Sheet> {
      Key(\.day, "@parent.day")
      Field(\.total)
    }
  }

  struct Officer: Record {
    var day = Day.someDay
    var place = 0
    var name = ""
    static var mapping: Mapping<Officer> {
      Key(\.day, "@parent.day")
      Key(\.place, "@index")
      Field(\.name)
    }
  }

  private static let shapes = """
    SELECT 'rate', day, hex(currency), CAST(value AS TEXT), CAST(bid AS TEXT) FROM rate UNION ALL
    SELECT 'holder', day, CAST("index" AS TEXT), name, '' FROM holder UNION ALL
    SELECT 'sheet', day, CAST(total AS TEXT), '', '' FROM sheet UNION ALL
    SELECT 'officer', day, CAST(place AS TEXT), name, '' FROM officer ORDER BY 1, 2, 3
    """

  @Test("objects by key, a list or an object, one object, and records behind a wildcard")
  func shapes() async throws {
    let scene = try Scene()
    _ = try await scene.run(
      Rates.self,
      #"{"day":"2026-02-28","rates":{"EUR":{"v":"1.10","b":2.5},"":{"v":3},"é":{"v":1},"e\u0301":{"v":2},"EUR":{"v":7}},"holder":{"name":"one"},"sheet":{"total":5},"users":[{"officer":{"name":"o"}},{},{"officer":null},{"officer":{"name":"p"}}]}"#
    )
    expect(
      try scene.rows(Self.shapes),
      is: """
        holder | 2026-02-28 | 0 | one | 
        officer | 2026-02-28 | 0 | o | 
        officer | 2026-02-28 | 1 | p | 
        rate | 2026-02-28 |  | 3 | ∅
        rate | 2026-02-28 | 455552 | 7 | ∅
        rate | 2026-02-28 | 65CC81 | 2 | ∅
        rate | 2026-02-28 | C3A9 | 1 | ∅
        sheet | 2026-02-28 | 5 |  | 
        """)
    // A null object is no object; the empty ones stand for none.
    _ = try await scene.run(
      Rates.self,
      #"[{"day":"2026-02-28","rates":{},"holder":[{"name":"a"},{"name":"b"}],"sheet":null,"users":[]}]"#)
    expect(
      try scene.rows(Self.shapes), is: "holder | 2026-02-28 | 0 | a | \nholder | 2026-02-28 | 1 | b | ")
    let bad = try await scene.run(
      Rates.self,
      #"[{"day":"2026-02-28","rates":[]},{"day":"2026-03-01","holder":3},{"day":"2026-03-02","rates":null},{"day":"2026-03-03","rates":{"x":{"v":1},"y":{"v":"?"}}},{"day":"2026-03-04","sheet":{"total":"x"}},{"day":"2026-03-05","users":[{},{"officer":{"name":[]}}]}]"#
    )
    expect(
      bad,
      is: """
        thing: 6 bad records, nothing was written:
          page 1, record 1 (day 2026-02-28), field "rate" at "rates": "rates" has to be an object of records, but it is an array
          page 1, record 2 (day 2026-03-01), field "holder": "holder" has to be a list of records or a record, but it is a number
          page 1, record 3 (day 2026-03-02), field "rate" at "rates": "rates" has to be an object of records, but it is null
          page 1, record 4 (day 2026-03-03), field "rate.value" at "rates['y'].v": "?" is not a decimal number of up to 38 digits
          page 1, record 5 (day 2026-03-04), field "sheet.total": "x" is not an integer of 64 bits
          page 1, record 6 (day 2026-03-05), field "officer.name" at "users[*].officer[0].name": [] is an array, not a text
        """)
  }

  // MARK: Owners of every kind of key

  struct Owner: Entity {
    var at = Date(timeIntervalSince1970: 0)
    var id = UUID()
    var span = Duration.zero
    var link = URL(filePath: "/")
    var text = ""
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Owner> {
      Key(\.at, .unixSeconds)
      Key(\.id)
      Key(\.span)
      Key(\.link)
      Key(\.text)
      Children(Owned.self, at: "list")
    }
    static let deletion = Deletion<Owner>.missing(atMost: 1)
  }

  struct Owned: Record {
    var text = ""
    var link = URL(filePath: "/")
    var n = 0
    var span = Duration.zero
    var id = UUID()
    var at = Date(timeIntervalSince1970: 0)
    static let table = "it's \"owned\""
    static var mapping: Mapping<Owned> {
      Key(\.text, "@parent.text", name: "it's")
      Key(\.link, "@parent.link")
      Key(\.n, .root)
      Key(\.span, "@parent.span")
      Key(\.id, "@parent.id")
      Key(\.at, "@parent.at")
    }
  }

  @Test("an owner's key may have many parts of all types, the children's key in another order and odd names")
  func compositeOwner() async throws {
    let scene = try Scene()
    func record(_ text: String, _ list: String) -> String {
      #"{"at":-1.5,"id":"00112233445566778899AABBCCDDEEFF","span":"PT1.5S","link":"HTTP://a/%7e?é","text":"\#(text)","list":[\#(list)]}"#
    }
    let sql = #"SELECT "it's", link, n, span, id, at FROM "it's ""owned""" ORDER BY hex("it's"), n"#
    _ = try await scene.run(
      Owner.self, "[\(record("é", "1,2"))," + record(#"e\u0301"#, "1,3") + "," + record("", "9") + "]")
    let tail = " | 1500000 | 00112233-4455-6677-8899-aabbccddeeff | 1969-12-31T23:59:58.500Z"
    expect(
      try scene.rows(sql),
      is: [
        " | HTTP://a/%7e?é | 9", "e\u{301} | HTTP://a/%7e?é | 1", "e\u{301} | HTTP://a/%7e?é | 3",
        "é | HTTP://a/%7e?é | 1", "é | HTTP://a/%7e?é | 2",
      ]
      .map { $0 + tail }.joined(separator: "\n"))
    let line = try await scene.run(Owner.self, "[\(record("é", "2")),\(record("", ""))]")
    expect(line, is: "thing: 1 pages, 2 records, 0 inserted, 0 updated, 2 unchanged, 1 deleted, proven")
    expect(try scene.rows(sql), is: "é | HTTP://a/%7e?é | 2" + tail)
  }

  // MARK: Tables of others

  @Test("children's tables that someone else made, without foreign keys and in text, are kept the same way")
  func tablesOfOthers() async throws {
    let scene = try Scene(
      """
      CREATE TABLE line ("order" TEXT, no INT, product CLOB, mine TEXT, theirs TEXT DEFAULT 'd', PRIMARY KEY (no, "order"));
      CREATE TABLE part ("order" INTEGER, line INTEGER, sku TEXT, position INTEGER, UNIQUE (sku, line, "order"));
      """)
    let first = try await scene.run(Shop.Order.self, Shop.first)
    #expect(first.contains("2 inserted"), "\(first)")
    expect(try scene.rows(Shop.all), is: Self.stock)
    try scene.fixture.execute(Shop.log + "UPDATE line SET theirs = 'x', mine = 'm'; DELETE FROM heard;")
    let line = try await scene.run(
      Shop.Order.self, #"[{"id":1,"lines":[{"no":1,"product":"p"},{"no":3,"product":"n"}]}]"#)
    expect(line, is: "order: 1 pages, 1 records, 0 inserted, 0 updated, 1 unchanged, 1 deleted, proven")
    expect(
      try scene.rows("SELECT *, typeof(\"order\") FROM line ORDER BY no"),
      is: "1 | 1 | p | m | x | text\n1 | 3 | n | ∅ | d | text")
    expect(try scene.rows("SELECT * FROM part ORDER BY sku"), is: "1 | 1 | x | 0\n1 | 1 | y | 1")
    expect(
      try scene.rows("SELECT what FROM heard ORDER BY 1"),
      is: """
        delete line 1/2
        delete line 2/1
        delete order 2
        delete order_tag 2/red
        delete part 1/2/x
        delete part 2/1/z
        insert line 1/3
        """)
  }

  @Test("rows of a table of others that never had an owner here are theirs")
  func strangers() async throws {
    let scene = try Scene(
      """
      CREATE TABLE line ("order" INTEGER, no INTEGER, product TEXT, mine TEXT, UNIQUE ("order", no));
      INSERT INTO line VALUES (77, 1, 'theirs', NULL), (NULL, 2, 'theirs', NULL);
      """)
    for lines in ["1", "2", "1"] {
      _ = try await scene.run(
        Shop.Order.self,
        #"[{"id":1,"lines":[{"no":\#(lines),"product":"p"}]},{"id":\#(lines)5,"lines":[{"no":1}]}]"#)
    }
    expect(
      try scene.rows("SELECT * FROM line ORDER BY \"order\" IS NOT NULL, 1"),
      is: "∅ | 2 | theirs | ∅\n1 | 1 | p | ∅\n15 | 1 |  | ∅\n77 | 1 | theirs | ∅")
  }

  // MARK: Pages and parents

  struct Counted: Entity {
    var id = 0
    static let table = "thing"
    static let source = Source(
      .probe, "things", rows: "data", paging: .page("page", size: 2, sizeParameter: "n"))
    static var mapping: Mapping<Counted> {
      Key(\.id)
      Children(ThingTag.self, at: "tags")
    }
    static let deletion = Deletion<Counted>.missing(atMost: 1)
  }

  struct ThingTag: Record {
    var thing = 0
    var tag = ""
    static var mapping: Mapping<ThingTag> {
      Key(\.thing, "@parent.id")
      Key(\.tag, .root)
    }
  }

  @Test("counted pages that are walked twice: of each owner the second walk's children count")
  func secondWalk() async throws {
    let scene = try Scene()
    func page(_ number: Int, _ body: String, times: Int? = nil) -> Route {
      Route("/things", query: ["page": "\(number)"], body: #"{"data":[\#(body)]}"#, times: times)
    }
    _ = try await scene.run(
      Counted.self,
      [
        page(1, #"{"id":1,"tags":["a"]},{"id":2,"tags":["b"]}"#), page(2, #"{"id":3,"tags":["c"]}"#),
        page(3, ""),
      ])
    let line = try await scene.run(
      Counted.self,
      [
        page(1, #"{"id":1,"tags":["a"]},{"id":2,"tags":["old"]}"#, times: 1), page(2, "", times: 1),
        page(1, #"{"id":1},{"id":2,"tags":["new","b"]}"#), page(2, ""),
      ])
    expect(line, is: "thing: 4 pages, 4 records, 0 inserted, 0 updated, 2 unchanged, 1 deleted, proven")
    expect(
      try scene.rows("SELECT * FROM thing_tag ORDER BY 1, 2"), is: "1 | a\n2 | b\n2 | new")
  }

  struct Reply: Entity {
    var thing = 0
    var id = 0
    static let source = Source(
      .probe, "things/{parent.id}/replies", paging: .none, parents: Parents(Thing.self))
    static var mapping: Mapping<Reply> {
      Key(\.thing, "@parent.id")
      Key(\.id)
      Children(Reaction.self, at: "reactions")
    }
    static let deletion = Deletion<Reply>.missing(atMost: 1)
  }

  struct Reaction: Record {
    var thing = 0
    var reply = 0
    var sign = ""
    static var mapping: Mapping<Reaction> {
      Key(\.thing, "@parent.thing")
      Key(\.reply, "@parent.id")
      Key(\.sign, .root)
    }
  }

  @Test("children of records that are asked for parent by parent")
  func parents() async throws {
    let scene = try Scene(
      "CREATE TABLE thing (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO thing VALUES (1, 'a'), (2, 'b')")
    func replies(_ thing: Int, _ body: String) -> Route { Route("/things/\(thing)/replies", body: body) }
    _ = try await scene.run(
      Reply.self,
      [
        replies(1, #"[{"id":1,"reactions":["👍","👎"]},{"id":2,"reactions":["👍"]}]"#),
        replies(2, #"[{"id":1,"reactions":["❤️","❤"]}]"#),
      ])
    let line = try await scene.run(
      Reply.self, [replies(1, #"[{"id":1,"reactions":["👎"]}]"#), replies(2, #"[{"id":1}]"#)])
    expect(line, is: "reply: 2 pages, 2 records, 0 inserted, 0 updated, 2 unchanged, 1 deleted, proven")
    expect(
      try scene.rows("SELECT * FROM reaction ORDER BY 1, 2, 3"), is: "1 | 1 | 👎\n2 | 1 | ❤\n2 | 1 | ❤️")
  }

  // MARK: What a child reads of its owner

  struct Author: Entity {
    var id = 0
    var name: String?
    var born: Date?
    var score = 1.5
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Author> {
      Key(\.id)
      Field(\.name)
      Field(\.born)
      Field(\.score)
      Children(Work.self, at: "works")
    }
  }

  struct Work: Record {
    var author = 0
    var title = ""
    var by: String?
    var born: Date?
    var score: Double?
    var label: String?
    static var mapping: Mapping<Work> {
      Key(\.author, "@parent.id")
      Key(\.title, .root)
      Field(\.by, "@parent.name")
      Field(\.born, "@parent.born")
      Field(\.score, "@parent.score")
      Field(\.label, template: "{@parent.name}/{@index}")
    }
  }

  @Test("what a child reads of its owner and the record does not tell stays as it is")
  func ownersColumns() async throws {
    let scene = try Scene()
    _ = try await scene.run(
      Author.self,
      #"[{"id":1,"name":"A","born":"2000-01-01T00:00:00Z","score":2.25,"works":["w"]},{"id":2,"name":null,"works":["v"]}]"#
    )
    let sql = "SELECT * FROM work ORDER BY 1, 2"
    expect(
      try scene.rows(sql),
      is: "1 | w | A | 2000-01-01T00:00:00.000Z | 2.25 | A/0\n2 | v | ∅ | ∅ | ∅ | ∅")
    _ = try await scene.run(Author.self, #"[{"id":1,"works":["w"]}]"#)
    expect(
      try scene.rows(sql),
      is: "1 | w | A | 2000-01-01T00:00:00.000Z | 2.25 | A/0\n2 | v | ∅ | ∅ | ∅ | ∅")
  }

  struct Grid: Entity {
    var row = 0
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Grid> {
      Key(\.row, "@index")
      Children(Square.self, at: .list(.root))
    }
  }

  struct Square: Record {
    var row = 0
    var column = 0
    var value: Int?
    static var mapping: Mapping<Square> {
      Key(\.row, "@parent.row")
      Key(\.column, "@index")
      Field(\.value, .root)
    }
  }

  @Test("lists in a list: the record is the list of its children")
  func listsOfLists() async throws {
    let scene = try Scene()
    let line = try await scene.run(Grid.self, "[[1,null],[],[3]]")
    expect(line, is: "thing: 1 pages, 3 records, 3 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    expect(try scene.rows("SELECT * FROM square ORDER BY 1, 2"), is: "0 | 0 | 1\n0 | 1 | ∅\n2 | 0 | 3")
  }

  @Test("ten thousand children in one record")
  func many() async throws {
    let scene = try Scene()
    let tags = (0..<10_000).map { "\"t\($0)\"" }.joined(separator: ",")
    _ = try await scene.run(Shop.Order.self, #"[{"id":9223372036854775807,"meta":{"tags":[\#(tags),"t0"]}}]"#)
    expect(
      try scene.rows("SELECT count(*), min(tag), max(\"order\") FROM order_tag"),
      is: "10000 | t0 | 9223372036854775807")
  }
}

extension Day {
  /// Some day, for properties that have to begin with one.
  static var someDay: Day {
    guard let day = Day("2026-01-01") else { preconditionFailure("the day is one") }
    return day
  }
}
