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
  private let count: Int
  private let timestamps: UnsafeMutablePointer<Bool>
  private let asText: UnsafeMutablePointer<Bool>
  private let required: UnsafeMutablePointer<Bool>
  /// The texts of a row's instants, which have to live until the step.
  private let instants: UnsafeMutablePointer<UInt8>

  init(_ statements: UpsertStatements, asksFirst: Bool, in connection: Connection) throws {
    self.statements = statements
    self.asksFirst = asksFirst
    columns = statements.schema.synced
    count = columns.count
    full = try connection.prepare(statements.full)
    timestamps = .allocate(capacity: count)
    asText = .allocate(capacity: count)
    required = .allocate(capacity: count)
    instants = .allocate(capacity: count * Timestamp.textLength)
    for (index, column) in columns.enumerated() {
      (timestamps + index).initialize(to: column.type == .timestamp)
      (asText + index).initialize(to: statements.asText[index])
      (required + index).initialize(
        to: column.role != .key && !column.isNullable && column.defaultValue == nil)
    }
  }

  deinit {
    timestamps.deallocate()
    asText.deallocate()
    required.deallocate()
    instants.deallocate()
  }

  /// Writes a row if it is new or differs, and counts it.
  ///
  /// - Parameter mayWait: whether a value that has to be unique and that another row holds is no error yet.
  /// - Returns: false for a row that has to wait for another one.
  mutating func write(
    _ batch: RowBatch, _ row: Int, _ counts: inout UpsertCounts, mayWait: Bool = true,
    in connection: Connection
  ) throws -> Bool {
    let cells = batch.row(row)
    let isNew = try asksFirst && !exists(cells, batch, connection)
    switch try write(cells, batch, mayWait: mayWait, connection) {
    case .waits: return false
    case .unchanged: counts.unchanged += 1
    case .written where isNew: counts.inserted += 1
    case .written: counts.updated += 1
    }
    return true
  }

  private enum Outcome { case written, unchanged, waits }

  private mutating func write(
    _ cells: UnsafePointer<Cell>, _ batch: RowBatch, mayWait: Bool, _ connection: Connection
  ) throws -> Outcome {
    var isComplete = true
    var lacksRequired = false
    for column in 0..<count where cells[column].kind == .missing {
      isComplete = false
      if required[column] { lacksRequired = true }
    }
    if isComplete {
      bind(full.handle, cells, batch)
      return try step(full.handle, cells, batch, mayWait, connection)
    }
    if lacksRequired { return try updateExisting(cells, batch, mayWait, connection) }
    if partial == nil { partial = try connection.prepare(statements.partial) }
    guard let handle = partial?.handle else { return .unchanged }
    bind(handle, cells, batch)
    bindMasks(handle, cells)
    return try step(handle, cells, batch, mayWait, connection)
  }

  private mutating func exists(
    _ cells: UnsafePointer<Cell>, _ batch: RowBatch, _ connection: Connection
  ) throws -> Bool {
    if exists == nil { exists = try connection.prepare(statements.exists) }
    guard let exists = exists?.handle else { return false }
    for column in 0..<count where columns[column].role == .key { bind(exists, column, cells[column], batch) }
    let code = sqlite3_step(exists)
    sqlite3_reset(exists)
    guard code == SQLITE_ROW || code == SQLITE_DONE else { throw connection.error(code, nil) }
    return code == SQLITE_ROW
  }

  /// A record without a required column: its row has to be there.
  private mutating func updateExisting(
    _ cells: UnsafePointer<Cell>, _ batch: RowBatch, _ mayWait: Bool, _ connection: Connection
  ) throws -> Outcome {
    if update == nil { update = try connection.prepare(statements.update) }
    guard let update = update?.handle else { return .unchanged }
    bind(update, cells, batch)
    bindMasks(update, cells)
    let outcome = try step(update, cells, batch, mayWait, connection)
    if outcome != .unchanged { return outcome }
    if try exists(cells, batch, connection) { return .unchanged }
    let missing = columns.indices.filter { required[$0] && cells[$0].kind == .missing }.map {
      "\"\(columns[$0].name)\""
    }
    throw RowConflict(
      "\(keyText(cells, batch)) is a new row, but the record has no value for \(missing.joined(separator: ", ")), which is required"
    )
  }

  private func step(
    _ handle: OpaquePointer, _ cells: UnsafePointer<Cell>, _ batch: RowBatch, _ mayWait: Bool,
    _ connection: Connection
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
      throw RowConflict("page \(batch.page), \(keyText(cells, batch)): \(error)")
    }
    throw error
  }

  @inline(__always)
  private func bind(_ handle: OpaquePointer, _ cells: UnsafePointer<Cell>, _ batch: RowBatch) {
    for column in 0..<count { bind(handle, column, cells[column], batch) }
  }

  @inline(__always)
  private func bind(_ handle: OpaquePointer, _ column: Int, _ cell: Cell, _ batch: RowBatch) {
    let place = Int32(truncatingIfNeeded: column + 1)
    switch cell.kind {
    case .text:
      let text = batch.text(cell)
      guard let base = text.baseAddress else { return }
      base.withMemoryRebound(to: CChar.self, capacity: text.count) {
        _ = csqlite_bind_text_static(handle, place, $0, Int32(truncatingIfNeeded: text.count))
      }
    case .integer:
      if timestamps[column] {
        let text = instants + column * Timestamp.textLength
        Timestamp.write(cell.integer, into: text)
        text.withMemoryRebound(to: CChar.self, capacity: Timestamp.textLength) {
          _ = csqlite_bind_text_static(handle, place, $0, Int32(Timestamp.textLength))
        }
      } else if asText[column] {
        bindText(handle, place, String(cell.integer))
      } else {
        sqlite3_bind_int64(handle, place, cell.integer)
      }
    case .real:
      if asText[column] {
        bindText(handle, place, String(cell.real))
      } else {
        sqlite3_bind_double(handle, place, cell.real)
      }
    case .blob:
      let bytes = batch.text(cell)
      if asText[column] {
        bindText(handle, place, DataEncoding.base64.string(Array(bytes)))
      } else if bytes.isEmpty {
        sqlite3_bind_zeroblob(handle, place, 0)
      } else {
        _ = csqlite_bind_blob_static(handle, place, bytes.baseAddress, Int32(truncatingIfNeeded: bytes.count))
      }
    case .null, .missing:
      sqlite3_bind_null(handle, place)
    }
  }

  private func bindText(_ handle: OpaquePointer, _ place: Int32, _ text: String) {
    _ = csqlite_bind_text_transient(handle, place, text, Int32(text.utf8.count))
  }

  private func bindMasks(_ handle: OpaquePointer, _ cells: UnsafePointer<Cell>) {
    let bits = UpsertStatements.bitsPerMask
    for mask in 0...(count - 1) / bits {
      var value: Int64 = 0
      for column in mask * bits..<min(count, (mask + 1) * bits) where cells[column].kind != .missing {
        value |= 1 << Int64(column % bits)
      }
      sqlite3_bind_int64(handle, Int32(count + 1 + mask), value)
    }
  }

  private func keyText(_ cells: UnsafePointer<Cell>, _ batch: RowBatch) -> String {
    columns.indices.filter { columns[$0].role == .key }.map { column in
      let cell = cells[column]
      let value =
        switch cell.kind {
        case .text: String(decoding: batch.text(cell), as: UTF8.self)
        case .integer: timestamps[column] ? Timestamp.text(cell.integer) : String(cell.integer)
        default: "?"
        }
      return "\(columns[column].name) \(value)"
    }.joined(separator: ", ")
  }
}
