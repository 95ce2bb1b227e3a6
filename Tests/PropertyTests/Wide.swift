import FoundationEssentials

@testable import SyncEngine

extension API {
  static let property = API("property", url: "https://property.example.invalid/")
}

enum Shade: String, KeyValue, CaseIterable {
  case light = "Light", dark = "Dark", none = "", one = "1", yes = "true", composed = "\u{E9}", quoted =
    "\"\\"
}

enum Level: Int8, KeyValue, CaseIterable { case low = 1, high = 3, below = -1, least = -128 }

/// An entity with two properties of each type, one of which takes null. What they are mapped from is chosen at run
/// time.
struct Wide: Entity {
  var int8: Int8?, int16: Int16?, int32: Int32?, int64: Int64?, int: Int?
  var uint8: UInt8?, uint16: UInt16?, uint32: UInt32?, uint64: UInt64?, uint: UInt?
  var double: Double?, bool: Bool?, text: String?, url: URL?, date: Date?, shade: Shade?, level: Level?
  var list: [String]?, dictionary: [String: Double]?

  var plainInt8: Int8 = 8, plainInt16: Int16 = 16, plainInt32: Int32 = 32, plainInt64: Int64 = .min
  var plainInt = -1, plainUInt8: UInt8 = 8, plainUInt16: UInt16 = 16, plainUInt32: UInt32 = 32
  var plainUInt64: UInt64 = 64, plainUInt: UInt = 0
  var plainDouble = -0.0, plainBool = true, plainText = "né", plainDate = Date(timeIntervalSince1970: -1)
  var plainURL = URL(filePath: "/default"), plainShade = Shade.none, plainLevel = Level.low
  var plainList = ["a"], plainDictionary = ["a": 0.5]

  static let source = Source(.property, "wide", paging: .none)
  static var mapping: Mapping<Wide> { Key(\.plainInt) }
}

/// A type of column: what the oracle calls it, how columns of it are made, and values to try.
struct TestedType: Sendable {
  enum Role { case key, plain, nullable }

  let name: String
  let canBeKey: Bool
  /// What the oracle is told besides.
  let details: String
  let column:
    @Sendable (Role, MappedColumn<Wide>.Place, _ options: FieldOptions, _ name: String) -> MappedColumn<Wide>
  let value: @Sendable (inout DocumentWriter) -> Void

  init<V: ColumnValue>(
    _ name: String, _ nullable: any WritableKeyPath<Wide, V?> & Sendable,
    _ plain: any WritableKeyPath<Wide, V> & Sendable, format: Format<V> = .natural, canBeKey: Bool = true,
    details: String = "", value: @escaping @Sendable (inout DocumentWriter) -> Void
  ) where V.Base == V {
    (self.name, self.canBeKey, self.details, self.value) = (name, canBeKey, details, value)
    column = { role, place, options, columnName in
      var formats = [format]
      if options.contains(.required) { formats.append(.required) }
      if options.contains(.nullAsDefault) { formats.append(.nullAsDefault) }
      if options.contains(.emptyAsNull) { formats.append(.emptyAsNull) }
      return switch role {
      case .key: MappedColumn(.key, plain, place, formats, name: columnName)
      case .plain: MappedColumn(.remote, plain, place, formats, name: columnName)
      case .nullable: MappedColumn(.remote, nullable, place, formats, name: columnName)
      }
    }
  }

  /// A new type is a line here and a function in oracle.py.
  static let all: [TestedType] = [
    TestedType("int8", \.int8, \.plainInt8) { $0.integer(in: -128...127) },
    TestedType("int16", \.int16, \.plainInt16) { $0.integer(in: -32768...32767) },
    TestedType("int32", \.int32, \.plainInt32) { $0.integer(in: -2_147_483_648...2_147_483_647) },
    TestedType("int64", \.int64, \.plainInt64) { $0.integer(in: .min ... .max) },
    TestedType("int64", \.int, \.plainInt) { $0.integer(in: .min ... .max) },
    TestedType("uint8", \.uint8, \.plainUInt8) { $0.integer(in: 0...255) },
    TestedType("uint16", \.uint16, \.plainUInt16) { $0.integer(in: 0...65535) },
    TestedType("uint32", \.uint32, \.plainUInt32) { $0.integer(in: 0...4_294_967_295) },
    TestedType("uint64", \.uint64, \.plainUInt64) { $0.integer(in: 0 ... .max) },
    TestedType("uint64", \.uint, \.plainUInt) { $0.integer(in: 0 ... .max) },
    TestedType("double", \.double, \.plainDouble, canBeKey: false) { $0.number(quoted: 10) },
    TestedType("bool", \.bool, \.plainBool, canBeKey: false) { $0.boolean() },
    TestedType("text", \.text, \.plainText) { $0.textual() },
    TestedType("url", \.url, \.plainURL) { $0.address() },
    TestedType("iso8601", \.date, \.plainDate) { $0.instant() },
    TestedType("unixSeconds", \.date, \.plainDate, format: .unixSeconds) { $0.unix(perSecond: 1) },
    TestedType("unixMilliseconds", \.date, \.plainDate, format: .unixMilliseconds) {
      $0.unix(perSecond: 1000)
    },
    pattern("yyyyMMdd"), pattern("dd.MM.yyyy HH:mm"), pattern("yyyy-MM-ddTHH:mm:ss.SSSZ"), pattern("yyyy"),
    pattern("HHmmss yyyy(MM)"),
    TestedType(
      "textEnum", \.shade, \.plainShade,
      details: #", "cases": ["Light", "Dark", "", "1", "true", "\u00e9", "\"\\"]"#
    ) { $0.word(of: Shade.allCases.map(\.rawValue)) },
    TestedType("integerEnum", \.level, \.plainLevel, details: #", "cases": [1, 3, -1, -128]"#) {
      $0.integer($0.pick(Level.allCases).rawValue)
    },
    TestedType("json", \.list, \.plainList, canBeKey: false) { $0.anything(depth: 3) },
    TestedType("json", \.dictionary, \.plainDictionary, canBeKey: false) { $0.anything(depth: 4) },
  ]

  private static func pattern(_ pattern: String) -> TestedType {
    TestedType(
      "pattern", \.date, \.plainDate, format: .pattern(pattern), details: #", "pattern": "\#(pattern)""#
    ) { $0.date(pattern) }
  }
}
