import HTTP
import PostgresStore
import SyncEngine
import Synchronization

/// A worker's part of the shared work, as `PostgresWorkQueue` has it, over sessions that many workers share.
///
/// The locks that say which workers are there are held by one session for all of them.
final class PooledQueue: WorkQueue {
  private let simulation: Simulation
  private let isDeclared = Atomic(false)
  private let id = Mutex<Int64?>(nil)
  private let workers = Atomic(1)

  init(_ simulation: Simulation) { self.simulation = simulation }

  var worker: Int64? { id.withLock { $0 } }

  func renew(holding claims: Set<Claim>) async throws -> Bool {
    let lease = simulation.lease
    if let worker {
      let goesOn = try await simulation.pool.perform { (_: Bool) in
        .renew
      } _: { connection in
        let goesOn = try connection.transaction {
          guard try WorkTables.renew(worker, lease: lease, in: connection) else { return false }
          try WorkTables.giveBack(allOf: worker, besides: claims, in: connection)
          return true
        }
        if goesOn {
          let count = try connection.transaction { try WorkTables.reap(in: connection) }
          self.workers.store(count, ordering: .relaxed)
        }
        return goesOn
      }
      if goesOn { return true }
    }
    let isNew = worker == nil
    let joined = try await simulation.keeper.perform { (_: Int64) in
      nil
    } _: { connection in
      try connection.transaction { try WorkTables.join(as: "simulated", lease: lease, in: connection) }
    }
    id.withLock { $0 = joined }
    return isNew
  }

  func claim(
    _ schedules: [String: Schedule], blockers: [String: Set<String>], limit: Int
  ) async throws -> ClaimedWork {
    guard let worker else { throw StoreError("the worker has not joined") }
    let declares = !isDeclared.exchange(true, ordering: .relaxed)
    var work = try await simulation.pool.perform {
      (work: ClaimedWork) in
      work.claims.isEmpty ? .look : .claim
    } _: { connection in
      if declares { _ = try connection.transaction { try WorkTables.declare(schedules, in: connection) } }
      return try WorkTables.claim(
        schedules, WorkTables.readiness(of: schedules.keys.sorted(), in: connection), blockers: blockers,
        limit: limit, for: worker, in: connection)
    }
    work.rest = WorkTables.rest(among: workers.load(ordering: .relaxed))
    simulation.noteClaims(work.claims)
    return work
  }

  /// Does for a unit what a commit does, but for the rows.
  func settle(_ claim: Claim) async throws {
    let settlement = Settlement(
      claim: claim, isAlone: false, isDisjoint: true,
      slice: claim.unit.isSlice ? SliceRecord(isProven: true, keys: nil) : nil)
    let (schema, isChecking) = (simulation.schema, simulation.isChecking)
    let run = RunRecord(
      run: "\(claim.fence)", entity: claim.unit.name, started: Timestamp.now, finished: Timestamp.now,
      outcome: .proven)
    let cadence = try await simulation.pool.perform { (_: Int) in
      .settle
    } _: { connection in
      let cadence = try connection.transaction {
        try Journal.create(in: connection)
        try WorkTables.begin(settlement, on: [schema], in: connection)
        let cadence =
          isChecking
          ? try connection.integer(
            "SELECT (extract(epoch FROM cadence_at) * 1000000)::bigint FROM syncd_units WHERE entity = $1 AND slice = $2 AND ready_at <= claimed_at",
            .text(claim.unit.entity), .text(claim.unit.slice)) ?? -1 : 0
        try WorkTables.settle(settlement, in: connection)
        try Journal.append(run, in: connection)
        return cadence
      }
      if claim.unit.isSlice { try WorkTables.noteEnd(of: claim.unit.entity, in: connection) }
      return cadence
    }
    simulation.noteSettled(claim, cadence: cadence)
  }

  func leave() async {
    guard let worker else { return }
    _ = try? await simulation.keeper.perform { (_: Bool) in
      nil
    } _: { connection in
      try connection.transaction { try WorkTables.leave(worker, in: connection) }
      return true
    }
  }

  // What a simulated worker does not do.
  func release(_ claim: Claim, wait: Duration?, isFailure: Bool) async throws -> Bool { false }
  func cut(_ claim: Claim, into slices: [String], isOnlyIfNew: Bool) async throws -> (
    added: Int, removed: Int
  ) {
    (0, 0)
  }
  func generation(of entity: String) async throws -> SliceGeneration {
    throw StoreError("a simulated worker closes no generation")
  }
  func slices(of entity: String, _ body: @escaping @Sendable (SliceRecord) -> Void) async throws {}
  func runNow(_ entities: [String]) async throws {}
}
