import Dispatch
import HTTP
import SyncEngine
import Synchronization

/// Keeps rows in a PostgreSQL database, or in one that speaks its protocol.
///
/// ```swift
/// let store = try PostgreSQL.open("postgresql://sync@db.example.com/library?sslmode=verify-full")
/// let engine = Engine(store: store)
/// try await engine.sync(Book.self)
/// ```
///
/// The location is libpq's (postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING): what it does not say comes from
/// `PGHOST`, `PGSSLMODE`, `PGSERVICE`, a password file and the like. Tables are looked for, and made, where the
/// connection's `search_path` says: `?options=-csearch_path%3Dlibrary`.
public final class PostgreSQL: Store {
  public static let schemes = ["postgresql", "postgres"]

  let place: Location
  public var location: String { place.description }
  /// All writing, and the reading that belongs to a run, happens here, off the threads that tasks run on.
  private let queue = DispatchQueue(label: "syncd.postgresql")
  private let busyLimit: Duration

  private struct HeldLease {
    var generation: Int
    /// Runs that hold it together; one where it is not shared.
    var holders = 1
    var isShared: Bool
  }

  private struct Session {
    var connection: Connection?
    /// Counts the connections that were made: a right that belongs to one of them ends with it.
    var generation = 0
    /// The rights to tables that are held, by their keys, and the connection that holds each.
    var leases: [Int64: HeldLease] = [:]
  }
  private let session = Mutex(Session())
  /// Whose connections these are, where work is shared: they end with the worker.
  let worker = Mutex<Int64?>(nil)
  /// Connections for reading, which wait to be used.
  private let readers = Mutex<[Connection]>([])
  /// What is read beside the runs: a process must not end under it, since TLS has no threads to spare at its exit.
  private let surveys = DispatchGroup()

  /// What all APIs' turns are taken by.
  private let turnConnection: SideConnection

  private init(_ place: Location, busyLimit: Duration) {
    (self.place, self.busyLimit) = (place, busyLimit)
    turnConnection = SideConnection(place, silence: .seconds(30))
  }

  /// Opens a store; the first use connects.
  ///
  /// - Throws: `StoreError` for a location that libpq does not understand.
  public static func open(_ location: String, options: StoreOptions) throws -> PostgreSQL {
    PostgreSQL(try Location(location), busyLimit: options.busyLimit)
  }

  public var exists: Bool {
    get async throws { try await perform { connection, _ in try Journal.exists(in: connection) } }
  }

  // MARK: Connections

