import CSQLite
import SyncEngine

/// Records what happens to rows of some tables, by SQLite's session extension (sqlite.org/sessionintro.html): what a
/// change and its undoing leave as it was is none.
final class ChangeSession {
  private var session: OpaquePointer?
  private let connection: Connection

  /// - Throws: `StoreError` for a table without a primary key, whose changes SQLite cannot tell.
  init(of tables: [String], in connection: Connection) throws {
    self.connection = connection
    let code = sqlite3session_create(connection.handle, "main", &session)
    guard code == SQLITE_OK else { throw connection.error(code, nil) }
    for table in Set(tables) {
      guard try connection.integer("SELECT 1 FROM pragma_table_info(?1) WHERE pk > 0", .text(table)) != nil
      else {
        throw StoreError("what changes in \"\(table)\" cannot be told: the table has no primary key")
      }
      let code = sqlite3session_attach(session, table)
      guard code == SQLITE_OK else { throw connection.error(code, nil) }
    }
  }

  deinit { sqlite3session_delete(session) }

  func changes() throws -> [RowChange] {
    var size: Int32 = 0
    var bytes: UnsafeMutableRawPointer?
    let code = sqlite3session_changeset(session, &size, &bytes)
    defer { sqlite3_free(bytes) }
    guard code == SQLITE_OK else { throw connection.error(code, nil) }
    var iterator: OpaquePointer?
    guard sqlite3changeset_start(&iterator, size, bytes) == SQLITE_OK else { return [] }
    defer { sqlite3changeset_finalize(iterator) }
    var found: [RowChange] = []
    var columns: [String: [String]] = [:]
    while sqlite3changeset_next(iterator) == SQLITE_ROW {
      var name: UnsafePointer<CChar>?
      var (count, operation, isIndirect) = (Int32(0), Int32(0), Int32(0))
      sqlite3changeset_op(iterator, &name, &count, &operation, &isIndirect)
      guard let name else { continue }
      let table = String(cString: name)
      if columns[table] == nil { columns[table] = try self.columns(of: table) }
      found.append(change(iterator, table, columns[table] ?? [], Int(count), operation))
    }
    return found
  }

  private func change(
    _ iterator: OpaquePointer?, _ table: String, _ columns: [String], _ count: Int, _ operation: Int32
  ) -> RowChange {
    var isKey: UnsafeMutablePointer<UInt8>?
    sqlite3changeset_pk(iterator, &isKey, nil)
    var (key, values): ([RowChange.Value], [RowChange.Value]) = ([], [])
    for column in 0..<count {
      var (old, new): (OpaquePointer?, OpaquePointer?)
      if operation != SQLITE_INSERT { sqlite3changeset_old(iterator, Int32(column), &old) }
      if operation != SQLITE_DELETE { sqlite3changeset_new(iterator, Int32(column), &new) }
      let name = column < columns.count ? columns[column] : "\(column)"
      let value = RowChange.Value(column: name, old: old.map(stored), new: new.map(stored))
      if let isKey, isKey[column] > 0 {
        key.append(value)
      } else if operation != SQLITE_UPDATE || new != nil {
        values.append(value)
      }
    }
    let kind: RowChange.Kind =
      operation == SQLITE_INSERT ? .inserted : operation == SQLITE_DELETE ? .deleted : .updated
    return RowChange(table: table, kind: kind, key: key, values: values)
  }

  private func columns(of table: String) throws -> [String] {
    let statement = try connection.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")
    try statement.bind([.text(table)])
    var names: [String] = []
    while try connection.step(statement) { names.append(statement.text(0)) }
    return names
  }

  private func stored(_ value: OpaquePointer) -> StoredValue {
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: .integer(sqlite3_value_int64(value))
    case SQLITE_FLOAT: .real(sqlite3_value_double(value))
    case SQLITE_TEXT:
      .text(
        String(
          decoding: UnsafeBufferPointer(
            start: sqlite3_value_text(value), count: Int(sqlite3_value_bytes(value))), as: UTF8.self))
    case SQLITE_BLOB:
      .blob(
        Array(
          UnsafeRawBufferPointer(start: sqlite3_value_blob(value), count: Int(sqlite3_value_bytes(value)))))
    default: .null
    }
  }
}
