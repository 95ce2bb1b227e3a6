/// How a JSON value is read into a column. Made by column types and formats; compiled into the decoding plan.
public struct Reading: Sendable {
  enum Operation: Sendable {
    case integer(ClosedRange<Int64>)
    case real
    case boolean
    case text
    case timestamp(TimestampFormat)
    case url
    case json
  }

  let operation: Operation
  /// Whether a value read by the operation is one of the type's; nil takes all.
  let accepts: (@Sendable (StoredValue) -> Bool)?

  init(_ operation: Operation) { (self.operation, accepts) = (operation, nil) }

  init(checking reading: Reading, accepts: @escaping @Sendable (StoredValue) -> Bool) {
    (operation, self.accepts) = (reading.operation, accepts)
  }

  var columnType: ColumnType {
    switch operation {
    case .integer: .integer
    case .real: .real
    case .boolean: .boolean
    case .text, .url: .text
    case .timestamp: .timestamp
    case .json: .json
    }
  }

  /// How a value is written into a request; nil for null.
  var writing: @Sendable (StoredValue) -> String? {
    let operation = operation
    return { value in
      switch (value, operation) {
      case (.null, _): nil
      case (.integer(let value), .timestamp(let format)): format.string(value)
      case (.integer(let value), .boolean): value == 0 ? "false" : "true"
      case (.integer(let value), _): String(value)
      case (.real(let value), _): String(value)
      case (.text(let value), _): value
      }
    }
  }
}

/// How a field reads its JSON value, and what an empty or absent one means. Several can be given.
public struct Format<Base: Sendable>: Sendable {
  let reading: Reading?
  let option: FieldOptions

  private init(reading: Reading?, option: FieldOptions = []) {
    (self.reading, self.option) = (reading, option)
  }

  /// The column type's own way.
  public static var natural: Format { Format(reading: nil) }

  /// No default: a record without the key is bad unless its row exists, and so is a null.
  public static var required: Format { Format(reading: nil, option: .required) }

  /// A null takes the column's default instead of making the record bad.
  public static var nullAsDefault: Format { Format(reading: nil, option: .nullAsDefault) }

  /// An empty string is taken for a null.
  public static var emptyAsNull: Format { Format(reading: nil, option: .emptyAsNull) }
}

import struct FoundationEssentials.Date

extension Format where Base == Date {
  /// RFC 3339, also with a space for the `T`, without seconds, and with an offset such as `-0400`. A time without
  /// zone is refused. This is the natural format of a date.
  public static var iso8601: Format { Format(reading: Reading(.timestamp(.iso8601))) }
  /// Seconds since 1970, a fraction allowed.
  public static var unixSeconds: Format { Format(reading: Reading(.timestamp(.unix(perSecond: 1)))) }
  /// Milliseconds since 1970, a fraction allowed.
  public static var unixMilliseconds: Format { Format(reading: Reading(.timestamp(.unix(perSecond: 1000)))) }
  /// Text of fixed width in UTC, made of `yyyy`, `MM`, `dd`, `HH`, `mm`, `ss`, `SSS` and literal characters, as in
  /// `"yyyyMMdd"`.
  public static func pattern(_ pattern: String) -> Format {
    Format(reading: Reading(.timestamp(.pattern(DatePattern(pattern)))))
  }
}

/// What an empty or absent value means to a field.
struct FieldOptions: OptionSet, Sendable {
  let rawValue: UInt8
  static let required = FieldOptions(rawValue: 1)
  static let nullAsDefault = FieldOptions(rawValue: 2)
  static let emptyAsNull = FieldOptions(rawValue: 4)
}
