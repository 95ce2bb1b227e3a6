import FoundationEssentials

@testable import SyncEngine

extension API {
  static let fuzz = API("fuzz", url: "https://fuzz.example.invalid/")
}

enum Genre: String, KeyValue { case drama = "Drama", myth = "Myth", none = "", one = "1", accent = "é" }
enum Level: Int8, ColumnValue { case low = 1, high = 3, below = -1 }

/// Digits, kept without the hyphens that they may come with.
struct ISBN: RawRepresentable, KeyValue {
  var rawValue: String
  init?(rawValue: String) {
    let digits = rawValue.utf8.filter { $0 != UInt8(ascii: "-") }
    guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    self.rawValue = String(decoding: digits, as: UTF8.self)
  }
}

/// What a closure throws.
struct Unreadable: Error {}

/// Every integer type, and what else is a number.
struct Numbers: Entity {
  var id: Int64 = 0
  var i8: Int8?
  var i16: Int16 = 16
  var i32: Int32?
  var int: Int?
  var u8: UInt8 = 8
  var u16: UInt16?
  var u32: UInt32?
  var u64: UInt64?
  var uint: UInt?
  var double: Double?
  var half = 0.5
  var bool: Bool?
  var level: Level?
  static let source = Source(.fuzz, "numbers", rows: "data", paging: .none)
  static var mapping: Mapping<Numbers> {
    Key(\.id)
    Field(\.i8, "i")
    Field(\.i16, "i", .nullAsDefault)
    Field(\.i32, "i")
    Field(\.int, "i")
    Field(\.u8, "u", .nullAsDefault, .emptyAsNull)
    Field(\.u16, "u")
    Field(\.u32, "u")
    Field(\.u64, "u")
    Field(\.uint, "u")
    Field(\.double, "d", .emptyAsNull)
    Field(\.half, "d", .required)
    Field(\.bool, "b")
    Field(\.level, "l")
  }
}

/// Texts, addresses and enumerations, by nested paths, where a bare record is a list of one.
struct Texts: Entity {
  var id = ""
  var text: String?
  var title = "untitled"
  var deep: String?
  var second: String?
  var url: URL?
  var genre: Genre?
  var list: [String]?
  var tags: [String: String]?
  static let source = Source(.fuzz, "texts", rows: .listOrObject("data.results"), paging: .none)
  static var mapping: Mapping<Texts> {
    Key(\.id, "meta.id")
    Field(\.text, .emptyAsNull)
    Field(\.title, "title", .nullAsDefault)
    Field(\.deep, "meta.names[0].value")
    Field(\.second, "meta.names[1]")
    Field(\.url, "links.self", .emptyAsNull)
    Field(\.genre)
    Field(\.list)
    Field(\.tags, "meta")
  }
}

/// Instants in every form, as the values of an object.
struct Instants: Entity {
  var id = ""
  var iso: Date?
  var seconds: Date?
  var milliseconds: Date?
  var day: Date?
  var minute: Date?
  var exact: Date?
  static let source = Source(.fuzz, "instants", rows: .byKey(.root), paging: .none)
  static var mapping: Mapping<Instants> {
    Key(\.id, "@key")
    Field(\.iso, "at")
    Field(\.seconds, "at", .unixSeconds)
    Field(\.milliseconds, "ms", .unixMilliseconds, .emptyAsNull)
    Field(\.day, "day", .pattern("yyyyMMdd"))
    Field(\.minute, "minute", .pattern("dd.MM.yyyy HH:mm"))
    Field(\.exact, "exact", .pattern("yyyy-MM-ddTHH:mm:ss.SSSZ"))
  }
}

/// Values made of several.
struct Templates: Entity {
  var kind = ""
  var number: UInt32 = 0
  var at = Date(timeIntervalSince1970: 0)
  var image: URL?
  var label: String?
  var sum: Int?
  var moment: Date?
  var part: String?
  static let source = Source(.fuzz, "templates", rows: .list("items").nullIsEmpty, paging: .none)
  static var mapping: Mapping<Templates> {
    Key(\.kind, "k.kind")
    Key(\.number, "k.number")
    Key(\.at, "k.at", .unixSeconds)
    Field(\.image, template: "{image.path}.{image.extension}")
    Field(\.label, template: "{{{a}}} {b} é", .emptyAsNull)
    Field(\.sum, template: "{a}{b}")
    Field(\.moment, template: "{date}T{time}Z")
    Field(\.part, template: "{k.kind}")
  }
}

