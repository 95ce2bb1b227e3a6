import JSON
import SyncEngine

/// Reads rows back as the engine's values.
enum RowReader {
  static func read(
    _ schema: TableSchema, _ columns: [Column], key: [StoredValue]?, in connection: Connection,
    _ body: ([StoredValue]) throws -> Void
  ) throws {
    guard try connection.text("SELECT to_regclass($1)", .text(quoted(schema.name))) != nil else {
      throw StoreError("there is no table \"\(schema.name)\" yet")
    }
    let names = columns.map { quoted($0.name) }.joined(separator: ", ")
    var sql = "SELECT \(names) FROM \(quoted(schema.name))"
    if key != nil {
      sql +=
        " WHERE "
        + schema.keys.enumerated().map { "\(quoted($1.name)) = $\($0 + 1)" }.joined(separator: " AND ")
    }
    sql += " ORDER BY " + order(schema)
    let parameters = key.map { zip($0, schema.keys).map { stored($0, $1.type) } } ?? []
    try connection.forEach(sql, parameters) { row in
      try body(try columns.enumerated().map { try value(row, $0, $1) })
    }
  }

  /// By bytes where it is text, as everywhere.
  static func order(_ schema: TableSchema) -> String {
    schema.keys.map {
      TableDefinition.type($0.type) == "text" ? "\(quoted($0.name)) COLLATE \"C\"" : quoted($0.name)
    }
    .joined(separator: ", ")
  }

  /// A value as a parameter.
  static func stored(_ value: StoredValue, _ type: ColumnType) -> StoredValue {
    switch (value, type) {
    case (.integer(let instant), .timestamp): .text(Timestamp.text(instant))
    case (.integer(let value), .boolean): .text(value == 0 ? "false" : "true")
    default: value
    }
  }

  /// A value of a column that is declared.
  static func value(_ row: Connection.Result, _ index: Int, _ column: Column) throws -> StoredValue {
    guard let value = BinaryValue(row, index) else { return .null }
    func fault(_ what: String) -> StoreError {
      StoreError("the column \"\(column.name)\" holds \(what)")
    }
    switch (value.stored, column.type) {
    case (.integer, .integer), (.integer, .boolean), (.integer, .duration), (.real, .real), (.blob, .blob):
      return value.stored
    case (.integer(let micros), .timestamp) where value.type == .timestamptz:
      return .integer(micros.floored(by: 1000))
    case (.integer(let integer), .real): return .real(Double(integer))
    case (.text(let text), .timestamp):
      guard let instant = Timestamp.parse(text) else {
        throw fault("\"\(text.prefix(80))\", which is no instant")
      }
      return .integer(instant)
    case (.text(let text), .integer), (.text(let text), .boolean), (.text(let text), .duration):
      guard let integer = Int64(text) else { throw fault("\"\(text.prefix(80))\", which is no integer") }
      return .integer(integer)
    case (.text(let text), .real):
      guard let real = Double(text) else { throw fault("\"\(text.prefix(80))\", which is no number") }
      return .real(real)
    case (.text(var text), .blob):
      guard let bytes = text.withUTF8({ DataEncoding.base64.decode($0) }) else {
        throw fault("a text that is no base64")
      }
      return .blob(bytes)
    case (.text, _): return value.stored
    case (.integer(let integer), _): return .text(String(integer))
    default: throw fault("a \(value.stored)")
    }
  }
}

extension Int64 {
  func floored(by divisor: Int64) -> Int64 {
    let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? quotient - 1 : quotient
  }
}

extension Timestamp {
  static func parse(_ text: String) -> Int64? {
    var text = text
    return text.withUTF8 { parse($0) }
  }
}

/// A value as the server sends it in binary form.
struct BinaryValue {
  /// The types that are read as they come, by their numbers (postgresql.org, src/include/catalog/pg_type.dat).
  enum Kind: UInt32, CaseIterable {
    case boolean = 16, bytea = 17, bigint = 20, smallint = 21, integer = 23, text = 25, json = 114, real = 700
    case double = 701, varchar = 1043, date = 1082, timestamptz = 1184, numeric = 1700, uuid = 2950, jsonb =
      3802
  }

