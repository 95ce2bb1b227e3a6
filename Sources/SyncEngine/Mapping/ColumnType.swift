/// What a column holds, independent of the database. Each store has its own form for each type.
public enum ColumnType: String, Sendable, Hashable {
  /// A signed integer of 64 bits.
  case integer
  /// An IEEE 754 double.
  case real
  /// True or false, as 1 or 0 in a cell.
  case boolean
  /// UTF-8 text.
  case text
  /// An exact decimal number, as text without an exponent.
  case decimal
  /// An instant, as milliseconds since 1970 in a cell.
  case timestamp
  /// A day without a time, as text: `2026-02-28`.
  case day
  /// A length of time, as microseconds in a cell.
  case duration
  /// A UUID, as its text in lower case.
  case uuid
  /// Bytes.
  case blob
  /// A JSON text without insignificant white space.
  case json
}

/// A single value on its way to or from a store, in the forms that ``ColumnType`` names for cells.
public enum StoredValue: Sendable, Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
}
