import Foundation
import JSON
import SyncEngine
import TestSupport
import Testing

/// Values of all types on their way from an answer into the table and back into a struct.
@Suite("Values there and back", .fewAtATime)
struct RoundTripTests {
  enum Kind: String, ColumnValue { case drama = "Drama", other = "?" }
  enum Rank: Int, ColumnValue, Codable { case low = -1, high = 9_007_199_254_740_993 }

  struct Plate: RawRepresentable, ColumnValue, KeyValue {
    var rawValue: String
    init?(rawValue: String) {
      let text = rawValue.uppercased().filter { $0 != " " }
      guard !text.isEmpty, text.count < 9 else { return nil }
      self.rawValue = text
    }
    static let none: Plate = {
      guard let plate = Plate(rawValue: "X") else { preconditionFailure("the plate is one") }
      return plate
    }()
  }

  struct Size: Codable, ColumnValue, Equatable {
    var width = 0
    var unit: String?
  }

  struct Unreadable: Error, CustomStringConvertible { let description = "no \u{1B}[31mgrams" }

  struct Everything: Entity {
    var plate = Plate.none
    var price = Decimal(string: "-0.10") ?? 0
    var ratio: Float = 0.1
    var real = 1e300
    var day = Day.someDay
    var span = Duration.milliseconds(-1500)
    var uid = UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255))
    var bytes = Data([0, 39, 255])
    var raw = JSONText(#"{"a":"it's"}"#)
    var kind = Kind.other
    var rank = Rank.low
    // A text of PostgreSQL holds no NUL, in JSON neither.
    var size = Size(width: 1, unit: StoreKind.words(sqlite: "é'\"\0x", postgresql: "é'\"\u{1}x"))
    var list = ["a'", "b"]
    var map = ["k": 1.5]
    var flag = true
    var at = Date(timeIntervalSince1970: -0.001)
    var text = "it's \"q\" \u{1F600} e\u{301} \\ \n\t?1 :a -- ;"
    var small: Int8 = -128
    var big = Int.min
    var link = URL(filePath: "/a b'")
    var grams: Int?
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Everything> {
      Key(\.plate)
      Field(\.price)
      Field(\.ratio)
      Field(\.real)
      Field(\.day)
      Field(\.span, .milliseconds)
      Field(\.uid)
      Field(\.bytes, .hex)
      Field(\.raw)
      Field(\.kind, .fallback(.other))
      Field(\.rank)
      Field(\.size)
      Field(\.list, "tags[*].name")
      Field(\.map)
      Field(\.flag)
      Field(\.at)
      Field(\.text)
      Field(\.small)
      Field(\.big)
      Field(\.link)
      Field(\.grams, "weight") { json in
        if json.isNull || json.string == "-" { return nil }
        guard let text = json.string, let grams = Int(text.dropLast(2)) else { throw Unreadable() }
        return grams
      }
    }
  }

  private static let columns =
    "plate, price, ratio, real, day, span, uid, hex(bytes), raw, kind, rank, size, list, map, flag, at, text, small, big, link, grams"

  @Test("the initial values are the columns' defaults, and are read back as they were written")
  func defaults() async throws {
    let scene = try Scene()
    let line = try await scene.run(Everything.self, #"[{"plate":"a b"},{"plate":"AB"}]"#)
    expect(
      line,
      is:
        "thing: 1 pages, 2 records, 1 inserted, 0 updated, 0 unchanged, 0 deleted, 1 duplicates, unproven: 1 records came twice"
    )
    try scene.fixture.execute("INSERT INTO thing (plate) VALUES ('SQL')")
    let initial = Everything()
    let rows = try scene.fixture.store.all(Everything.self)
    #expect(rows.map(\.plate.rawValue).sorted() == ["AB", "SQL"])
    for row in rows {
      #expect(row.price == initial.price)
      #expect(row.ratio == initial.ratio)
      #expect(row.real == initial.real)
      #expect(row.day == initial.day)
      #expect(row.span == initial.span)
      #expect(row.uid == initial.uid)
      #expect(row.bytes == initial.bytes)
      #expect(row.raw == initial.raw)
      #expect(row.kind == initial.kind)
      #expect(row.rank == initial.rank)
      #expect(row.size == initial.size)
      #expect(row.list == initial.list)
      #expect(row.map == initial.map)
      #expect(row.flag == initial.flag)
      #expect(row.at == initial.at)
      #expect(Array(row.text.utf8) == Array(initial.text.utf8))
      #expect(row.small == initial.small)
      #expect(row.big == initial.big)
      #expect(row.link == initial.link)
      #expect(row.grams == nil)
    }
  }

  @Test("values of all types are stored in one form each and read back")
  func values() async throws {
    let scene = try Scene()
    let record = #"""
      [{"plate":" ab 1","price":"12345678901234567890.123456789012345670","ratio":0.1,"real":"-0.0","day":"0001-01-01","span":1500.5,"uid":"AABBCCDDEEFF00112233445566778899","bytes":"00fF","raw":{"a": [1.10, null ]},"kind":"Myth","rank":9007199254740993,"size":{"width": 2,"extra":1},"tags":[{"name":"x"},{},{"name":"y"}],"map":{"b": 1e2},"flag":"TRUE","at":"2026-02-02T01:01:01.0019+02:00","text":1.10,"small":"-128","big":-9223372036854775808,"link":"HTTP://é/?a=%7e#","weight":"12 g"}]
      """#
    let line = try await scene.run(Everything.self, record)
    expect(line, is: "thing: 1 pages, 1 records, 1 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    let (size, map) = StoreKind.words(
      sqlite: (#"{"width":2,"extra":1}"#, #"{"b":1e2}"#),
      postgresql: (#"{"extra":1,"width":2}"#, #"{"b":100}"#))
    expect(
      try scene.rows("SELECT \(Self.columns) FROM thing"),
      is:
        #"AB1 | 12345678901234567890.123456789012345670 | 0.1 | 0.0 | 0001-01-01 | 1500500 | aabbccdd-eeff-0011-2233-445566778899 | 00FF | {"a":[1.10,null]} | ? | 9007199254740993 | \#(size) | ["x","y"] | \#(map) | 1 | 2026-02-01T23:01:01.001Z | 1.10 | -128 | -9223372036854775808 | HTTP://é/?a=%7e# | 12"#
    )
    let again = try await scene.run(Everything.self, record)
    expect(again, is: "thing: 1 pages, 1 records, 0 inserted, 0 updated, 1 unchanged, 0 deleted, proven")
    let row = try #require(try scene.fixture.store.first(Everything.self, key: "AB1"))
    #expect(row.price == Decimal(string: "12345678901234567890.12345678901234567"))
    #expect(row.ratio == 0.1)
    #expect(row.real == 0)
    #expect("\(row.day)" == "0001-01-01")
    #expect(row.span == .microseconds(1_500_500))
    #expect(row.bytes == Data([0, 255]))
    #expect(row.raw.text == #"{"a":[1.10,null]}"#)
    #expect(row.kind == .other)
    #expect(row.rank == .high)
    #expect(row.size == Size(width: 2))
    #expect(row.list == ["x", "y"])
    #expect(row.map == ["b": 100])
    #expect(row.big == .min)
    #expect(row.grams == 12)
    #expect(try scene.fixture.store.first(Everything.self, key: "ab1")?.plate.rawValue == nil)
  }

  @Test("closures: nil is a null, what is thrown makes the record bad, a missing value asks nobody")
  func closures() async throws {
    let scene = try Scene()
    _ = try await scene.run(
      Everything.self,
      #"[{"plate":"1","weight":"5 g"},{"plate":"2","weight":"-"},{"plate":"3","weight":null},{"plate":"4"}]"#)
    expect(try scene.rows("SELECT plate, grams FROM thing ORDER BY 1"), is: "1 | 5\n2 | ∅\n3 | ∅\n4 | ∅")
    _ = try await scene.run(Everything.self, #"[{"plate":"1"}]"#)
    expect(try scene.rows("SELECT plate, grams FROM thing ORDER BY 1 LIMIT 1"), is: "1 | 5")
    expect(
      try await scene.run(
        Everything.self,
        #"[{"plate":"1","weight":7},{"plate":"toolong123"},{"plate":"2","tags":[{"name":1}]},{"plate":"3","rank":0}]"#
      ),
      is: """
        thing: 4 bad records, nothing was written:
          page 1, record 1 (plate 1), field "grams" at "weight": 7 cannot be read: no \\u{1b}[31mgrams
          page 1, record 2 (plate toolong123), field "plate": "toolong123" is not one of the declared cases
          page 1, record 3 (plate 2), field "list" at "tags[*].name": 1 does not fit the elements of the list
          page 1, record 4 (plate 3), field "rank": 0 is not one of the declared cases
        """)
  }

  // MARK: Columns that are added later

  struct Bare: Entity {
    var plate = Plate.none
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Bare> { Key(\.plate) }
  }

  @Test("columns of every type that are added later have their defaults in the rows that are there")
  func addedColumns() async throws {
    let scene = try Scene()
    _ = try await scene.run(Bare.self, #"[{"plate":"OLD"}]"#)
    _ = try await scene.run(Everything.self, #"[{"plate":"NEW"}]"#)
    expect(
      try scene.rows(
        "SELECT count(*) FROM (SELECT DISTINCT \(Self.columns.dropFirst("plate, ".count)) FROM thing) AS t"),
      is: "1")
    #expect(try scene.fixture.store.first(Everything.self, key: "OLD")?.text == Everything().text)
    #expect(try scene.fixture.store.first(Everything.self, key: "OLD")?.bytes == Data([0, 39, 255]))
  }

  struct OnlyID: Entity {
    var id = 0
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<OnlyID> { Key(\.id) }
  }

  struct WithNUL: Entity {
    var id = 0
    var text = "a\0b'"
    var other = "c"
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<WithNUL> {
      Key(\.id)
      Field(\.text)
      Field(\.other)
    }
  }

  @Test(
    "a default that holds a NUL is written like any other",
    .only(.sqlite, "a text of PostgreSQL holds none, which PostgresTests has"))
  func nulDefault() async throws {
    let scene = try Scene()
    let line = try await scene.run(WithNUL.self, #"[{"id":1},{"id":2,"text":"x\u0000y"}]"#)
    expect(line, is: "thing: 1 pages, 2 records, 2 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    try scene.fixture.execute("INSERT INTO thing (id) VALUES (3)")
    expect(
      try scene.rows("SELECT id, hex(text), other FROM thing ORDER BY id"),
      is: "1 | 61006227 | c\n2 | 780079 | c\n3 | 61006227 | c")
    #expect(try scene.fixture.store.all(WithNUL.self).map(\.text) == ["a\0b'", "x\0y", "a\0b'"])
    let other = try Scene()
    _ = try await other.run(OnlyID.self, #"[{"id":1}]"#)
    _ = try await other.run(WithNUL.self, #"[{"id":2}]"#)
    expect(
      try other.rows("SELECT id, hex(text), other FROM thing ORDER BY id"),
      is: "1 | 61006227 | c\n2 | 61006227 | c")
  }

  // MARK: Missing, null and empty

  struct Options: Entity {
    var id = 0
    var plain = "p"
    var nullable: String?
    var needed = "n"
    var either = "e"
    var absent: String? = "a"
    var absentDefault = "d"
    var empty: String?
    var all: Int? = 4
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Options> {
      Key(\.id, .emptyAsNull)
      Field(\.plain)
      Field(\.nullable)
      Field(\.needed, .required)
      Field(\.either, .nullAsDefault)
      Field(\.absent, .missingAsNull)
      Field(\.absentDefault, .missingAsNull, .nullAsDefault)
      Field(\.empty, .emptyAsNull)
      Field(\.all, .missingAsNull, .emptyAsNull, .nullAsDefault)
    }
  }

  @Test("the options of a statement, in new rows, in rows that are there and in records that lack columns")
  func options() async throws {
    let scene = try Scene()
    let new = try await scene.run(
      Options.self,
      #"[{"id":1,"needed":"x","either":null,"empty":"","all":""},{"id":2,"needed":"y","plain":"q","nullable":"r","either":"s","absent":"t","absent_default":"u","empty":"v","all":9}]"#
    )
    expect(new, is: "thing: 1 pages, 2 records, 2 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    expect(
      try scene.rows(), is: "1 | p | ∅ | x | e | ∅ | d | ∅ | 4\n2 | q | r | y | s | t | u | v | 9")
    let later = try await scene.run(
      Options.self, #"[{"id":2},{"id":1,"absent":"","absent_default":"z","plain":"","all":"7","empty":"w"}]"#)
    expect(later, is: "thing: 1 pages, 2 records, 0 inserted, 2 updated, 0 unchanged, 0 deleted, proven")
    expect(
      try scene.rows(), is: "1 |  | ∅ | x | e |  | z | w | 7\n2 | q | r | y | s | ∅ | d | v | 4")
    expect(
      try await scene.run(
        Options.self,
        #"[{"id":1,"plain":null},{"id":1,"needed":null},{"id":""},{"id":1,"all":"x"},{"id":null},{"id":1,"absent":[]}]"#
      ),
      is: """
        thing: 6 bad records, nothing was written:
          page 1, record 1 (id 1), field "plain": null, and the column takes no null
          page 1, record 2 (id 1), field "needed": null, and the column takes no null
          page 1, record 3 (id ), field "id": the key is null
          page 1, record 4 (id 1), field "all": "x" is not an integer of 64 bits
          page 1, record 5 (id null), field "id": the key is null
          page 1, record 6 (id 1), field "absent": [] is an array, not a text
        """)
    expect(
      try await scene.run(Options.self, #"[{"id":3,"plain":"x"}]"#),
      is: #"thing: id 3 is a new row, but the record has no value for "needed", which is required"#)
  }

  // MARK: Sources of values

  struct Styled: Entity {
    var userID = 0
    var firstName: String?
    var at: Date?
    var kind = Kind.other
    var label = ""
    var picked: String?
    var codes: [Int] = []
    static let table = "thing"
    static let keyStyle = KeyStyle.camel
    static let source = Source(.probe, "things", rows: .byKey(.root), paging: .none)
    static var mapping: Mapping<Styled> {
      Key(\.userID)
      Field(\.firstName)
      Field(\.at, "@fetchedAt")
      Field(\.kind, constant: .drama)
      Field(\.label, template: "{@key}:{userId}/{@index}{{}}")
      Field(\.picked, "a.b", or: ["c[1]", "@key"])
      Field(\.codes, "list[*][0]")
    }
  }

  @Test(
    "key styles, constants, templates, fallbacks, collected lists; a new time of the fetch changes no row")
  func sources() async throws {
    let scene = try Scene()
    let body =
      #"{"k\"1":{"userId":1,"firstName":"A","a":{"b":null},"c":["x","y"],"list":[[1,2],[],[3]]},"é":{"userId":2,"a":{"b":"z"},"list":null},"":{"userId":3,"a":{},"c":[1],"list":[]}}"#
    let bad = try await scene.run(Styled.self, body)
    expect(
      bad,
      is: """
        thing: 1 bad record, nothing was written:
          page 1, record 2 (user_id 2), field "codes" at "list[*][0]": null, and the column takes no null
        """)
    let good = body.replacingOccurrences(of: #","list":null"#, with: "")
    _ = try await scene.run(Styled.self, good)
    let sql =
      "SELECT user_id, first_name, kind, label, picked, codes, at > '2026-01-01' FROM thing ORDER BY 1"
    expect(
      try scene.rows(sql),
      is:
        "1 | A | Drama | k\"1:1/0{} | y | [1,3] | 1\n2 | ∅ | Drama | é:2/1{} | z | [] | 1\n3 | ∅ | Drama | :3/2{} |  | [] | 1"
    )
    try scene.fixture.execute("UPDATE thing SET at = '2001-01-01T00:00:00.000Z'")
    let again = try await scene.run(Styled.self, good)
    expect(again, is: "thing: 1 pages, 3 records, 0 inserted, 0 updated, 3 unchanged, 0 deleted, proven")
    _ = try await scene.run(Styled.self, good.replacingOccurrences(of: "\"A\"", with: "\"B\""))
    expect(try scene.rows("SELECT at > '2002-01-01' FROM thing ORDER BY user_id"), is: "1\n0\n0")
  }
}