  let type: Kind
  /// An instant is microseconds since 1970.
  let stored: StoredValue

  /// Nil for null.
  init?(_ row: Connection.Result, _ column: Int) {
    if row.isNull(0, column) { return nil }
    let bytes = row.bytes(0, column)
    type = Kind(rawValue: row.type(column)) ?? .text
    func number<I: FixedWidthInteger>(_ type: I.Type, at offset: Int = 0) -> I {
      offset + MemoryLayout<I>.size <= bytes.count
        ? I(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: I.self)) : 0
    }
    switch type {
    case .boolean: stored = .integer(bytes.first == 1 ? 1 : 0)
    case .bytea: stored = .blob(Array(bytes))
    case .bigint: stored = .integer(number(Int64.self))
    case .integer: stored = .integer(Int64(number(Int32.self)))
    case .smallint: stored = .integer(Int64(number(Int16.self)))
    case .real: stored = .real(Double(Float(bitPattern: number(UInt32.self))))
    case .double: stored = .real(Double(bitPattern: number(UInt64.self)))
    case .timestamptz:
      let value = number(Int64.self)
      // The largest and the smallest mean infinity; what is beyond the years 1 to 9999 is no instant of the engine.
      let (micros, overflow) = value.addingReportingOverflow(946_684_800_000_000)
      if let name = Self.infinity(value) {
        stored = .text(name)
      } else if overflow || !Timestamp.range.contains(micros.floored(by: 1000)) {
        stored = .text("an instant beyond the years 1 to 9999")
      } else {
        stored = .integer(micros)
      }
    case .date:
      let days = number(Int32.self)
      let instant = (Int64(days) + 10_957) * 86_400_000
      if let name = Self.infinity(days) {
        stored = .text(name)
      } else if Timestamp.range.contains(instant) {
        stored = .text(String(Timestamp.text(instant).prefix(10)))
      } else {
        stored = .text("a day beyond the years 1 to 9999")
      }
    case .uuid:
      let digits = DataEncoding.hex.string(Array(bytes))
      var text = ""
      for (index, digit) in digits.enumerated() {
        if [8, 12, 16, 20].contains(index) { text += "-" }
        text.append(digit)
      }
      stored = .text(text)
    case .jsonb: stored = .text(Self.compact(UnsafeRawBufferPointer(rebasing: bytes.dropFirst())))
    case .text, .varchar, .json: stored = .text(String(decoding: bytes, as: UTF8.self))
    case .numeric:
      let (count, weight) = (Int(number(Int16.self)), Int(number(Int16.self, at: 2)))
      let (sign, scale) = (number(UInt16.self, at: 4), Int(number(UInt16.self, at: 6)))
      guard sign == 0 || sign == 0x4000 else {
        stored = .text(sign == 0xD000 ? "Infinity" : sign == 0xF000 ? "-Infinity" : "NaN")
        return
      }
      func word(_ position: Int) -> String {
        guard (0..<count).contains(position) else { return "0000" }
        let digits = String(number(Int16.self, at: 8 + 2 * position))
        return String(repeating: "0", count: 4 - digits.count) + digits
      }
      var whole = weight < 0 ? "0" : String((0...weight).map(word).joined().drop { $0 == "0" })
      if whole.isEmpty { whole = "0" }
      if scale > 0 {
        let words = (scale + 3) / 4
        whole += "." + (0..<words).map { word(weight + 1 + $0) }.joined().prefix(scale)
      }
      stored = .text((sign == 0 ? "" : "-") + whole)
    }
  }

  private static func infinity<I: FixedWidthInteger>(_ value: I) -> String? {
    value == .max ? "infinity" : value == .min ? "-infinity" : nil
  }

  /// Without the white space that the server puts between values.
  private static func compact(_ json: UnsafeRawBufferPointer) -> String {
    json.withMemoryRebound(to: UInt8.self) { json in
      String(unsafeUninitializedCapacity: json.count) { room in
        guard let base = room.baseAddress else { return 0 }
        return minify(json, into: base)
      }
    }
  }
}