/// One record with its parent's columns in it.
struct Belongings: Entity {
  var owner = 0
  var genre = Genre.none
  var url: URL = URL(filePath: "/")
  var note: String?
  var mixed: String?
  var whole: [String: String]?
  static let source = Source(
    .fuzz, "parents/{parent.id}", rows: .object("record"), paging: .none, parents: Parents(Owner.self))
  static var mapping: Mapping<Belongings> {
    Key(\.owner, "@parent.id")
    Key(\.genre, "genre")
    Key(\.url, "url")
    Field(\.note, "@parent.note")
    Field(\.mixed, template: "{@parent.id}-{name}")
    Field(\.whole, "all")
  }
}

struct Owner: Entity {
  var id = 0
  var note: String?
  static let source = Source(.fuzz, "parents", paging: .none)
  static var mapping: Mapping<Owner> {
    Key(\.id)
    Field(\.note)
  }
}

/// Records that are lists, and keys with dots and accents in them.
struct Arrays: Entity {
  var id = 0
  var x: Double?
  var y: Double = 1
  var dotted: String?
  var accent: String?
  var empty: [[String: Double]]?
  static let source = Source(.fuzz, "arrays", rows: .list("data[1].list"), paging: .none)
  static var mapping: Mapping<Arrays> {
    Key(\.id, "keys[0]")
    Field(\.x, "geometry.coordinates[0]")
    Field(\.y, "geometry.coordinates[1]", .nullAsDefault)
    Field(\.dotted, .key("a.b"))
    Field(\.accent, "é")
    Field(\.empty, "geometry")
  }
}

/// The types that are more than a number or a text.
struct Kinds: Entity {
  var id = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
  var float: Float?
  var decimal: Decimal?
  var price = Decimal(-5)
  var day: Day?
  var seconds: Duration?
  var milliseconds = Duration.zero
  var base64: Data?
  var hex = Data()
  var raw: JSONText?
  var record: JSONText?
  var integers: [Int]?
  var bytes: [Int8] = []
  var numbers: [Double]?
  var singles: [Float]?
  var flags: [Bool]?
  var words: [String] = ["a"]
  var dates: [Date]?
  var isbn: ISBN?
  var genre = Genre.none
  var level: Level?
  var kind = "kind"
  var grams: Int?
  var sizes: [Int]?
  static let source = Source(.fuzz, "kinds", rows: "data[*].kind", paging: .none)
  static let keyStyle = KeyStyle.camel
  static var mapping: Mapping<Kinds> {
    Key(\.id, "id", or: "uuid")
    Field(\.float, "f", or: ["d", "meta.f"])
    Field(\.decimal, "d")
    Field(\.price, "d", .nullAsDefault, .missingAsNull)
    Field(\.day, "day")
    Field(\.seconds, "t")
    Field(\.milliseconds, "t", .milliseconds, .nullAsDefault)
    Field(\.base64, "b", .emptyAsNull)
    Field(\.hex, "h", .hex)
    Field(\.raw, "raw['a.b']")
    Field(\.record, .root)
    Field(\.integers, "n")
    Field(\.bytes, "n", .missingAsNull, .nullAsDefault)
    Field(\.numbers, "n")
    Field(\.singles, "n")
    Field(\.flags, "flags")
    Field(\.words, "tags[*].name")
    Field(\.dates, "n")
    Field(\.isbn, "isbn")
    Field(\.genre, "g", .fallback(.myth))
    Field(\.level, "l", .fallback(.high))
    Field(\.kind, constant: "fixed")
    Field(\.grams, "w", or: "weight") { json in
      guard let text = json.string, let grams = Int(text.utf8.dropLast(2).map { String($0) }.joined()) else {
        throw Unreadable()
      }
      return grams
    }
    Field(\.sizes, "n") { $0.elements.map(\.text.utf8.count) }
  }
}

