import FoundationEssentials
import JSON

@testable import SyncEngine

/// A type of column: what the oracle calls it, how columns of it are made, and values to try.
struct TestedType: Sendable {
  enum Role { case key, plain, nullable }

  let name: String
  let canBeKey: Bool
  /// What the oracle is told besides.
  let details: String
  let column:
    @Sendable (Role, MappedColumn<Wide>.Place, _ options: FieldOptions, _ name: String?) -> MappedColumn<Wide>
  let value: @Sendable (inout DocumentWriter) -> Void

  init<V: ColumnValue>(
    _ name: String, _ nullable: any WritableKeyPath<Wide, V?> & Sendable,
    _ plain: any WritableKeyPath<Wide, V> & Sendable, format: Format<V>..., canBeKey: Bool = true,
    details: String = "", value: @escaping @Sendable (inout DocumentWriter) -> Void
  ) where V.Base == V {
    (self.name, self.canBeKey, self.details, self.value) = (name, canBeKey, details, value)
    column = { role, place, options, columnName in
      var formats = format
      if options.contains(.required) { formats.append(.required) }
      if options.contains(.nullAsDefault) { formats.append(.nullAsDefault) }
      if options.contains(.emptyAsNull) { formats.append(.emptyAsNull) }
      if options.contains(.missingAsNull) { formats.append(.missingAsNull) }
      return switch role {
      case .key: MappedColumn(.key, plain, place, formats, name: columnName)
      case .plain: MappedColumn(.remote, plain, place, formats, name: columnName)
      case .nullable: MappedColumn(.remote, nullable, place, formats, name: columnName)
      }
    }
  }

  var isList: Bool { name.hasSuffix("ist") }
  var isJSON: Bool { isList || name == "json" || name == "dictionary" }
  /// A closure reads it, which a declaration gives no other options.
  var isClosure: Bool { name == "grams" }

  static func named(_ name: String) -> TestedType {
    guard let type = all.first(where: { $0.name == name }) else { fatalError("no type \(name)") }
    return type
  }

  /// A new type is a line here and a function in oracle.py.
  static let all: [TestedType] = numbers + texts + instants + structured

  private static let numbers: [TestedType] = [
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
    TestedType("float", \.float, \.plainFloat, canBeKey: false) { $0.single() },
    TestedType("decimal", \.decimal, \.plainDecimal, canBeKey: false) { $0.decimal() },
    TestedType("bool", \.bool, \.plainBool, canBeKey: false) { $0.boolean() },
    TestedType(
      "grams", \.int, \.plainInt,
      format: Format(
        reading: Reading(
          .custom(.integer) { json in
            if json.isNull { return .null }
            if json.kind == .array { return .integer(Int64(json.count)) }
            guard let text = json.string?.utf8, text.count <= 12, text.suffix(2).elementsEqual(" g".utf8),
              text.first != UInt8(ascii: "+"),
              let grams = Int64(String(decoding: text.dropLast(2), as: UTF8.self)), abs(grams) < 1_000_000_000
            else { throw Unreadable() }
            return .integer(grams)
          })), canBeKey: false
    ) { $0.grams() },
  ]

  private static let texts: [TestedType] = [
    TestedType("text", \.text, \.plainText) { $0.textual() },
    TestedType("url", \.url, \.plainURL) { $0.address() },
    TestedType("uuid", \.uuid, \.plainUUID) { $0.uuid() },
    TestedType("base64", \.data, \.plainData, canBeKey: false) { $0.base64() },
    TestedType("hex", \.data, \.plainData, format: .hex, canBeKey: false) { $0.hexadecimal() },
    TestedType(
      "textEnum", \.shade, \.plainShade,
      details: #", "cases": ["Light", "Dark", "", "1", "true", "\u00e9", "\"\\"]"#
    ) { $0.word(of: Shade.allCases.map(\.rawValue)) },
    TestedType(
      "textEnum", \.shade, \.plainShade, format: .fallback(.dark),
      details: #", "cases": ["Light", "Dark", "", "1", "true", "\u00e9", "\"\\"], "fallback": "t4461726b""#
    ) { $0.word(of: Shade.allCases.map(\.rawValue)) },
    TestedType("integerEnum", \.level, \.plainLevel, details: #", "cases": [1, 3, -1, -128]"#) {
      $0.integer($0.pick(Level.allCases).rawValue)
    },
    TestedType(
      "integerEnum", \.level, \.plainLevel, format: .fallback(.high),
      details: #", "cases": [1, 3, -1, -128], "fallback": "i3""#
    ) {
      if $0.chance(70) { $0.integer($0.pick(Level.allCases).rawValue) } else { $0.integer(in: -1000...1000) }
    },
    TestedType("normalised", \.isbn, \.plainISBN) { $0.isbn() },
  ]

