import CSQLite
import SyncEngine

/// One connection to a database file. It serves one caller at a time and closes when it goes.
final class Connection: @unchecked Sendable {
  // Sendable: the store keeps its connection inside a mutex and uses it nowhere else; a reader's connection stays
  // with the call that made it.
  let handle: OpaquePointer
  /// The schema's version when the engine's own tables were known to be there.
  private(set) var journalVersion: Int64?
  /// How tables differed from what was asked for, by name, and the schema's version then.
  var differences: [String: (version: Int64, found: TableDifference)] = [:]
  /// Whether the transaction under way has made sure of them.
  var createsJournal = false
  private let interruption = Interruption()
  private let statements = StatementCache()

  /// What the busy and progress handlers look at.
  private final class Interruption {
    var cancellation: Cancellation?
    var waited = 0
    /// How long a statement waits for another program's transaction, in milliseconds.
    var limit = 0
  }

  init(path: String, busyLimit: Duration) throws {
    let (seconds, attoseconds) = busyLimit.components
    interruption.limit = Int(seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code = sqlite3_open_v2(path, &handle, flags, nil)
    guard code == SQLITE_OK, let handle else {
      let reason = handle.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
      sqlite3_close(handle)
      throw StoreError("the store \(path) cannot be opened: \(reason)")
    }
    self.handle = handle
    // A quoted name that is no column is an error, not a text (sqlite.org/quirks.html#dblquote).
    csqlite_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0)
    csqlite_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0)
    let context = Unmanaged.passUnretained(interruption).toOpaque()
    sqlite3_busy_handler(
      handle,
      { context, _ in
        guard let context else { return 0 }
        let interruption = Unmanaged<Interruption>.fromOpaque(context).takeUnretainedValue()
        if interruption.cancellation?.isCancelled == true || interruption.waited >= interruption.limit {
          return 0
        }
        // Short waits first: most transactions are over in a moment.
        let pause = min(25, 1 + interruption.waited / 4)
        Platform.sleep(milliseconds: pause)
        interruption.waited += pause
        return 1
      }, context)
    sqlite3_progress_handler(
      handle, 10_000,
      { context in
        guard let context else { return 0 }
        let interruption = Unmanaged<Interruption>.fromOpaque(context).takeUnretainedValue()
        return interruption.cancellation?.isCancelled == true ? 1 : 0
      }, context)
    // Pages of 16 kB halve the number of pages a commit writes; only a new file takes the size.
    try execute("PRAGMA page_size = 16384")
    // A database in another mode cannot change it while someone works with it, and nothing waits for that
    // (sqlite.org/pragma.html#pragma_journal_mode): then it is as well as it is, and a later connection changes it.
    let mode = sqlite3_exec(handle, "PRAGMA journal_mode = WAL", nil, nil, nil)
    if mode != SQLITE_OK, mode & 0xFF != SQLITE_BUSY { throw error(mode, "PRAGMA journal_mode = WAL") }
    try execute("PRAGMA synchronous = NORMAL")
    // What a large commit, or a reader who stayed long, has made of the log goes with the next commit that begins it anew
    // (sqlite.org/pragma.html#pragma_journal_size_limit). Usual ones write 16 MB until then.
    try execute("PRAGMA journal_size_limit = 33554432")
    try execute("PRAGMA foreign_keys = ON")
    // 4 MB of page cache: keys that come in order touch each page once, and a larger cache only costs fresh memory
    // (64 MB took a fifth more time on the first load of 200,000 rows).
    try execute("PRAGMA cache_size = -4096")
  }

  /// Opens a database only to read it, as it is.
  init(reading path: String) throws {
    var handle: OpaquePointer?
    let code = sqlite3_open_v2(
      path, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
    guard code == SQLITE_OK, let handle else {
      sqlite3_close(handle)
      throw StoreError("\(path) cannot be opened: \(String(cString: sqlite3_errstr(code)))")
    }
    self.handle = handle
  }

  static var version: String { String(cString: sqlite3_libversion()) }

  deinit {
    statements.close()
    // v2 closes once the last statement is gone; all of them are, but a leak must not end the program.
    sqlite3_close_v2(handle)
  }

  /// How long a statement waits for another program's transaction, in milliseconds.
  var busyLimit: Int {
    get { interruption.limit }
    set { interruption.limit = newValue }
  }

  /// Lets the cancellation end waits and long statements.
  func watch(_ cancellation: Cancellation?) {
    interruption.cancellation = cancellation
    interruption.waited = 0
  }

  // MARK: Statements

  /// Runs statements without results.
  func execute(_ sql: String) throws {
    interruption.waited = 0
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    if code != SQLITE_OK { throw error(code, sql) }
  }

  /// - Parameter isKept: whether the statement is kept for the next one who asks for it, once it is not used any more.
  func prepare(_ sql: String, isKept: Bool = true) throws -> Statement {
    if isKept, let handle = statements.take(sql) { return Statement(handle, sql, of: statements) }
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    guard code == SQLITE_OK, let statement else { throw error(code, sql) }
    return Statement(statement, sql, of: isKept ? statements : nil)
  }

  /// The first column of the first row; nil where there is none or it is null.
  func integer(_ sql: String, _ values: StoredValue...) throws -> Int64? {
    let statement = try prepare(sql)
    try statement.bind(values)
    return try step(statement) && !statement.isNull(0) ? statement.integer(0) : nil
  }

  func text(_ sql: String, _ values: StoredValue...) throws -> String? {
    let statement = try prepare(sql)
    try statement.bind(values)
    return try step(statement) && !statement.isNull(0) ? statement.text(0) : nil
  }

  /// Steps to the next row; false at the end.
  func step(_ statement: borrowing Statement) throws -> Bool {
    let code = sqlite3_step(statement.handle)
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw error(code, nil)
    }
  }

  /// Runs a statement with values to its end.
  func run(_ sql: String, _ values: [StoredValue]) throws {
    let statement = try prepare(sql)
    try statement.bind(values)
    while try step(statement) {}
  }

  /// Rows that the last statement changed, triggers aside.
  var changes: Int { Int(sqlite3_changes64(handle)) }

  func error(_ code: Int32, _ sql: String?) -> any Error {
    if code & 0xFF == SQLITE_INTERRUPT
      || (code & 0xFF == SQLITE_BUSY && interruption.cancellation?.isCancelled == true)
    {
      return CancellationError()
    }
    var text = "SQLite: \(String(cString: sqlite3_errmsg(handle)))"
    switch code & 0xFF {
    case SQLITE_BUSY:
      text += " (another program has kept the database locked for \(interruption.limit / 1000) s)"
    case SQLITE_FULL: text += " (nothing of the run was kept)"
    default: break
    }
    if let sql { text += " in: \(sql.prefix(200))" }
    var error = StoreError(text)
    error.isBusy = code & 0xFF == SQLITE_BUSY
    return error
  }

  // MARK: Transactions

  /// Runs `body` in a transaction that takes the write lock at its start, so that it cannot fail half-way for want of
  /// it (sqlite.org/lang_transaction.html#immediate).
  ///
  /// - Parameters:
  ///   - isUndone: whether all of it is undone at the end.
  ///   - checksReferences: whether what is undone fails where a commit would, for references that do not hold.
  ///   - explainingConstraint: says why a reference does not hold at the commit, in better words than SQLite.
  func transaction<R>(
    isUndone: Bool = false, checksReferences: Bool = true, _ body: (Connection) throws -> R,
    explainingConstraint: (Connection) throws -> (any Error)? = { _ in nil }
  ) throws -> R {
    RunStep.next()
    createsJournal = false
    try execute("BEGIN IMMEDIATE")
    do {
      let result = try body(self)
      if isUndone {
        // What a commit would refuse is refused.
        if checksReferences, try integer("SELECT 1 FROM pragma_foreign_key_check LIMIT 1") != nil,
          let explanation = try explainingConstraint(self)
        {
          throw explanation
        }
        try execute("ROLLBACK")
        return result
      }
      // Read before others can change it.
      let version = try createsJournal ? schemaVersion : nil
      interruption.waited = 0
      let code = sqlite3_exec(handle, "COMMIT", nil, nil, nil)
      if code == SQLITE_OK { journalVersion = version }
      RunStep.next()
      if code == CSQLITE_CONSTRAINT_FOREIGNKEY, let explanation = try explainingConstraint(self) {
        throw explanation
      }
      if code != SQLITE_OK { throw error(code, "COMMIT") }
      return result
    } catch {
      // SQLite may have rolled back by itself; then this fails, and that is fine.
      sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
      throw error
    }
  }

  /// Runs `body` with a rollback journal in place of the write-ahead log, where the file has next to nothing in it and nobody
  /// else has it open.
  ///
  /// With the log all that a first load writes is written twice. With the other journal it is written once, since pages that
  /// were not there before need no copy (sqlite.org/atomiccommit.html), and it is synced to the disk in full. Who opens the
  /// file meanwhile waits for it.
  func withRollbackJournal<R>(_ isWanted: Bool, _ body: () throws -> R) throws -> R {
    guard isWanted, try integer("PRAGMA page_count") ?? 0 <= Self.emptyPages else { return try body() }
    // Nobody waits for others to go away.
    let limit = busyLimit
    busyLimit = 0
    let mode = try? text("PRAGMA journal_mode = DELETE")
    busyLimit = limit
    guard mode == "delete" else { return try body() }
    defer {
      // Where somebody has it open now, who opens it next does that, and until then each commit is synced in full.
      busyLimit = min(limit, 1000)
      interruption.waited = 0
      if (try? text("PRAGMA journal_mode = WAL")) == "wal" { try? execute("PRAGMA synchronous = NORMAL") }
      busyLimit = limit
    }
    try execute("PRAGMA synchronous = FULL")
    return try body()
  }

  /// Pages of a file that holds the engine's own tables and not much more.
  private static let emptyPages: Int64 = 64

  // MARK: The schema

  func hasTable(_ name: String) throws -> Bool { try table(name)?.isView == false }

  /// Whether one of the engine's own tables is there.
  func hasOwnTable(_ name: String) throws -> Bool {
    if let known = journalVersion, try schemaVersion == known { return true }
    return try hasTable(name)
  }

  /// What stands under a table's name.
  struct TableKind {
    let isView: Bool
    /// Whether its rows have numbers (sqlite.org/withoutrowid.html).
    let hasRowID: Bool
    /// Whether its columns hold values of their own types alone (sqlite.org/stricttables.html).
    let isStrict: Bool
  }

  /// By its name alone, however many tables there are.
  func table(_ name: String) throws -> TableKind? {
    let statement = try prepare("SELECT type, wr, strict FROM pragma_table_list(?1) WHERE schema = 'main'")
    try statement.bind([.text(name)])
    guard try step(statement) else { return nil }
    return TableKind(
      isView: statement.text(0) == "view", hasRowID: statement.integer(1) == 0,
      isStrict: statement.integer(2) != 0)
  }

  /// Whether no transaction is under way that was begun by a statement of its own.
  var isIdle: Bool { sqlite3_get_autocommit(handle) != 0 }

  /// The number that changes with each change of the schema (sqlite.org/pragma.html#pragma_schema_version).
  var schemaVersion: Int64? { get throws { try integer("PRAGMA schema_version") } }
}

