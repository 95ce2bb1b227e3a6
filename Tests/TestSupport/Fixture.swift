import Foundation
import PostgresStore
import SQLiteStore
import Synchronization
import SyncEngine

/// A store of its own and an engine that syncs from one server, for one test: a file of SQLite, or a schema of PostgreSQL,
/// as ``StoreKind/current`` says.
public final class Fixture: Sendable {
  public let folder: TemporaryFolder
  public let store: any Store
  /// Where the store is, as a configuration says it.
  public let location: String
  private let place: any StorePlace
  private let ownServer = Mutex<AnswerServer?>(nil)

  /// - Parameter isRestorable: whether the place is the fixture's own as a whole, so that it can be put back to how it was.
  public init(_ kind: StoreKind = .current, isRestorable: Bool = false) throws {
    folder = try TemporaryFolder()
    place =
      switch kind {
      case .sqlite: try SQLitePlace(path: folder.path + "/store.sqlite")
      case .postgresql: isRestorable ? try DatabasePlace() : try SchemaPlace()
      }
    location = place.location
    store = try place.open()
  }

  /// The store once more, as another program has it.
  public func open() throws -> any Store { try place.open() }

  /// A server of the fixture's own, so that its address stays the same from run to run.
  public func server() throws -> AnswerServer {
    try ownServer.withLock { server in
      let made = try server ?? AnswerServer([])
      server = made
      return made
    }
  }

  /// - Parameter apis: names of the APIs that the server plays.
  public func engine(
    _ server: AnswerServer, apis: [String], wait: Duration = .seconds(300), memory: Int = 64 << 20
  ) -> Engine {
    Engine(
      store: store,
      options: .init(
        urls: Dictionary(uniqueKeysWithValues: apis.map { ($0, server.base + "/") }),
        rates: Dictionary(uniqueKeysWithValues: apis.map { ($0, .unlimited) }), wait: wait,
        memory: memory))
  }

  /// The rows of a query as a table with one line a row, columns separated by ` | `, nulls as `∅`.
  ///
  /// Over PostgreSQL the query is put into its words, and values are shown as SQLite has them: booleans as 1 and 0,
  /// instants as text, JSON without blanks.
  public func rows(_ sql: String) throws -> String { try place.rows(sql) }

  public func execute(_ sql: String) throws { _ = try place.rows(sql) }

  /// Writes without waiting for anyone.
  public func write(_ sql: String) throws { try place.write(sql) }

  /// Keeps a copy of all that the store holds, for ``restore()``.
  public func keep() throws { try place.keep() }

  /// Puts the copy in the place of the store and all that belongs to it. Nobody may use it meanwhile.
  public func restore() throws { try place.restore() }

  /// Whether a transaction has written something, in PostgreSQL that is under way.
  public func isBeingWritten() throws -> Bool { try place.isBeingWritten() }

  /// Waits for what a killed program has left: its store is whole, and nobody goes on with what it began.
  public func settle() throws { try place.settle() }

  /// All that the store keeps, as text to look for something in.
  public func contents() throws -> String { try place.contents() }

  /// The names of the tables that are there, without those of the engine itself.
  public func tables() throws -> String {
    try rows(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'syncd%' AND name NOT LIKE 'sqlite%' ORDER BY name"
    )
  }
}

/// Where a store is, seen past the engine.
private protocol StorePlace: Sendable {
  var location: String { get }
  func open() throws -> any Store
  func rows(_ sql: String) throws -> String
  func write(_ sql: String) throws
  func contents() throws -> String
  func isBeingWritten() throws -> Bool
  func settle() throws
  /// Keeps a copy of all that is there.
  func keep() throws
  /// Puts the copy back. Nobody may use the store.
  func restore() throws
}

private final class SQLitePlace: StorePlace {
  let location: String
  private let copy: TemporaryFolder

  init(path: String) throws { (location, copy) = (path, try TemporaryFolder()) }

  func open() throws -> any Store { try SQLite.open(location) }
  func rows(_ sql: String) throws -> String { try SQLiteFile.text(location, sql) }
  func write(_ sql: String) throws { try SQLiteFile.write(location, sql) }
  func keep() throws { try SQLiteFile.copy(location, to: copy.path + "/kept") }

  func contents() throws -> String {
    let file = URL(fileURLWithPath: location)
    let folder = file.deletingLastPathComponent()
    return try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasPrefix(file.lastPathComponent) }
      .map { String(decoding: try Data(contentsOf: folder.appendingPathComponent($0)), as: UTF8.self) }
      .joined()
  }
  func restore() throws { try SQLiteFile.restore(copy.path + "/kept", to: location) }

  /// The WAL grows when pages are written; the first ones are the engine's own tables.
  func isBeingWritten() throws -> Bool { SQLiteFile.size(location + "-wal") >= 64 << 10 }

  func settle() throws {
    let integrity = try SQLiteFile.text(location, "PRAGMA integrity_check")
    guard integrity == "ok" else { throw TestFailure(integrity) }
  }
}

extension StorePlace {
  /// All rows of all tables.
  fileprivate static func contents(_ rows: (String) throws -> String) throws -> String {
    try rows("SELECT name FROM sqlite_schema WHERE type = 'table'").split(separator: "\n")
      .map { try rows("SELECT * FROM \"\($0)\"") }.joined(separator: "\n")
  }
}

private struct SchemaPlace: StorePlace {
  let schema: PostgresSchema
  var location: String { schema.url }

  init() throws { schema = try PostgresSchema() }

  func open() throws -> any Store { try PostgreSQL.open(location) }
  func rows(_ sql: String) throws -> String { try schema.rows(sql) }
  func write(_ sql: String) throws { _ = try schema.rows("SET LOCAL lock_timeout = '1ms'; \(sql)") }
  func contents() throws -> String { try Self.contents(schema.rows) }
  func keep() throws { throw TestFailure("a schema is not kept: make the fixture restorable") }
  func restore() throws { try keep() }
  func isBeingWritten() throws -> Bool { throw TestFailure("who writes is known of whole databases only") }
  func settle() throws {}
}

private final class DatabasePlace: StorePlace {
  private let database: PostgresDatabase
  private let kept = Mutex<PostgresDatabase?>(nil)
  var location: String { database.url }

  init() throws { database = try PostgresDatabase() }

  func open() throws -> any Store { try PostgreSQL.open(location) }
  func rows(_ sql: String) throws -> String { try database.rows(sql) }
  func write(_ sql: String) throws { _ = try database.rows("SET LOCAL lock_timeout = '1ms'; \(sql)") }
  func contents() throws -> String { try Self.contents(database.rows) }

  func isBeingWritten() throws -> Bool { try database.writers() > 0 }
  func settle() throws { try database.waitForSessions() }

  func keep() throws {
    let copy = try database.copy()
    kept.withLock { $0 = copy }
  }

  func restore() throws {
    guard let copy = kept.withLock({ $0 }) else { throw TestFailure("nothing was kept") }
    try database.restore(copy)
  }
}
