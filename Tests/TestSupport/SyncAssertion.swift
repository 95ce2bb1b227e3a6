import CSQLite
import Foundation
import SQLiteStore
import Synchronization
import SyncEngine
import Testing

/// A store of its own and an engine that syncs from one server, for one test.
public final class Fixture: Sendable {
  public let folder: TemporaryFolder
  public let store: SQLite
  public let path: String
  private let ownServer = Mutex<AnswerServer?>(nil)

  public init() throws {
    folder = try TemporaryFolder()
    path = folder.path + "/store.sqlite"
    store = try SQLite.open(path)
  }

  /// A server of the fixture's own, so that its address stays the same from run to run.
  public func server() throws -> AnswerServer {
    try ownServer.withLock { server in
      let made = try server ?? AnswerServer([])
      server = made
      return made
    }
  }

  /// - Parameter apis: names of the APIs that the server plays.
  public func engine(_ server: AnswerServer, apis: [String], wait: Duration = .seconds(300)) -> Engine {
    Engine(
      store: store,
      options: .init(
        urls: Dictionary(uniqueKeysWithValues: apis.map { ($0, server.base + "/") }),
        rates: Dictionary(uniqueKeysWithValues: apis.map { ($0, .unlimited) }), wait: wait))
  }

  /// The rows of a query as a table with one line a row, columns separated by ` | `, nulls as `∅`.
  public func rows(_ sql: String) throws -> String { try Rows.text(path, sql) }

  public func execute(_ sql: String) throws { _ = try Rows.text(path, sql) }
}

/// What a run says of itself, in one line.
public func line(_ report: SyncReport) -> String {
  let run = report.record
  var text =
    "\(run.entity): \(run.pages) pages, \(run.records) records, \(run.inserted) inserted, \(run.updated) updated, \(run.unchanged) unchanged, \(run.deleted) deleted"
  if run.duplicates > 0 { text += ", \(run.duplicates) duplicates" }
  if run.rejected > 0 { text += ", \(run.rejected) rejected" }
  return "\(text), \(run.outcome.rawValue)\(run.reason.map { ": \($0)" } ?? "")"
}

/// The line of a run that fails, and that of one that does not.
public func outcome(of engine: Engine, _ entity: any Entity.Type) async -> String {
  do { return line(try await engine.sync(entity)) } catch { return "\(error)" }
}

/// Checks a text against the expected one and shows both when they differ.
public func expect(_ actual: String, is expected: String, sourceLocation: SourceLocation = #_sourceLocation) {
  #expect(actual == expected, "got:\n\(actual)\nexpected:\n\(expected)", sourceLocation: sourceLocation)
}

public enum Rows {
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
