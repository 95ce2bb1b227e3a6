import FoundationEssentials

@testable import SyncEngine

extension API {
  static let fuzz = API("fuzz", url: "https://fuzz.example.invalid/")
}

enum Genre: String, KeyValue { case drama = "Drama", myth = "Myth", none = "", one = "1", accent = "é" }
enum Level: Int8, ColumnValue { case low = 1, high = 3, below = -1 }

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
struct Children: Entity {
  var owner = 0
  var genre = Genre.none
  var url: URL = URL(filePath: "/")
  var note: String?
  var mixed: String?
  var whole: [String: String]?
  static let source = Source(
    .fuzz, "parents/{parent.id}", rows: .object("record"), paging: .none, parents: Parents(Owner.self))
  static var mapping: Mapping<Children> {
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
