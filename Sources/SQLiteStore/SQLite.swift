import CSQLite
import Dispatch
import SyncEngine
import Synchronization

/// Keeps rows in an SQLite file.
///
/// ```swift
/// let store = try SQLite.open("books.sqlite")
/// let engine = Engine(store: store)
/// try await engine.sync(Book.self)
/// let books = try store.all(Book.self)
/// ```
///
/// The file is in WAL mode with `synchronous=NORMAL`: after a power cut the last runs may be missing, never half a
/// run, and the source still has them (sqlite.org/pragma.html#pragma_synchronous).
public final class SQLite: Store {
  /// A plain path, or `sqlite:` in front of one. `:memory:` keeps the rows in memory.
  public static let schemes = ["", "sqlite", "file"]

  public let location: String
  private let path: String
  /// All writing, and the reading that belongs to a run, happens here, off the threads that tasks run on.
  private let queue = DispatchQueue(label: "syncd.sqlite")
  private let connection = Mutex<Connection?>(nil)

  let busyLimit: Duration
  /// That of the file which the connection is to.
  private let key = Mutex<String?>(nil)
  /// Values of a commit into an empty file that are written as a first load: few are not worth it, and with more readers would
  /// have to wait for longer than some seconds.
  private static let firstLoad = 50_000...40_000_000

  private init(location: String, path: String, busyLimit: Duration) {
    (self.location, self.path, self.busyLimit) = (location, path, busyLimit)
  }

  /// Opens a store. The file is created by the first run.
  ///
  /// - Throws: `StoreError` for a folder that does not exist.
  public static func open(_ location: String, options: StoreOptions) throws -> SQLite {
    var path = location
    for prefix in ["sqlite://", "sqlite:", "file://", "file:"] where path.hasPrefix(prefix) {
      path = String(path.dropFirst(prefix.count))
      break
    }
    guard !path.isEmpty else { throw StoreError("the store has no path") }
    if path != ":memory:" {
      let folder = Platform.folder(of: path)
      guard Platform.isFolder(folder) else {
        throw StoreError("the store \(path) cannot be opened: there is no folder \(folder)")
      }
      if Platform.isFolder(path) { throw StoreError("the store \(path) cannot be opened: it is a folder") }
    }
    return SQLite(location: path, path: path, busyLimit: options.busyLimit)
  }

  /// Nil for a store in memory.
  var filePath: String? { path == ":memory:" ? nil : path }

  public var exists: Bool { path == ":memory:" || Platform.exists(path) }

  // MARK: Connections

  /// Runs `body` with the connection, on the store's own thread.
  func perform<R: Sendable>(
    _ body: @escaping @Sendable (Connection, Cancellation) throws -> R
  ) async throws -> R {
    let cancellation = Cancellation()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        queue.async {
          continuation.resume(
            with: Result { try self.withConnection(cancellation) { try body($0, cancellation) } })
        }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }

