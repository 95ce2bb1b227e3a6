import SyncEngine
import Synchronization

/// Work that is shared through tables of a database.
///
/// Units are claimed by `FOR UPDATE SKIP LOCKED` (postgresql.org/docs/15/sql-select.html#SQL-FOR-UPDATE-SHARE). A worker's
/// lease is a row with a time, and an advisory lock of this connection: it ends with either. What a unit was claimed with, a
/// number that only grows, is looked at by the commit.
final class PostgresWorkQueue: WorkQueue {
  private let store: PostgreSQL
  private let name: String
  private let lease: Duration
  private let connection: SideConnection

  private struct State {
    var worker: Int64?
    /// Whether there was one before, whose lease has ended.
    var hasLost = false
    /// The connection that holds its lock.
    var generation = 0
    /// How many workers there are, this one among them.
    var workers = 1
    var schedules: [String: Schedule] = [:]
  }
  private let state = Mutex(State())

  init(of store: PostgreSQL, worker name: String, lease: Duration) {
    (self.store, self.name, self.lease) = (store, name, lease)
    connection = SideConnection(store.place, silence: lease)
  }

  var worker: Int64? { state.withLock(\.worker) }

  func renew(holding claims: Set<Claim>) async throws -> Bool {
    try await connection.perform { connection, generation in
      let (worker, known) = self.state.withLock { ($0.worker, $0.generation) }
      if let worker {
        let goesOn = try connection.transaction {
          // Somebody may have put back a copy of the database that has no such tables.
          guard known == generation, try WorkTables.exist(in: connection),
            try WorkTables.renew(worker, lease: self.lease, in: connection)
          else {
            return false
          }
          try WorkTables.giveBack(allOf: worker, besides: claims, in: connection)
          return true
        }
        if goesOn {
          try self.reap(in: connection)
          return true
        }
        self.state.withLock { $0 = State(hasLost: true) }
      }
      let joined = try connection.transaction {
        try WorkTables.create(in: connection)
        return try WorkTables.join(as: self.name, lease: self.lease, in: connection)
      }
      try connection.belong(to: joined)
      let hasLost = self.state.withLock { state in
        defer { (state.worker, state.generation, state.hasLost) = (joined, generation, false) }
        return state.hasLost
      }
      self.store.worker.withLock { $0 = joined }
      try self.reap(in: connection)
      return !hasLost
    }
  }

  private func reap(in connection: Connection) throws {
    let workers = try connection.transaction { try WorkTables.reap(in: connection) }
    state.withLock { $0.workers = workers }
  }

  func claim(
    _ schedules: [String: Schedule], blockers: [String: Set<String>], limit: Int
  ) async throws -> ClaimedWork {
    try await connection.perform { connection, generation in
      let (worker, known, declared) = self.state.withLock { ($0.worker, $0.generation, $0.schedules) }
      guard let worker, known == generation else { throw StoreError("the connection to the server was lost") }
      func declare() throws {
        let isDone = try connection.transaction { try WorkTables.declare(schedules, in: connection) }
        self.state.withLock { $0.schedules = isDone ? schedules : [:] }
      }
      func look() throws -> [WorkTables.Readiness] {
        try WorkTables.readiness(of: schedules.keys.sorted(), in: connection)
      }
      if declared != schedules { try declare() }
      var found = try look()
      // Somebody may have deleted what there is to do.
      if found.contains(where: { $0.wait == nil && !$0.isHeld }) {
        try declare()
        found = try look()
      }
      var work = try WorkTables.claim(
        schedules, found, blockers: blockers, limit: limit, for: worker, in: connection)
      work.rest = WorkTables.rest(among: self.state.withLock(\.workers))
      return work
    }
  }

  func release(_ claim: Claim, wait: Duration?, isFailure: Bool) async throws -> Bool {
    try await connection.perform { connection, _ in
      try WorkTables.release(claim, wait: wait, isFailure: isFailure, in: connection)
    }
  }

  func cut(
    _ claim: Claim, into slices: [String], isOnlyIfNew: Bool
  ) async throws -> (added: Int, removed: Int) {
    try await connection.perform { connection, _ in
      let cut = try connection.transaction {
        try WorkTables.cut(claim, into: slices, isOnlyIfNew: isOnlyIfNew, in: connection)
      }
      if cut.added >= WorkTables.many { try? WorkTables.analyze(in: connection) }
      return cut
    }
  }

  func generation(of entity: String) async throws -> SliceGeneration {
    try await connection.perform { connection, _ in
      try WorkTables.generation(of: entity, in: connection)
    }
  }

  func slices(of entity: String, _ body: @escaping @Sendable (SliceRecord) -> Void) async throws {
    try await store.perform { connection, _ in
      try WorkTables.slices(of: entity, in: connection, body)
    }
  }

  func runNow(_ entities: [String]) async throws {
    try await connection.perform { connection, _ in try WorkTables.runNow(entities, in: connection) }
  }

  func leave() async {
    guard let worker else { return }
    state.withLock { $0 = State() }
    try? await connection.perform { connection, _ in
      try connection.transaction { try WorkTables.leave(worker, in: connection) }
    }
    connection.close()
  }
}