  /// Runs `body` with the connection, on the store's own thread.
  func perform<R: Sendable>(
    _ body: @escaping @Sendable (Connection, Cancellation) throws -> R
  ) async throws -> R {
    let cancellation = Cancellation()
    let interruption = Interruption()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        queue.async {
          continuation.resume(
            with: Result {
              try cancellation.check()
              return try self.withConnection(cancellation) { connection in
                interruption.begin(connection.canceller)
                defer { interruption.end() }
                return try body(connection, cancellation)
              }
            })
        }
      }
    } onCancel: {
      cancellation.cancel()
      interruption.interrupt()
    }
  }

  /// Runs `body`, which needs no connection, beside the store's own thread.
  func detached<R: Sendable>(_ body: @escaping @Sendable (Cancellation) throws -> R) async throws -> R {
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
    let connection = try session.withLock { session in
      // The server may have ended an idle session: that is no fault of this run.
      if let connection = session.connection, connection.isAlive { return connection }
      let connection = try Connection(place, busyLimit: busyLimit, cancellation)
      session.generation += 1
      session.connection = connection
      return connection
    }
    connection.watch(cancellation)
    defer { connection.watch(nil) }
    do {
      try connection.belong(to: worker.withLock { $0 })
      return try body(connection)
    } catch let error as PostgresError { throw error.asStoreError }
  }

  /// Runs `body` with a connection that no run writes by.
  private func withReader<R>(_ body: (Connection) throws -> R) throws -> R {
    let waiting = readers.withLock { $0.popLast() }
    let reader = try waiting.flatMap { $0.isAlive ? $0 : nil } ?? Connection(place, busyLimit: busyLimit)
    defer { if !reader.isLost { readers.withLock { $0.append(reader) } } }
    do {
      try reader.belong(to: worker.withLock { $0 })
      return try body(reader)
    } catch let error as PostgresError { throw error.asStoreError }
  }

  public func close() async {
    await withCheckedContinuation { continuation in
      surveys.notify(queue: queue) {
        self.session.withLock { $0.connection = nil }
        self.readers.withLock { $0 = [] }
        self.turnConnection.close()
        continuation.resume()
      }
    }
  }

  // MARK: Leases

  /// A session's advisory lock: it ends with the connection, however the process ends
  /// (postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS).
  private final class TableLease: Lease {
    private let store: PostgreSQL
    private let key: Int64
    private let generation: Int
    private let isShared: Bool
    private let isHeld = Mutex(true)

    init(_ key: Int64, _ generation: Int, isShared: Bool, of store: PostgreSQL) {
      (self.key, self.generation, self.isShared, self.store) = (key, generation, isShared, store)
    }
    deinit { end() }

    func end() {
      let wasHeld = isHeld.withLock { held in
        defer { held = false }
        return held
      }
      if wasHeld { store.release(key, generation, isShared: isShared) }
    }
  }

  public func lease(table: String, isShared: Bool, wait: Duration) async throws -> any Lease {
    let deadline = ContinuousClock.now + wait
    while true {
      let held = try await perform { connection, _ in
        try self.acquire(table, isShared: isShared, by: connection)
      }
      if let (key, generation) = held {
        return TableLease(key, generation, isShared: isShared, of: self)
      }
      if ContinuousClock.now >= deadline { throw LeaseTimeout(table: table, wait: wait) }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  /// Nil where another run holds the table.
  private func acquire(_ table: String, isShared: Bool, by connection: Connection) throws -> (Int64, Int)? {
    let key = try key(of: table, connection)
    // A session may take a lock twice: of this store's own runs only one may hold it, also where its connection is lost and
    // it does not know yet.
    let generation = session.withLock { session in
      guard let held = session.leases[key] else { return Int?(session.generation) }
      return held.isShared && isShared && held.generation == session.generation ? session.generation : nil
    }
    guard let generation else { return nil }
    let suffix = isShared ? "_shared" : ""
    guard try connection.text("SELECT pg_try_advisory_lock\(suffix)($1)", .integer(key)) == "t" else {
      return nil
    }
    session.withLock { session in
      if session.leases[key] == nil {
        session.leases[key] = HeldLease(generation: generation, isShared: isShared)
      } else {
        session.leases[key]?.holders += 1
      }
    }
    return (key, generation)
  }

  private func release(_ key: Int64, _ generation: Int, isShared: Bool) {
    queue.async {
      let connection = self.session.withLock { session in
        if let held = session.leases[key], held.generation == generation {
          session.leases[key]?.holders -= 1
          if held.holders == 1 { session.leases[key] = nil }
        }
        return session.generation == generation ? session.connection : nil
      }
      // A session that took it several times has it until it gave it back as often.
      _ = try? connection?.run("SELECT pg_advisory_unlock\(isShared ? "_shared" : "")($1)", [.integer(key)])
    }
  }

  /// The key of a table's lock: of its schema and name, whatever search path leads there.
  func key(of table: String, _ connection: Connection) throws -> Int64 {
    try Self.key(ofTable: table, connection)
  }

  static func key(ofTable table: String, _ connection: Connection) throws -> Int64 {
    let schema = try connection.text(
      "SELECT coalesce((SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)), current_schema())",
      .text(quoted(table)))
    guard let schema else {
      throw StoreError(
        "no schema of the search path is there: \(try connection.text("SHOW search_path") ?? ""); create it first (CREATE SCHEMA …)"
      )
    }
    return key(of: "\(schema).\(table)")
  }

  /// FNV-1a of a name. Two tables with one key would only wait for each other.
  static func key(of name: String) -> Int64 {
    Int64(bitPattern: FNV1a.hash(name.utf8))
  }

  /// - Throws: `StoreError` where the connection that held a right to a table is gone: another run may have it now.
  private func demandLeases(_ commits: [Commit], _ connection: Connection) throws {
    for commit in commits {
      for table in [commit.rows.schema] + commit.nested.map(\.rows.schema) {
        let key = try key(of: table.name, connection)
        let (held, generation) = session.withLock { ($0.leases[key], $0.generation) }
        guard let held else { continue }
        guard held.generation == generation else {
          throw StoreError(
            "the connection to the server was lost during the run, and with it the right to the table \"\(table.name)\"; nothing was written"
          )
        }
        let isLocked = try connection.text(
          "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted AND objsubid = 1 AND (classid::bigint << 32) | objid::bigint = $1",
          .integer(key))
        guard isLocked != nil else {
          throw StoreError(
            "the server does not hold this session's lock on the table \"\(table.name)\": a pooler may give each transaction another session; connect to the server itself, or to a pool of sessions; nothing was written"
          )
        }
      }
    }
  }

  // MARK: Runs

  public func textRule() async throws -> TextRule? {
    try await perform { connection, _ in
      let encoding = ServerEncoding(of: connection)
      return TextRule { encoding.fault(of: $0, $1) }
    }
  }

  public func check(_ schema: TableSchema) async throws {
    try await perform { connection, _ in try TableDifference(of: schema, in: connection).demandFit() }
  }

  public func differences(from schema: TableSchema) async throws -> [String] {
    try await perform { connection, _ in
      let difference = try TableDifference(of: schema, in: connection)
      // In a table that someone else made, what is not declared is theirs.
      guard difference.isMade else { return difference.faults }
      return difference.faults + difference.deviations
        + difference.extra.map {
          "the column \"\($0.name)\" is not declared (it stays, unless --drop-columns is given)"
        }
    }
  }

  public func rebuild(_ schemas: [TableSchema], droppingColumns: Bool) async throws -> [Rebuild] {
    try await perform { connection, _ in
      try TableRebuild.run(schemas, droppingColumns: droppingColumns, in: connection)
    }
  }

  public func rejects(of tables: [String]) async throws -> [Reject] {
    try await perform { connection, _ in try Journal.rejects(of: tables, in: connection) }
  }

  public func survey(_ schema: TableSchema, for purpose: SurveyPurpose, rows: Int?) -> (any TableSurvey)? {
    guard case .rows = purpose else { return nil }
    return TableDigests(of: schema, in: surveys) { body in try self.withReader(body) }
  }

  public func commit(_ commits: [Commit]) async throws -> [Committed] {
    for commit in commits {
      guard let survey = commit.survey else { continue }
      await withTaskCancellationHandler {
        await survey.finish()
      } onCancel: {
        survey.end()
      }
    }
    let outcome = Mutex<[Committed]?>(nil)
    do {
      return try await perform { connection, cancellation in
        try self.demandLeases(commits, connection)
        let done = try CommitWriter.write(commits, cancellation, to: connection) { done in
          outcome.withLock { $0 = done }
          return done
        }
        self.noteEnds(commits, connection)
        return done
      }
    } catch {
      // All was done but for the answer to COMMIT: whether it was carried out is to be seen in the run's record.
      guard let unsure = (error as? FailedCommit)?.error as? UnsureCommit, let done = outcome.withLock({ $0 })
      else { throw error }
      let runs = done.map(\.run.run)
      let isThere: Bool
      do {
        isThere = try await perform { connection, _ in
          let isThere =
            try connection.integer("SELECT count(*) FROM syncd_runs WHERE run = $1", .text(runs.first ?? ""))
            ?? 0 > 0
          if isThere { self.noteEnds(commits, connection) }
          return isThere
        }
      } catch {
        throw StoreError("\(unsure); it is not known whether the run was committed, since \(error)")
      }
      if isThere { return done }
      throw FailedCommit(position: 0, error: StoreError(unsure.description))
    }
  }

  /// Slices are committed, whatever becomes of what follows from it.
  private func noteEnds(_ commits: [Commit], _ connection: Connection) {
    for settlement in commits.compactMap(\.settlement) where settlement.slice != nil {
      try? WorkTables.noteEnd(of: settlement.claim.unit.entity, in: connection)
    }
  }

  public func rows(
    of schema: TableSchema, columns: [Column], after commits: [Commit]
  ) async throws -> [[StoredValue]] {
    try await perform { connection, cancellation in
      var rows: [[StoredValue]] = []
      try CommitWriter.write(commits, cancellation, isUndone: true, to: connection) { _ in
        try RowReader.read(schema, columns, key: nil, in: connection) { rows.append($0) }
      }
      return rows
    }
  }

  public func countUnseen(
    _ seen: KeyIndex, scope: DeletionScope?, in schema: TableSchema
  ) async throws -> (unseen: Int, rows: Int) {
    try await perform { connection, cancellation in
      try self.withUnseen(seen, scope, schema, connection, cancellation) { ($0.count, $0.rowsInScope) } ?? (
        0, 0
      )
    }
  }

  public func unseen(
    _ seen: KeyIndex, scope: DeletionScope?, in schema: TableSchema
  ) async throws -> [[StoredValue]] {
    try await perform { connection, cancellation in
      try self.withUnseen(seen, scope, schema, connection, cancellation) { gone in
        var keys: [[StoredValue]] = []
        try gone.forEachKey(in: connection) { keys.append($0) }
        return keys
      } ?? []
    }
  }

  /// Nil where there is no table.
  private func withUnseen<R>(
    _ seen: KeyIndex, _ scope: DeletionScope?, _ schema: TableSchema, _ connection: Connection,
    _ cancellation: Cancellation, _ body: (GoneRows) throws -> R
  ) throws -> R? {
    guard try connection.text("SELECT to_regclass($1)", .text(quoted(schema.name))) != nil else { return nil }
    return try connection.transaction(isUndone: true) {
      try body(
        Transaction(in: connection, cancellation).noteUnseen(
          seen, kept: nil, scope: scope, in: schema, surveyed: nil))
    }
  }

  public func pages(of entity: String) async throws -> [KeptPage] {
    try await perform { connection, _ in try Journal.pages(of: entity, in: connection) }
  }

  public func record(_ run: RunRecord, isPatient: Bool) async throws {
    try await perform { connection, _ in
      try connection.transaction {
        if !isPatient { try connection.execute("SET LOCAL lock_timeout = 500") }
        try Journal.create(in: connection)
        try Journal.append(run, in: connection)
      }
    }
  }

  public func state(of entity: String) async throws -> [String: String] {
    try await perform { connection, _ in try Journal.state(of: entity, in: connection) }
  }

  public func keep(_ state: [String: String], of entity: String) async throws {
    try await perform { connection, _ in
      try connection.transaction {
        try Journal.create(in: connection)
        try Journal.set(state, of: entity, in: connection)
      }
    }
  }

  public func journal(_ request: PageJournalRequest) async -> (any PageJournal)? {
    let (place, busyLimit) = (place, busyLimit)
    return try? await perform { connection, _ in
      let worker = self.worker.withLock { $0 }
      return try PageTable(request, connection) {
        let connection = try Connection(place, busyLimit: busyLimit)
        try connection.belong(to: worker)
        return connection
      }
    }
  }

  public func installationKey() async throws -> String {
    try await perform { connection, _ in try Journal.installationKey(in: connection) }
  }

  public func runs(of entity: String, limit: Int) async throws -> [RunRecord] {
    try await perform { connection, _ in try Journal.runs(of: entity, limit: limit, in: connection) }
  }

  public func count(of table: String) async throws -> Int? {
    try await perform { connection, _ in
      guard try connection.text("SELECT to_regclass($1)", .text(quoted(table))) != nil else { return nil }
      return try connection.integer("SELECT count(*) FROM \(quoted(table))")
    }
  }

  // MARK: Shared work

  public func workQueue(worker name: String, lease: Duration) -> (any WorkQueue)? {
    PostgresWorkQueue(of: self, worker: name, lease: lease)
  }

  public func sharedWork(leases limit: Int) async throws -> SharedWork? {
    try await perform { connection, _ in try WorkTables.look(leases: limit, in: connection) }
  }

  public func turns(of api: String) -> (any SharedTurns)? { PostgresTurns(of: api, turnConnection) }

  public func definition(of schema: TableSchema) -> String { TableDefinition(schema).sql }

  public func rows(
    of schema: TableSchema, columns: [Column], key: [StoredValue]?, _ body: ([StoredValue]) throws -> Void
  ) throws {
    try withReader { try RowReader.read(schema, columns, key: key, in: $0, body) }
  }
}
