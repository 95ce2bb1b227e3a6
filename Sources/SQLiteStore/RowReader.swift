import CSQLite
import SyncEngine

/// Reads rows back as the engine's values.
enum RowReader {
  static func read(
    _ schema: TableSchema, _ columns: [Column], key: [StoredValue]?, in connection: Connection,
    _ body: ([StoredValue]) throws -> Void
  ) throws {
    guard try connection.hasTable(schema.name) else {
      throw StoreError("there is no table \"\(schema.name)\" yet")
    }
    let names = columns.map { quoted($0.name) }.joined(separator: ", ")
    var sql = "SELECT \(names.isEmpty ? "1" : names) FROM \(quoted(schema.name))"
    if key != nil {
      sql +=
        " WHERE "
        + schema.keys.enumerated().map { "\(quoted($1.name)) = ?\($0 + 1)" }.joined(separator: " AND ")
    }
    sql += " ORDER BY " + schema.keyList
    let statement = try connection.prepare(sql)
    if let key { try statement.bind(zip(key, schema.keys).map { stored($0, $1.type) }) }
    while try connection.step(statement) {
      try body(try columns.enumerated().map { try value(statement, Int32($0), $1) })
    }
  }

  /// A value in the form in which the table holds it.
  static func stored(_ value: StoredValue, _ type: ColumnType) -> StoredValue {
    if case (.integer(let instant), .timestamp) = (value, type) { return .text(Timestamp.text(instant)) }
    return value
  }

  static func value(_ statement: borrowing Statement, _ index: Int32, _ column: Column) throws
    -> StoredValue
  {
    switch (statement.type(index), column.type) {
    case (SQLITE_NULL, _): return .null
    case (SQLITE_INTEGER, _): return .integer(statement.integer(index))
    case (SQLITE_FLOAT, _): return .real(statement.real(index))
    case (SQLITE_TEXT, .timestamp):
      let text = statement.text(index)
      guard let instant = Timestamp.parse(text) else {
        throw StoreError("the column \"\(column.name)\" holds \"\(text.prefix(80))\", which is no instant")
      }
      return .integer(instant)
    case (SQLITE_TEXT, .integer), (SQLITE_TEXT, .boolean), (SQLITE_TEXT, .duration):
      // A column of text that someone else made.
      guard let integer = Int64(statement.text(index)) else {
        throw StoreError(
          "the column \"\(column.name)\" holds \"\(statement.text(index).prefix(80))\", which is no integer")
      }
      return .integer(integer)
    case (SQLITE_TEXT, .real):
      guard let real = Double(statement.text(index)) else {
        throw StoreError(
          "the column \"\(column.name)\" holds \"\(statement.text(index).prefix(80))\", which is no number")
      }
      return .real(real)
    case (SQLITE_BLOB, .blob): return .blob(statement.blob(index))
    case (SQLITE_TEXT, .blob):
      var text = statement.text(index)
      guard let bytes = text.withUTF8({ DataEncoding.base64.decode($0) }) else {
        throw StoreError("the column \"\(column.name)\" holds a text that is no base64")
      }
      return .blob(bytes)
    case (SQLITE_TEXT, _): return .text(statement.text(index))
    default: throw StoreError("the column \"\(column.name)\" holds a blob")
    }
  }
}