  private static let instants: [TestedType] = [
    TestedType("iso8601", \.date, \.plainDate) { $0.instant() },
    zoned(.offset(hours: 5, minutes: 30), "19800"), zoned(.offset(hours: -23), "-82800"),
    zoned("Europe/Berlin"), zoned("America/New_York"), zoned("Australia/Lord_Howe"), zoned("Pacific/Apia"),
    zoned("Africa/Casablanca"),
    TestedType("unixSeconds", \.date, \.plainDate, format: .unixSeconds) { $0.unix(perSecond: 1) },
    TestedType("unixMilliseconds", \.date, \.plainDate, format: .unixMilliseconds) {
      $0.unix(perSecond: 1000)
    },
    pattern("yyyyMMdd"), pattern("dd.MM.yyyy HH:mm"), pattern("yyyy-MM-ddTHH:mm:ss.SSSZ"), pattern("yyyy"),
    pattern("HHmmss yyyy(MM)"), pattern("yyyy-MM-dd HH:mm", .named("Europe/Berlin"), #""Europe/Berlin""#),
    pattern("yyyyMMddHH", .named("Pacific/Apia"), #""Pacific/Apia""#),
    pattern("yyyyMMdd", .offset(hours: -3), "-10800"),
    TestedType("http", \.date, \.plainDate, format: .http) { $0.httpDate() },
    TestedType("day", \.day, \.plainDay) { $0.calendarDay() },
    TestedType("durationSeconds", \.duration, \.plainDuration) { $0.duration() },
    TestedType("durationMilliseconds", \.duration, \.plainDuration, format: .milliseconds) { $0.duration() },
  ]

  private static let structured: [TestedType] = [
    TestedType("json", \.json, \.plainJSON, canBeKey: false) { $0.anything(depth: 3) },
    TestedType("dictionary", \.dictionary, \.plainDictionary, canBeKey: false) {
      if $0.chance(95) { $0.dictionary() } else { $0.anything(depth: 4) }
    },
    TestedType("stringList", \.list, \.plainList, canBeKey: false) { $0.list { $0.string() } },
    TestedType("int64List", \.integers, \.plainIntegers, canBeKey: false) {
      $0.list { $0.unquotedInteger(in: .min ... .max) }
    },
    TestedType("int8List", \.bytes, \.plainBytes, canBeKey: false) {
      $0.list { $0.unquotedInteger(in: -128...127) }
    },
    TestedType("uint64List", \.naturals, \.plainNaturals, canBeKey: false) {
      $0.list { $0.unquotedInteger(in: 0 ... .max) }
    },
    TestedType("doubleList", \.numbers, \.plainNumbers, canBeKey: false) { $0.list { $0.number(quoted: 0) } },
    TestedType("floatList", \.singles, \.plainSingles, canBeKey: false) { $0.list { $0.number(quoted: 0) } },
    TestedType("boolList", \.flags, \.plainFlags, canBeKey: false) {
      $0.list { $0.word($0.pick(["true", "false"])) }
    },
    TestedType("list", \.dates, \.plainDates, canBeKey: false) { $0.list { $0.anything(depth: 1) } },
  ]

  private static func zoned(_ zone: Zone, _ name: String) -> TestedType {
    TestedType(
      "iso8601", \.date, \.plainDate, format: .iso8601(zone: zone), details: #", "zone": \#(name)"#
    ) { if $0.chance(30) { $0.instant() } else { $0.localTime() } }
  }

  private static func zoned(_ name: String) -> TestedType { zoned(.named(name), "\"\(name)\"") }

  private static func pattern(_ pattern: String, _ zone: Zone = .utc, _ name: String = "0") -> TestedType {
    TestedType(
      "pattern", \.date, \.plainDate, format: .pattern(pattern, zone: zone),
      details: #", "pattern": "\#(pattern)", "zone": \#(name)"#
    ) { $0.date(pattern) }
  }
}

/// What a closure throws.
struct Unreadable: Error {}
