import CSQLite
import SyncEngine

/// Upserts the rows of a page by one statement.
final class BulkUpsert {
  private var statement: Statement?
  private let table: RowTable

  init(_ statements: UpsertStatements, in connection: Connection) throws {
    table = try RowTable(UpsertStatements.rows, statements.forms, in: connection)
    statement = try connection.prepare(statements.all, isKept: false)
  }

  // The statement goes before the table that it reads.
  deinit { statement = nil }

  /// - Parameter rows: the rows to write, by their number in the page.
  /// - Returns: how many were new or different; nil where the table refuses one, and none was written.
  func write(_ memory: RowMemory, _ rows: [Int], in connection: Connection) throws -> Int? {
    guard let handle = statement?.handle else { return nil }
    let code = table.withRows(rows, of: memory) { sqlite3_step(handle) }
    defer { sqlite3_reset(handle) }
    if code == SQLITE_DONE { return connection.changes }
    if code & 0xFF == SQLITE_CONSTRAINT { return nil }
    throw connection.error(code, nil)
  }
}