/// A prepared statement. When it goes, it is kept for others or finalised.
struct Statement: ~Copyable {
  let handle: OpaquePointer
  private let sql: String
  private let cache: StatementCache?

  init(_ handle: OpaquePointer, _ sql: String, of cache: StatementCache?) {
    (self.handle, self.sql, self.cache) = (handle, sql, cache)
  }

  deinit {
    if let cache { cache.give(back: handle, sql) } else { sqlite3_finalize(handle) }
  }

  func bind(_ values: [StoredValue]) throws {
    for (index, value) in values.enumerated() {
      let place = Int32(index + 1)
      let code: Int32
      switch value {
      case .null: code = sqlite3_bind_null(handle, place)
      case .integer(let value): code = sqlite3_bind_int64(handle, place, value)
      case .real(let value): code = sqlite3_bind_double(handle, place, value)
      case .blob(let bytes):
        // A null pointer would be NULL, not an empty blob.
        code =
          bytes.isEmpty
          ? sqlite3_bind_zeroblob(handle, place, 0)
          : csqlite_bind_blob_transient(handle, place, bytes, Int32(bytes.count))
      case .text(var text):
        code = text.withUTF8 { bytes in
          bytes.withMemoryRebound(to: CChar.self) {
            csqlite_bind_text_transient(handle, place, $0.baseAddress ?? emptyText, Int32($0.count))
          }
        }
      }
      guard code == SQLITE_OK else { throw StoreError("SQLite: \(String(cString: sqlite3_errstr(code)))") }
    }
  }

  var columnCount: Int32 { sqlite3_column_count(handle) }
  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
  func type(_ column: Int32) -> Int32 { sqlite3_column_type(handle, column) }
  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
  func real(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

  func blob(_ column: Int32) -> [UInt8] {
    guard let bytes = sqlite3_column_blob(handle, column) else { return [] }
    return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
  }

  func text(_ column: Int32) -> String {
    guard let bytes = sqlite3_column_text(handle, column) else { return "" }
    return String(
      decoding: UnsafeBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))),
      as: UTF8.self)
  }
}

/// An address for empty text: SQLite takes a null pointer for NULL. Never written to.
nonisolated(unsafe) let emptyText: UnsafePointer<CChar> = {
  let byte = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
  byte.initialize(to: 0)
  return UnsafePointer(byte)
}()
