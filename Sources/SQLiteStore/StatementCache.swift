import CSQLite

/// Statements of a connection that were prepared before and are used by nobody: the same few are asked for again and again,
/// and to prepare one often takes longer than to run it.
final class StatementCache {
  /// The latest are at the end.
  private var idle: [(sql: String, handle: OpaquePointer)] = []
  private var isClosed = false
  private static let limit = 64

  func take(_ sql: String) -> OpaquePointer? {
    guard let position = idle.lastIndex(where: { $0.sql == sql }) else { return nil }
    return idle.remove(at: position).handle
  }

  func give(back handle: OpaquePointer, _ sql: String) {
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
    if isClosed {
      sqlite3_finalize(handle)
      return
    }
    idle.append((sql, handle))
    if idle.count > Self.limit { sqlite3_finalize(idle.removeFirst().handle) }
  }

  func close() {
    isClosed = true
    for (_, handle) in idle { sqlite3_finalize(handle) }
    idle = []
  }
}
