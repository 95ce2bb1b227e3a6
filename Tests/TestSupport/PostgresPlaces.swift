import Foundation
import Synchronization

/// A schema of the shared cluster, which goes with this object.
public final class PostgresSchema: Sendable {
  public let name = Postgres.newName()
  /// The address of the database, with the schema as its search path.
  public let url: String
  private let session: Mutex<PostgresSession>

  public init() throws {
    let server = try PostgresServer.shared()
    try Postgres.loadWords(server)
    let session = try PostgresSession(server)
    _ = try session.rows("CREATE SCHEMA \(name)")
    url = Postgres.url(server, searchPath: name)
    _ = try session.rows("SET search_path TO \(name), sqlite_words")
    self.session = Mutex(session)
  }

  deinit {
    // Whoever waits for a lock here waits for a transaction that a failed test has left.
    _ = session.withLock { try? $0.rows("SET lock_timeout = '10s'; DROP SCHEMA \(name) CASCADE") }
  }

  public func rows(_ sql: String) throws -> String { try session.withLock { try $0.rows(sql) } }
}

/// A database of a server, which goes with this object.
public final class PostgresDatabase: Sendable {
  public let url: String
  public let name = Postgres.newName()
  private let server: String

  /// - Parameters:
  ///   - server: an address of any database of the server; nil is the shared one.
  ///   - options: how the database is made, such as `TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'`.
  public init(on server: String? = nil, _ options: String = "") throws {
    self.server = try server ?? PostgresServer.shared()
    url = Postgres.url(self.server, database: name)
    try Postgres.rows(self.server, "CREATE DATABASE \(name) \(options)")
    try Postgres.loadWords(url)
  }

  deinit { _ = try? Postgres.rows(server, "DROP DATABASE IF EXISTS \(name) WITH (FORCE)") }

  public func rows(_ sql: String) throws -> String { try PostgresSession(url).rows(sql) }

  /// A copy of all that it holds now. Sessions in it end.
  public func copy() throws -> PostgresDatabase {
    try waitForSessions(ending: true)
    return try PostgresDatabase(on: server, "TEMPLATE \(name)")
  }

  /// Puts a copy in the place of what it holds.
  public func restore(_ copy: PostgresDatabase) throws {
    try Postgres.rows(
      server, "DROP DATABASE \(name) WITH (FORCE)", "CREATE DATABASE \(name) TEMPLATE \(copy.name)")
  }

  /// Waits until no session is left. One whose client was killed lives as long as its statement does, and may still commit.
  ///
  /// - Parameter ending: whether sessions are ended.
  public func waitForSessions(ending: Bool = false) throws {
    let session = try PostgresSession(server, speaksSQLite: false)
    let others = "FROM pg_stat_activity WHERE datname = '\(name)' AND pid <> pg_backend_pid()"
    if ending { _ = try session.rows("SELECT pg_terminate_backend(pid) \(others)") }
    while try session.rows("SELECT count(*) \(others)") != "0" { usleep(2000) }
  }

  /// How many sessions have written something and not ended their transaction.
  public func writers() throws -> Int {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = '\(name)' AND backend_xid IS NOT NULL"
    return Int(try PostgresSession(server, speaksSQLite: false).rows(sql)) ?? 0
  }
}

/// What tests need of any PostgreSQL server.
public enum Postgres {
  static func newName() -> String { "test_" + UUID().uuidString.prefix(8).lowercased() }

  /// Runs statements one by one, as some of them have to be, in a session of their own.
  @discardableResult
  public static func rows(_ url: String, _ statements: String...) throws -> String {
    let session = try PostgresSession(url, speaksSQLite: false)
    return try statements.map { try session.rows($0) }.joined(separator: "\n")
  }

  /// The same address with another database, another person, or another search path.
  public static func url(
    _ url: String, database: String? = nil, user: String? = nil, password: String? = nil,
    searchPath: String? = nil
  ) -> String {
    guard var parts = URLComponents(string: url) else { return url }
    if let database { parts.path = "/" + database }
    if let user { parts.user = user }
    if let password { parts.password = password }
    if let searchPath {
      // A blank or a comma would end the option (postgresql.org/docs/15/libpq-connect.html).
      parts.percentEncodedQueryItems =
        (parts.percentEncodedQueryItems ?? []) + [
          URLQueryItem(name: "options", value: "-csearch_path%3D\(searchPath)")
        ]
    }
    return parts.string ?? url
  }

  private static let loaded = Mutex<Set<String>>([])

  /// Makes the words of SQLite known to a database, once in each process.
  static func loadWords(_ url: String) throws {
    try loaded.withLock { loaded in
      guard !loaded.contains(url) else { return }
      try rows(
        url, String(contentsOfFile: Repository.root + "/Tests/Support/sqlite_words.sql", encoding: .utf8))
      loaded.insert(url)
    }
  }
}
