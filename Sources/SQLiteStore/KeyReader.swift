import CSQLite
import SyncEngine

/// A value of SQLite, where it stands.
protocol SQLiteCell {
  var type: Int32 { get }
  var integer: Int64 { get }
  var real: Double { get }
  /// Valid until the statement takes its next step, or the function returns.
  var text: UnsafeBufferPointer<UInt8> { get }
  var blob: UnsafeBufferPointer<UInt8> { get }
}

/// A value in the row that a statement stands at.
struct ColumnCell: SQLiteCell {
  let statement: OpaquePointer
  let column: Int32

  var type: Int32 { sqlite3_column_type(statement, column) }
  var integer: Int64 { sqlite3_column_int64(statement, column) }
  var real: Double { sqlite3_column_double(statement, column) }
  var text: UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(
      start: sqlite3_column_text(statement, column), count: Int(sqlite3_column_bytes(statement, column)))
  }
  var blob: UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(
      start: sqlite3_column_blob(statement, column)?.assumingMemoryBound(to: UInt8.self),
      count: Int(sqlite3_column_bytes(statement, column)))
  }
}

/// A value that SQL gave a function.
struct ArgumentCell: SQLiteCell {
  let value: OpaquePointer?

  var type: Int32 { sqlite3_value_type(value) }
  var integer: Int64 { sqlite3_value_int64(value) }
  var real: Double { sqlite3_value_double(value) }
  var text: UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: sqlite3_value_text(value), count: Int(sqlite3_value_bytes(value)))
  }
  var blob: UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(
      start: sqlite3_value_blob(value)?.assumingMemoryBound(to: UInt8.self),
      count: Int(sqlite3_value_bytes(value)))
  }
}

extension KeyIndex {
  /// The position of the key in the row that a statement stands at; nil for one that is not there.
  mutating func position(
    of keys: [Column], in statement: borrowing Statement, _ reader: inout KeyReader, hint: inout Int
  )
    -> Int?
  {
    let handle = statement.handle
    if keys.count == 1, sqlite3_column_type(handle, 0) == SQLITE_INTEGER {
      return ordinal(of: sqlite3_column_int64(handle, 0), hint: &hint)
    }
    return reader.withKey(keys.count, of: { ColumnCell(statement: handle, column: Int32($0)) }) {
      ordinal(of: $0, hint: &hint)
    }
  }
}

/// Brings the keys of rows into the form in which the engine compares them.
struct KeyReader {
  private let types: [ColumnType]
  private var bytes = KeyBytes()

  init(_ types: [ColumnType]) { self.types = types }

  /// Calls `body` with the key whose parts are the first `count` cells.
  mutating func withKey<C: SQLiteCell, R>(
    _ count: Int, of cell: (Int) -> C, _ body: (UnsafeBufferPointer<UInt8>) -> R
  ) -> R {
    bytes.removeAll()
    for index in 0..<count { append(cell(index), types[index]) }
    return bytes.withBytes(body)
  }

  private mutating func append(_ cell: some SQLiteCell, _ type: ColumnType) {
    switch cell.type {
    case SQLITE_INTEGER: bytes.append(cell.integer)
    case SQLITE_FLOAT:
      // A whole number in a column without a strict type is the integer that it equals.
      let real = cell.real
      if type != .real, let integer = Int64(exactly: real) {
        bytes.append(integer)
      } else {
        bytes.append(real)
      }
    case SQLITE_TEXT:
      let text = cell.text
      switch type {
      case .timestamp:
        if let instant = Timestamp.parse(text) { bytes.append(instant) } else { bytes.append(text) }
      case .integer, .boolean, .duration:
        // Only the text that the store itself writes for the integer is that integer: '01' is another row.
        let written = String(decoding: text, as: UTF8.self)
        if let integer = Int64(written), String(integer) == written {
          bytes.append(integer)
        } else {
          bytes.append(text)
        }
      default: bytes.append(text)
      }
    case SQLITE_BLOB: bytes.append(cell.blob)
    default: bytes.appendNull()
    }
  }
}
