import CSQLite
import SyncEngine

/// Copies a database page by page, as it is at one moment (sqlite.org/backup.html).
///
/// The connection that is copied from stays in one read transaction. In WAL mode it holds no writer up, and no writer makes
/// the copy begin again, as it does where each step reads anew. `VACUUM INTO` would be as consistent, but sorts all rows into
/// new pages: several times the work, and other row numbers in tables that have no key.
struct OnlineBackup {
  private let path: String
  private let busyLimit: Duration
  /// 4 MB of usual pages: the copy ends soon after it is told to.
  private static let pagesPerStep: Int32 = 256

  init(of path: String, busyLimit: Duration) { (self.path, self.busyLimit) = (path, busyLimit) }

  func run(to file: String, _ cancellation: Cancellation) throws -> Backup {
    let source = try Connection(path: path, busyLimit: busyLimit)
    source.watch(cancellation)
    let key: String?
    do { key = try begin(source) } catch let error as StoreError {
      throw StoreError("the store \(path) cannot be read: \(error) (see '\(StoreExaminer.command)')")
    }
    try demandReplaceable(file, key: key)
    let partial = try PartialFile(for: file)
    // Whatever goes wrong: nothing of the copy stays.
    defer { for suffix in ["-wal", "-shm", "-journal"] { Platform.remove(partial.path + suffix) } }
    let bytes =
      try source.integer("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") ?? 0
    let copy = try Copy(at: partial.path, named: file, bytes: bytes)
    try copy.fill(from: source, cancellation)
    try copy.check(cancellation)
    copy.close()
    try cancellation.check()
    let backup = Backup(file: file, bytes: partial.size)
    // Somebody may have put something there meanwhile.
    try demandReplaceable(file, key: key)
    try partial.putInPlace()
    return backup
  }

  /// Begins the read transaction.
  ///
  /// - Returns: what tells this store from others; nil for one that has not been synced into.
  private func begin(_ source: Connection) throws -> String? {
    try source.execute("BEGIN")
    guard try source.hasOwnTable("syncd_state") else { return nil }
    return try source.text("SELECT value FROM syncd_state WHERE entity = '' AND name = 'key'")
  }

  /// - Throws: ``StoreError`` for a file that is no earlier backup of the same store.
  private func demandReplaceable(_ file: String, key: String?) throws {
    let (target, own) = (Platform.realPath(file), Platform.realPath(path))
    if target == own || Platform.isSameFile(target, own)
      || ["-wal", "-shm", "-journal"].contains(where: { target == own + $0 })
    {
      throw StoreError("\(file) is the store itself")
    }
    guard let beginning = try PartialFile.beginning(of: target, 16), !beginning.isEmpty else { return }
    guard beginning == Array("SQLite format 3\u{0}".utf8) else {
      throw StoreError(
        "\(file) is there and is no SQLite database: it is not replaced; give another name, or remove it")
    }
    // Pages of another database's log would be taken for the copy's.
    for suffix in ["-wal", "-journal"] where Platform.exists(target + suffix) {
      throw StoreError(
        "\(file) is in use, or was when its program ended: \(file)\(suffix) lies beside it; give another name"
      )
    }
    var found: String?
    if let connection = try? Connection(reading: target) {
      found = try? connection.text("SELECT value FROM syncd_state WHERE entity = '' AND name = 'key'")
    }
    guard let key, found == key else {
      throw StoreError(
        "\(file) is there and is no backup of this store: it is not replaced; give another name, or remove it"
      )
    }
  }

  /// The file that is written.
  private final class Copy {
    private var handle: OpaquePointer?
    private let file: String
    private let path: String
    private let bytes: Int64

    init(at path: String, named file: String, bytes: Int64) throws {
      (self.path, self.file, self.bytes) = (path, file, bytes)
      let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, nil)
      guard code == SQLITE_OK else { throw error(code) }
      // What is half there at the end is thrown away, and what is whole is synced once.
      try execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
    }

    deinit { close() }

    func close() {
      sqlite3_close(handle)
      handle = nil
    }

    func fill(from source: Connection, _ cancellation: Cancellation) throws {
      guard let backup = sqlite3_backup_init(handle, "main", source.handle, "main") else {
        throw error(sqlite3_extended_errcode(handle))
      }
      var code = SQLITE_OK
      repeat {
        if cancellation.isCancelled { break }
        code = sqlite3_backup_step(backup, OnlineBackup.pagesPerStep)
      } while code == SQLITE_OK
      let end = sqlite3_backup_finish(backup)
      try cancellation.check()
      guard code == SQLITE_DONE, end == SQLITE_OK else { throw error(code == SQLITE_DONE ? end : code) }
      // One file, without a log beside it, is what people copy and send; who opens it as a store puts it back.
      try execute("PRAGMA journal_mode = DELETE")
    }

    /// - Throws: ``StoreError`` where the copy is damaged, and so the store is.
    func check(_ cancellation: Cancellation) throws {
      // What stands here goes with the statement below it.
      let watch = Unmanaged.passRetained(cancellation)
      defer { watch.release() }
      sqlite3_progress_handler(
        handle, 10_000,
        { context in
          guard let context else { return 0 }
          return Unmanaged<Cancellation>.fromOpaque(context).takeUnretainedValue().isCancelled ? 1 : 0
        }, watch.toOpaque())
      defer { sqlite3_progress_handler(handle, 0, nil, nil) }
      var statement: OpaquePointer?
      defer { sqlite3_finalize(statement) }
      var code = sqlite3_prepare_v2(handle, "PRAGMA quick_check(3)", -1, &statement, nil)
      var faults: [String] = []
      if code == SQLITE_OK {
        code = sqlite3_step(statement)
        while code == SQLITE_ROW {
          if let text = sqlite3_column_text(statement, 0) { faults.append(String(cString: text)) }
          code = sqlite3_step(statement)
        }
      }
      try cancellation.check()
      if code != SQLITE_DONE { faults.append(String(cString: sqlite3_errmsg(handle))) }
      guard faults == ["ok"] else {
        throw StoreError(
          "the store is damaged, and \(file) was left as it was: \(faults.joined(separator: "; ")) (see '\(StoreExaminer.command)')"
        )
      }
    }

    private func execute(_ sql: String) throws {
      let code = sqlite3_exec(handle, sql, nil, nil, nil)
      if code != SQLITE_OK { throw error(code) }
    }

    private func error(_ code: Int32) -> StoreError {
      let folder = Platform.folder(of: path)
      // What was written until now goes again.
      let free =
        DiskSpace.free(in: folder).map {
          ", where there is room for \(readableSize($0.free + Platform.size(of: path)))"
        }
        ?? ""
      let reason = String(cString: sqlite3_errstr(code))
      switch code & 0xFF {
      case SQLITE_FULL:
        return StoreError(
          "the backup \(file) cannot be written: \(reason); \(readableSize(bytes)) are needed in \(folder)\(free)"
        )
      case SQLITE_CORRUPT, SQLITE_NOTADB:
        return StoreError(
          "the store is damaged, and \(file) was left as it was: \(reason) (see '\(StoreExaminer.command)')")
      default: return StoreError("the backup \(file) cannot be written: \(reason)")
      }
    }
  }
}
