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
  /// An instant, as milliseconds since 1970 in a cell.
  case timestamp
  /// A JSON text without insignificant white space.
  case json
}

/// A single value on its way to or from a store: booleans as 0 and 1, instants as milliseconds since 1970.
public enum StoredValue: Sendable, Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
}
