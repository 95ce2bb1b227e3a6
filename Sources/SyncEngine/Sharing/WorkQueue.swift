/// The work that several programs share, in the store that they share.
///
/// A program joins as a worker; its lease ends when it says nothing for the lease's time, when its connection ends, or when
/// it leaves. The units that it held then are free, and what it does for them afterwards cannot be committed.
public protocol WorkQueue: AnyObject, Sendable {
  /// The worker's number; nil while it is none.
  var worker: Int64? { get }

  /// Joins, or says that the worker goes on; and ends the leases of workers that are gone.
  ///
  /// - Parameter claims: all that the worker holds; others that it has in the store are given back.
  /// - Returns: false where it had joined and its lease has ended since: it has joined again, and holds nothing.
  /// - Throws: ``StoreError`` while the store cannot be asked.
  func renew(holding claims: Set<Claim>) async throws -> Bool

  /// Claims units that are due, those that have waited longest first.
  ///
  /// - Parameters:
  ///   - schedules: the entities that the worker knows, and when each runs.
  ///   - blockers: entities that wait while units of others are due or under way, and those others.
  ///   - limit: so many at most.
  func claim(
    _ schedules: [String: Schedule], blockers: [String: Set<String>], limit: Int
  ) async throws -> ClaimedWork

  /// Ends a claim without a commit.
  ///
  /// - Parameters:
  ///   - wait: the unit is due again then; nil for its next time of the schedule.
  ///   - isFailure: whether it counts as a failure; one that waits for the schedule is a refusal.
  /// - Returns: false where it was not the worker's any more.
  @discardableResult
  func release(_ claim: Claim, wait: Duration?, isFailure: Bool) async throws -> Bool

  /// Sets the slices that an entity is cut into, and ends the claim of the entity itself.
  ///
  /// - Parameter isOnlyIfNew: whether the claim goes on where no slice is a new one.
  /// - Throws: ``ClaimLost``
  func cut(_ claim: Claim, into slices: [String], isOnlyIfNew: Bool) async throws -> (
    added: Int, removed: Int
  )

  /// What is known of the present generation of an entity's slices.
  func generation(of entity: String) async throws -> SliceGeneration

  /// Calls `body` with what each slice has seen.
  func slices(of entity: String, _ body: @escaping @Sendable (SliceRecord) -> Void) async throws

  /// Makes all units of the entities due.
  func runNow(_ entities: [String]) async throws

  /// Gives back what is held, and leaves.
  func leave() async
}

/// What a worker was given.
public struct ClaimedWork: Sendable {
  public var claims: [Claim]
  /// Until the next unit is due, as far as that is known.
  public var next: Duration?
  /// Whether units were due that others were just claiming.
  public var isContended: Bool
  /// So long the worker leaves it to others to look, if it has nothing to say.
  package var rest = Duration.zero

  package init(claims: [Claim], next: Duration?, isContended: Bool = false) {
    (self.claims, self.next, self.isContended) = (claims, next, isContended)
  }
}

/// The slices of an entity, between two times at which all of them were walked.
public struct SliceGeneration: Sendable, Hashable {
  public var number: Int64
  /// When it began, in milliseconds since 1970.
  public var began: Int64
  public var slices: Int
  /// Slices that were walked and committed since.
  public var done: Int
  /// Those of them whose walk was proven complete.
  public var proven: Int
  /// What runs of the slices have counted since.
  package var sums: RunRecord
  /// Why the first slice is not proven.
  package var firstDoubt: String?

  package init(
    number: Int64, began: Int64, slices: Int, done: Int, proven: Int, sums: RunRecord, firstDoubt: String?
  ) {
    (self.number, self.began, self.slices, self.done) = (number, began, slices, done)
    (self.proven, self.sums, self.firstDoubt) = (proven, sums, firstDoubt)
  }

  var isComplete: Bool { slices > 0 && done == slices }
}

/// Who works on a store, and on what.
public struct SharedWork: Sendable {
  public struct Worker: Sendable, Hashable {
    public var id: Int64
    public var name: String
    /// Milliseconds since 1970.
    public var started: Int64
    public var seen: Int64
    /// Until its lease ends, in milliseconds; negative where it has ended.
    public var left: Int64
    public var units: Int
    package init(id: Int64, name: String, started: Int64, seen: Int64, left: Int64, units: Int) {
      (self.id, self.name, self.started, self.seen) = (id, name, started, seen)
      (self.left, self.units) = (left, units)
    }
  }

  /// The units of one entity.
  public struct Units: Sendable, Hashable {
    public var entity: String
    /// Slices, or 1 where it is not cut.
    public var units: Int
    public var due: Int
    public var running: Int
    public var failing: Int
    public var generation: Int64
    /// Slices that were walked in the generation; nil where it is not cut.
    public var done: Int?
    /// Until the next one is due, in milliseconds; negative where it is late.
    public var next: Int64?
    package init(
      entity: String, units: Int, due: Int, running: Int, failing: Int, generation: Int64, done: Int?,
      next: Int64?
    ) {
      (self.entity, self.units, self.due, self.running) = (entity, units, due, running)
      (self.failing, self.generation, self.done, self.next) = (failing, generation, done, next)
    }
  }

  public struct Lease: Sendable, Hashable {
    public var unit: WorkUnit
    public var worker: String
    public var fence: Int64
    /// Milliseconds since 1970.
    public var since: Int64
    package init(unit: WorkUnit, worker: String, fence: Int64, since: Int64) {
      (self.unit, self.worker, self.fence, self.since) = (unit, worker, fence, since)
    }
  }

  public var workers: [Worker]
  public var units: [Units]
  /// Those that are held longest first, up to a limit.
  public var leases: [Lease]

  package init(workers: [Worker], units: [Units], leases: [Lease]) {
    (self.workers, self.units, self.leases) = (workers, units, leases)
  }
}
