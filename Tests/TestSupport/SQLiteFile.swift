import CSQLite
import Foundation

/// A database of SQLite, seen past the store.
public enum SQLiteFile {
  /// Copies a whole database, what is in its WAL too.
  public static func copy(_ path: String, to target: String) throws {
    _ = try text(path, "VACUUM INTO '\(target)'")
  }

  /// Bytes of a file; 0 where there is none.
  public static func size(_ path: String) -> Int {
    (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
  }

  /// Puts a copy in the place of a database and all that belongs to it.
  public static func restore(_ copy: String, to path: String) throws {
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    try FileManager.default.copyItem(atPath: copy, toPath: path)
  }

  /// Writes without waiting for anyone.
  public static func write(_ path: String, _ sql: String) throws {
    _ = try text(path, sql, patience: 0)
  }

  public static func text(_ path: String, _ sql: String, patience: Int32 = 10_000) throws -> String {
    var handle: OpaquePointer?
    defer { sqlite3_close(handle) }
    guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil) == SQLITE_OK else {
      throw TestFailure("cannot open \(path)")
    }
    sqlite3_busy_timeout(handle, patience)
    var lines: [String] = []
    var code: Int32 = SQLITE_OK
    try sql.withCString { text in
      var rest: UnsafePointer<CChar>? = text
      while let next = rest, next.pointee != 0 {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, next, -1, &statement, &rest) == SQLITE_OK else {
          throw TestFailure("\(String(cString: sqlite3_errmsg(handle))): \(sql)")
        }
        guard let statement else { return }
        defer { sqlite3_finalize(statement) }
        repeat {
          code = sqlite3_step(statement)
          guard code == SQLITE_ROW else { break }
          lines.append(
            (0..<sqlite3_column_count(statement)).map { column in
              sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "∅"
            }.joined(separator: " | "))
        } while true
        guard code == SQLITE_DONE else {
          throw TestFailure("\(String(cString: sqlite3_errmsg(handle))): \(sql)")
        }
      }
    }
    return lines.joined(separator: "\n")
  }
}