/// Instants of a zone, in which clocks change, and those of header fields.
struct Zoned: Entity {
  var id = 0
  var berlin: Date?
  var apia: Date?
  var fixed: Date?
  var pattern: Date?
  var http: Date?
  var fetched: Date?
  static let source = Source(.fuzz, "zoned", paging: .none)
  static var mapping: Mapping<Zoned> {
    Key(\.id, "@index")
    Field(\.berlin, "at", .iso8601(zone: .named("Europe/Berlin")))
    Field(\.apia, "at", .iso8601(zone: .named("Pacific/Apia")))
    Field(\.fixed, "at", .iso8601(zone: .offset(hours: 5, minutes: 45)))
    Field(\.pattern, "p", .pattern("yyyyMMddHH", zone: .named("Europe/Berlin")))
    Field(\.http, "h", .http)
    Field(\.fetched, "@fetchedAt")
  }
}

/// Records in records, some of which a filter passes over, and all of which are prepared.
struct Order: Entity {
  var id = ""
  var at: Date?
  var total: Decimal?
  var took = Duration.zero
  var isOpen: Bool?
  var note: String?
  var full: String?
  static let source = Source(
    .fuzz, "orders", rows: .byKey("orders"), paging: .none, where: .value("type", in: "order", "1", "true"),
    prepare: .setting { record in
      if record["throw"] != nil { throw Unreadable() }
      guard let first = record["first"] else { return [:] }
      return ["full": .text("\(first.string ?? "") \(record["last"]?.text ?? "")"), "first": .value(first)]
    })
  static var mapping: Mapping<Order> {
    Key(\.id, "@key")
    Field(\.at)
    Field(\.total)
    Field(\.took, .nullAsDefault)
    Field(\.isOpen, "open")
    Field(\.note)
    Field(\.full)
    Embedded(Buyer.self, at: .object("buyer"))
    Children(Line.self, at: .listOrObject("lines").nullIsEmpty)
    Children(OrderTag.self, at: "tags")
    Children(Rate.self, at: .byKey("rates"))
    Children(Officer.self, at: "users[*].officer")
  }
}

struct Buyer: Record {
  var id = 0
  var name: String?
  var order: String?
  static var mapping: Mapping<Buyer> {
    Key(\.id)
    Field(\.name, "name", or: ["label", "names[0]"])
    Field(\.order, "@parent.id")
    Embedded(Address.self, at: .object("address"))
  }
}

struct Address: Record {
  var buyer = 0
  var city = "none"
  static var mapping: Mapping<Address> {
    Key(\.buyer, "@parent.id")
    Field(\.city, .nullAsDefault)
  }
}

struct Line: Record {
  var order = ""
  var number = 0
  var product = ""
  var at: Date?
  var total: Decimal?
  var took: Duration?
  var isOpen: Bool?
  static var mapping: Mapping<Line> {
    Key(\.order, "@parent.id")
    Key(\.number, "@index")
    Field(\.product, "product.name", .required)
    Field(\.at, "@parent.at")
    Field(\.total, "@parent.total")
    Field(\.took, "@parent.took")
    Field(\.isOpen, "@parent.is_open")
    Children(Part.self, at: "product.parts")
  }
}

struct Part: Record {
  var order = ""
  var number = 0
  var name = ""
  static var mapping: Mapping<Part> {
    Key(\.order, "@parent.order")
    Key(\.number, "@parent.number")
    Key(\.name, .root)
  }
}

struct OrderTag: Record {
  var order = ""
  var tag = 0
  static var mapping: Mapping<OrderTag> {
    Key(\.order, "@parent.id")
    Key(\.tag, .root)
  }
}

struct Rate: Record {
  var order = ""
  var currency = ""
  var rate: Decimal?
  var raw: JSONText?
  static var mapping: Mapping<Rate> {
    Key(\.order, "@parent.id")
    Key(\.currency, "@key")
    Field(\.rate)
    Field(\.raw, .root)
  }
}

struct Officer: Record {
  var order = ""
  var name = ""
  var note: String?
  static var mapping: Mapping<Officer> {
    Key(\.order, "@parent.id")
    Key(\.name)
    Field(\.note, "@parent.note")
  }
}