  /// Runs `body`, which has a connection of its own, beside the store's own thread.
  static func detached<R: Sendable>(_ body: @escaping @Sendable (Cancellation) throws -> R) async throws -> R
  {
    let cancellation = Cancellation()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(with: Result { try body(cancellation) }) }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }

  private func withConnection<R: Sendable>(
    _ cancellation: Cancellation, _ body: (Connection) throws -> R
  ) throws -> R {
    try connection.withLock { held in
      let connection = try held ?? Connection(path: path, busyLimit: busyLimit)
      held = connection
      connection.watch(cancellation)
      defer { connection.watch(nil) }
      return try body(connection)
    }
  }

  /// Closes the connection; the last one of all processes moves what is in the WAL into the file.
  public func close() async {
    await withCheckedContinuation { continuation in
      queue.async {
        self.connection.withLock { $0 = nil }
        self.key.withLock { $0 = nil }
        continuation.resume()
      }
    }
  }

  // MARK: Leases

  public func lease(table: String, isShared: Bool, wait: Duration) async throws -> any Lease {
    try await TableLease.acquire(path: path, table: table, wait: wait)
  }

  // MARK: Runs

  public func textRule() -> TextRule? { nil }

  public func check(_ schema: TableSchema) async throws {
    if !exists { return }
    try await perform { connection, _ in try TableDifference.known(of: schema, in: connection).demandFit() }
  }

  public func differences(from schema: TableSchema) async throws -> [String] {
    if !exists { return [] }
    return try await perform { connection, _ in
      let difference = try TableDifference.known(of: schema, in: connection)
      // In a table that someone else made, what is not declared is theirs.
      guard difference.isMade else { return difference.faults }
      return difference.faults + difference.deviations
        + difference.extra.map {
          "the column \"\($0.name)\" is not declared (it stays, unless --drop-columns is given)"
        }
    }
  }

  public func rebuild(_ schemas: [TableSchema], droppingColumns: Bool) async throws -> [Rebuild] {
    if !exists { return [] }
    return try await perform { connection, _ in
      try TableRebuild.run(schemas, droppingColumns: droppingColumns, in: connection)
    }
  }

  public func rejects(of tables: [String]) async throws -> [Reject] {
    if !exists { return [] }
    return try await perform { connection, _ in try Journal.rejects(of: tables, in: connection) }
  }

  public func commit(_ commits: [Commit]) async throws -> [Committed] {
    if commits.contains(where: \.isRehearsal), !exists {
      return try CommitWriter.write(
        commits, Cancellation(), to: Connection(path: ":memory:", busyLimit: busyLimit)
      ) { $0 }
    }
    for commit in commits { await commit.survey?.finish() }
    let tables = commits.flatMap { [$0.rows] + $0.nested.map(\.rows) }
    let cells = tables.flatMap(\.batches).reduce(0) { $0 + $1.rowCount * $1.columnCount }
    let isFirstLoad = Self.firstLoad.contains(cells) && !commits.contains(where: \.isRehearsal)
    return try await perform { connection, cancellation in
      try connection.withRollbackJournal(isFirstLoad) {
        try CommitWriter.write(commits, cancellation, to: connection) { $0 }
      }
    }
  }

  public func rows(
    of schema: TableSchema, columns: [Column], after commits: [Commit]
  ) async throws -> [[StoredValue]] {
    @Sendable func read(_ connection: Connection, _ cancellation: Cancellation) throws -> [[StoredValue]] {
      var rows: [[StoredValue]] = []
      try CommitWriter.write(commits, cancellation, isUndone: true, to: connection) { _ in
        try RowReader.read(schema, columns, key: nil, in: connection) { rows.append($0) }
      }
      return rows
    }
    if !exists { return try read(Connection(path: ":memory:", busyLimit: busyLimit), Cancellation()) }
    return try await perform { try read($0, $1) }
  }

  public func countUnseen(
    _ seen: KeyIndex, scope: DeletionScope?, in schema: TableSchema
  ) async throws -> (unseen: Int, rows: Int) {
    if !exists { return (0, 0) }
    return try await perform { connection, _ in
      guard try connection.hasTable(schema.name) else { return (0, 0) }
      return try GoneRows.count(of: schema, seen: seen, scope: scope, in: connection)
    }
  }

  public func unseen(
    _ seen: KeyIndex, scope: DeletionScope?, in schema: TableSchema
  ) async throws -> [[StoredValue]] {
    if !exists { return [] }
    return try await perform { connection, _ in
      guard try connection.hasTable(schema.name) else { return [] }
      return try GoneRows.keys(of: schema, seen: seen, scope: scope, in: connection)
    }
  }

  public func survey(_ schema: TableSchema, for purpose: SurveyPurpose, rows: Int?) -> (any TableSurvey)? {
    // To open another connection takes longer than to look at a few rows in the commit.
    if let rows, rows < 2000 { return nil }
    return
      path != ":memory:" && exists ? TableContent(of: schema, for: purpose, rows: rows, path: path) : nil
  }

  public func pages(of entity: String) async throws -> [KeptPage] {
    try await perform { connection, _ in try Journal.pages(of: entity, in: connection) }
  }

  public func record(_ run: RunRecord, isPatient: Bool) async throws {
    try await perform { connection, _ in
      let limit = connection.busyLimit
      if !isPatient { connection.busyLimit = min(limit, 500) }
      defer { connection.busyLimit = limit }
      try connection.transaction { connection in
        try Journal.create(in: connection)
        try Journal.append(run, in: connection)
      }
    }
  }

  public func state(of entity: String) async throws -> [String: String] {
    if !exists { return [:] }
    return try await perform { connection, _ in try Journal.state(of: entity, in: connection) }
  }

  public func keep(_ state: [String: String], of entity: String) async throws {
    try await perform { connection, _ in
      // With NORMAL a power cut may undo the last commits (sqlite.org/pragma.html#pragma_synchronous).
      try connection.execute("PRAGMA synchronous=FULL")
      defer { try? connection.execute("PRAGMA synchronous=NORMAL") }
      try connection.transaction { connection in
        try Journal.create(in: connection)
        try Journal.set(state, of: entity, in: connection)
      }
    }
  }

  /// In a file of its own beside the database: pages are kept while no transaction is open.
  public func journal(_ request: PageJournalRequest) -> (any PageJournal)? {
    if path == ":memory:" { return nil }
    return PageFile(path: PageFile.path(of: request.entity, beside: Platform.realPath(path)), request)
  }

  public func installationKey() async throws -> String {
    if let known = key.withLock({ $0 }) { return known }
    let found = try await perform { connection, _ in try Journal.installationKey(in: connection) }
    key.withLock { $0 = found }
    return found
  }

  public func runs(of entity: String, limit: Int) async throws -> [RunRecord] {
    if !exists { return [] }
    return try await perform { connection, _ in
      try Journal.runs(of: entity, limit: limit, in: connection)
    }
  }

  public func count(of table: String) async throws -> Int? {
    if !exists { return nil }
    return try await perform { connection, _ in
      guard try connection.hasTable(table) else { return nil }
      return Int(try connection.integer("SELECT count(*) FROM \(quoted(table))") ?? 0)
    }
  }

  public func definition(of schema: TableSchema) -> String { TableDefinition(schema).sql }

  public func rows(
    of schema: TableSchema, columns: [Column], key: [StoredValue]?, _ body: ([StoredValue]) throws -> Void
  ) throws {
    if !exists {
      throw StoreError("there is no table \"\(schema.name)\" in \(location) yet")
    }
    // A connection of its own, so that reading waits for no run: WAL readers see the last commit.
    if path == ":memory:" {
      try connection.withLock { held in
        let connection = try held ?? Connection(path: path, busyLimit: busyLimit)
        held = connection
        try RowReader.read(schema, columns, key: key, in: connection, body)
      }
    } else {
      let connection = try Connection(path: path, busyLimit: busyLimit)
      try RowReader.read(schema, columns, key: key, in: connection, body)
    }
  }
}
