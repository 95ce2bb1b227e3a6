import CSQLite
import SyncEngine

/// Binds the cells of rows and steps the upsert. The statements are prepared once.
struct UpsertLoop: ~Copyable {
  private let statements: UpsertStatements
  private let columns: [Column]
  /// Whether each row is looked for before it is written, since nothing else tells whether it is new.
  private let asksFirst: Bool
  private let full: Statement
  private var partial: Statement?
  private var update: Statement?
  private var exists: Statement?
  private let required: [Bool]

  init(_ statements: UpsertStatements, asksFirst: Bool, in connection: Connection) throws {
    (self.statements, self.asksFirst, columns) = (statements, asksFirst, statements.forms.columns)
    required = columns.map { $0.role != .key && !$0.isNullable && $0.defaultValue == nil }
    full = try connection.prepare(statements.full)
  }

  /// Writes a row if it is new or differs, and counts it.
  ///
  /// - Parameters:
  ///   - page: the number of the row's page.
  ///   - mayWait: whether a value that has to be unique and that another row holds is no error yet.
  /// - Returns: false for a row that has to wait for another one.
  mutating func write(
    _ memory: RowMemory, _ row: Int, page: Int, _ counts: inout UpsertCounts, mayWait: Bool = true,
    in connection: Connection
  ) throws -> Bool {
    let row = Row(cells: memory.row(row), memory: memory, page: page)
    let isNew = try asksFirst && !exists(row, connection)
    switch try write(row, mayWait: mayWait, connection) {
    case .waits: return false
    case .unchanged: counts.unchanged += 1
    case .written where isNew: counts.inserted += 1
    case .written: counts.updated += 1
    }
    return true
  }

  private struct Row {
    let cells: UnsafePointer<Cell>
    let memory: RowMemory
    let page: Int
  }

  private enum Outcome { case written, unchanged, waits }

  private mutating func write(_ row: Row, mayWait: Bool, _ connection: Connection) throws -> Outcome {
    var isComplete = true
    var lacksRequired = false
    for column in columns.indices where row.cells[column].kind == .missing {
      isComplete = false
      if required[column] { lacksRequired = true }
    }
    if isComplete {
      bind(full.handle, row)
      return try step(full.handle, row, mayWait, connection)
    }
    if lacksRequired { return try updateExisting(row, mayWait, connection) }
    if partial == nil { partial = try connection.prepare(statements.partial) }
    guard let handle = partial?.handle else { return .unchanged }
    bind(handle, row)
    bindMasks(handle, row)
    return try step(handle, row, mayWait, connection)
  }

  private mutating func exists(_ row: Row, _ connection: Connection) throws -> Bool {
    if exists == nil { exists = try connection.prepare(statements.exists) }
    guard let exists = exists?.handle else { return false }
    var sink = Parameters(statement: exists)
    for column in columns.indices where columns[column].role == .key {
      put(row, column, into: &sink)
    }
    let code = sqlite3_step(exists)
    sqlite3_reset(exists)
    guard code == SQLITE_ROW || code == SQLITE_DONE else { throw connection.error(code, nil) }
    return code == SQLITE_ROW
  }

  /// A record without a required column: its row has to be there.
  private mutating func updateExisting(
    _ row: Row, _ mayWait: Bool, _ connection: Connection
  ) throws -> Outcome {
    if update == nil { update = try connection.prepare(statements.update) }
    guard let update = update?.handle else { return .unchanged }
    bind(update, row)
    bindMasks(update, row)
    let outcome = try step(update, row, mayWait, connection)
    if outcome != .unchanged { return outcome }
    if try exists(row, connection) { return .unchanged }
    let missing = columns.indices.filter { required[$0] && row.cells[$0].kind == .missing }.map {
      "\"\(columns[$0].name)\""
    }
    throw RowConflict(
      "\(statements.forms.key(of: row.cells, row.memory)) is a new row, but the record has no value for \(missing.joined(separator: ", ")), which is required"
    )
  }

  private func step(
    _ handle: OpaquePointer, _ row: Row, _ mayWait: Bool, _ connection: Connection
  ) throws -> Outcome {
    let code = sqlite3_step(handle)
    if code == SQLITE_DONE {
      sqlite3_reset(handle)
      return sqlite3_changes(connection.handle) > 0 ? .written : .unchanged
    }
    if mayWait && (code == CSQLITE_CONSTRAINT_UNIQUE || code == CSQLITE_CONSTRAINT_PRIMARYKEY) {
      sqlite3_reset(handle)
      return .waits
    }
    let error = connection.error(code, nil)
    sqlite3_reset(handle)
    // A constraint of the table, such as a CHECK that someone added: the record is at fault.
    if code & 0xFF == SQLITE_CONSTRAINT {
      throw RowConflict("page \(row.page), \(statements.forms.key(of: row.cells, row.memory)): \(error)")
    }
    throw error
  }

  private func bind(_ handle: OpaquePointer, _ row: Row) {
    var sink = Parameters(statement: handle)
    for column in columns.indices {
      put(row, column, into: &sink)
    }
  }

  @inline(__always)
  private func put(_ row: Row, _ column: Int, into sink: inout Parameters) {
    CellForms.put(
      row.cells[column], column, as: statements.forms.forms[column], in: row.memory.arena, into: &sink)
  }

  private func bindMasks(_ handle: OpaquePointer, _ row: Row) {
    let (bits, count) = (UpsertStatements.bitsPerMask, columns.count)
    for mask in 0...(count - 1) / bits {
      var value: Int64 = 0
      for column in mask * bits..<min(count, (mask + 1) * bits) where row.cells[column].kind != .missing {
        value |= 1 << Int64(column % bits)
      }
      sqlite3_bind_int64(handle, Int32(count + 1 + mask), value)
    }
  }

  /// The parameters of a statement, which are counted from 1.
  private struct Parameters: CellSink {
    let statement: OpaquePointer

    private func place(_ column: Int) -> Int32 { Int32(truncatingIfNeeded: column + 1) }

    func null(_ column: Int) { sqlite3_bind_null(statement, place(column)) }
    func integer(_ value: Int64, _ column: Int) { sqlite3_bind_int64(statement, place(column), value) }
    func real(_ value: Double, _ column: Int) { sqlite3_bind_double(statement, place(column), value) }
    func text(_ bytes: UnsafeBufferPointer<UInt8>, _ column: Int) {
      bytes.withMemoryRebound(to: CChar.self) {
        _ = csqlite_bind_text_static(statement, place(column), $0.baseAddress ?? emptyText, Int32($0.count))
      }
    }
    func passingText(_ bytes: UnsafeBufferPointer<UInt8>, _ column: Int) {
      bytes.withMemoryRebound(to: CChar.self) {
        _ = csqlite_bind_text_transient(
          statement, place(column), $0.baseAddress ?? emptyText, Int32($0.count))
      }
    }
    func blob(_ bytes: UnsafeBufferPointer<UInt8>, _ column: Int) {
      if bytes.isEmpty {
        sqlite3_bind_zeroblob(statement, place(column), 0)
      } else {
        _ = csqlite_bind_blob_static(statement, place(column), bytes.baseAddress, Int32(bytes.count))
      }
    }
  }
}
