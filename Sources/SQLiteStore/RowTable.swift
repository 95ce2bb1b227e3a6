import CSQLite
import SyncEngine

/// The cells of a page as a table that SQL reads (sqlite.org/vtab.html#eponymous_only_virtual_tables), so that one statement
/// writes all its rows: about half the time of binding and stepping row by row.
final class RowTable {
  /// Its name in SQL.
  let name: String
  private let connection: Connection
  private let source: UnsafeMutablePointer<Source>

  /// What a scan runs over: memory alone, since to retain an object for each value would take a third of the time.
  fileprivate struct Source {
    let columnCount: Int
    let forms: UnsafeMutablePointer<CellForms.Form>
    var cells: UnsafePointer<Cell>?
    var arena: UnsafeMutablePointer<UInt8>?
    /// The rows that are there, by their number in the page.
    var rows: UnsafePointer<Int>?
    var rowCount = 0
  }

  /// SQLite's own part comes first in both (sqlite.org/c3ref/vtab.html).
  fileprivate struct Table {
    var base = sqlite3_vtab()
    let source: UnsafeMutablePointer<Source>
  }

  fileprivate struct Cursor {
    var base = sqlite3_vtab_cursor()
    let source: UnsafeMutablePointer<Source>
    var position = 0
    var cells: UnsafePointer<Cell>?

    @inline(__always)
    mutating func move(to position: Int) {
      self.position = position
      guard position < source.pointee.rowCount, let rows = source.pointee.rows, let all = source.pointee.cells
      else {
        cells = nil
        return
      }
      cells = all + rows[position] * source.pointee.columnCount
    }
  }

  init(_ name: String, _ forms: CellForms, in connection: Connection) throws {
    (self.name, self.connection) = (name, connection)
    source = .allocate(capacity: 1)
    let count = forms.columns.count
    let copy = UnsafeMutablePointer<CellForms.Form>.allocate(capacity: count)
    copy.initialize(from: forms.forms, count: count)
    source.initialize(to: Source(columnCount: count, forms: copy))
    let code = sqlite3_create_module_v2(connection.handle, name, Self.module, source) { source in
      // Called once nothing refers to the table any more, which may be later than this object goes.
      guard let source = source?.assumingMemoryBound(to: Source.self) else { return }
      source.pointee.forms.deallocate()
      source.deallocate()
    }
    if code != SQLITE_OK { throw connection.error(code, nil) }
  }

  deinit { sqlite3_create_module_v2(connection.handle, name, nil, nil, nil) }

  /// Runs `body`, in which scans read these rows, by their number in the page.
  func withRows<R>(_ rows: [Int], of memory: RowMemory, _ body: () throws -> R) rethrows -> R {
    try withExtendedLifetime(memory) {
      try rows.withUnsafeBufferPointer { rows in
        (source.pointee.cells, source.pointee.arena) = (memory.row(0), memory.arena)
        (source.pointee.rows, source.pointee.rowCount) = (rows.baseAddress, rows.count)
        defer { source.pointee.rowCount = 0 }
        return try body()
      }
    }
  }

  static func column(_ column: Int) -> String { "c\(column)" }

  /// The functions of the table. Never written to again, and never freed.
  private nonisolated(unsafe) static let module: UnsafeMutablePointer<sqlite3_module> = {
    var module = sqlite3_module()
    // Without xCreate it is there by its name alone.
    module.xConnect = { database, source, _, _, table, _ in
      guard let source = source?.assumingMemoryBound(to: Source.self), let table else { return SQLITE_ERROR }
      let columns = (0..<source.pointee.columnCount).map { RowTable.column($0) }
      let code = sqlite3_declare_vtab(database, "CREATE TABLE rows (\(columns.joined(separator: ", ")))")
      if code != SQLITE_OK { return code }
      csqlite_vtab_direct_only(database)
      let made = UnsafeMutablePointer<Table>.allocate(capacity: 1)
      made.initialize(to: Table(source: source))
      table.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab.self)
      return SQLITE_OK
    }
    module.xDisconnect = { table in
      UnsafeMutableRawPointer(table)?.assumingMemoryBound(to: Table.self).deallocate()
      return SQLITE_OK
    }
    module.xBestIndex = { _, plan in
      plan?.pointee.estimatedRows = 1000
      plan?.pointee.estimatedCost = 1000
      return SQLITE_OK
    }
    module.xOpen = { table, cursor in
      guard let table = UnsafeMutableRawPointer(table)?.assumingMemoryBound(to: Table.self), let cursor else {
        return SQLITE_ERROR
      }
      let made = UnsafeMutablePointer<Cursor>.allocate(capacity: 1)
      made.initialize(to: Cursor(source: table.pointee.source))
      cursor.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
      return SQLITE_OK
    }
    module.xClose = { cursor in
      RowTable.cursor(cursor)?.deallocate()
      return SQLITE_OK
    }
    module.xFilter = { cursor, _, _, _, _ in
      RowTable.cursor(cursor)?.pointee.move(to: 0)
      return SQLITE_OK
    }
    module.xNext = { cursor in
      guard let cursor = RowTable.cursor(cursor) else { return SQLITE_ERROR }
      cursor.pointee.move(to: cursor.pointee.position + 1)
      return SQLITE_OK
    }
    module.xEof = { RowTable.cursor($0)?.pointee.cells == nil ? 1 : 0 }
    module.xColumn = { cursor, context, column in
      guard let cursor = RowTable.cursor(cursor), let cells = cursor.pointee.cells, let context else {
        return SQLITE_ERROR
      }
      let source = cursor.pointee.source
      guard let arena = source.pointee.arena else { return SQLITE_ERROR }
      var result = Result(context: context)
      let column = Int(column)
      CellForms.put(cells[column], column, as: source.pointee.forms[column], in: arena, into: &result)
      return SQLITE_OK
    }
    module.xRowid = { cursor, row in
      row?.pointee = Int64(RowTable.cursor(cursor)?.pointee.position ?? 0)
      return SQLITE_OK
    }
    let made = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
    made.initialize(to: module)
    return made
  }()

  @inline(__always)
  private static func cursor(_ cursor: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> UnsafeMutablePointer<
    Cursor
  >? {
    UnsafeMutableRawPointer(cursor)?.assumingMemoryBound(to: Cursor.self)
  }

  /// The value that SQLite is given for a column.
  private struct Result: CellSink {
    let context: OpaquePointer

    func null(_ column: Int) { sqlite3_result_null(context) }
    func integer(_ value: Int64, _ column: Int) { sqlite3_result_int64(context, value) }
    func real(_ value: Double, _ column: Int) { sqlite3_result_double(context, value) }
    func text(_ bytes: UnsafeBufferPointer<UInt8>, _ column: Int) {
      csqlite_result_text_static(context, bytes.baseAddress, Int32(truncatingIfNeeded: bytes.count))
    }
    func passingText(_ bytes: UnsafeBufferPointer<UInt8>, _ column: Int) {
      csqlite_result_text_transient(context, bytes.baseAddress, Int32(truncatingIfNeeded: bytes.count))
    }
    func blob(_ bytes: UnsafeBufferPointer<UInt8>, _ column: Int) {
      if bytes.isEmpty { return sqlite3_result_zeroblob(context, 0) }
      csqlite_result_blob_static(context, bytes.baseAddress, Int32(truncatingIfNeeded: bytes.count))
    }
  }
}
