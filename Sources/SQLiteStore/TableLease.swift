import SyncEngine
import Synchronization

/// The right to run on one table: a locked byte of a file beside the database, one byte for each table name.
///
/// The kernel ends the lock with the process, however it ends. The file stays: removing it would let two processes
/// lock two files of the same name.
final class TableLease: Lease {
  private let file: Mutex<Int32?>

  private init(_ file: Int32?) { self.file = Mutex(file) }

  deinit { end() }

  func end() {
    let file = file.withLock { file in
      defer { file = nil }
      return file
    }
    if let file { Platform.close(file) }
  }

  static func acquire(path: String, table: String, wait: Duration) async throws -> TableLease {
    // A database in memory is one process's own, and its store runs one thing at a time.
    guard path != ":memory:" else { return TableLease(nil) }
    let lockPath = Platform.realPath(path) + "-syncd-lock"
    guard let file = Platform.openLockFile(lockPath) else {
      throw StoreError("the lock file \(lockPath) cannot be opened: \(Platform.lastError)")
    }
    let lease = TableLease(file)
    let deadline = ContinuousClock.now + wait
    while true {
      switch Platform.lock(file, byte: byte(of: table)) {
      case .locked: return lease
      case .failed: throw StoreError("the lock file \(lockPath) cannot be locked: \(Platform.lastError)")
      case .held: break
      }
      if ContinuousClock.now >= deadline { throw LeaseTimeout(table: table, wait: wait) }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Those of the tables on which runs are under way, and the process that runs each, where that can be known.
  static func held(of tables: [String], path: String) -> [(table: String, holder: Processes?)] {
    let lockPath = Platform.realPath(path) + "-syncd-lock"
    guard Platform.exists(lockPath), let file = Platform.openLockFile(lockPath) else { return [] }
    defer { Platform.close(file) }
    let locked = tables.filter { Platform.isLocked(file, byte: byte(of: $0)) }
    if locked.isEmpty { return [] }
    let holders = Processes.holding(lockPath)
    return locked.map { table in (table, holders.first { $0.lockedBytes.contains(byte(of: table)) }) }
  }

  /// FNV-1a of the name in lower case (SQLite's table names have no case), in 62 bits. Two tables on one byte would
  /// only wait for each other.
  private static func byte(of table: String) -> Int64 {
    Int64(FNV1a.hash(table.asciiLowercased.utf8) >> 2)
  }
}
