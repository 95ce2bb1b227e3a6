import HTTP
import PostgresStore
import SyncCommand
import SyncEngine
import Synchronization

/// The table that commits would write to.
struct Item: Entity {
  var id: Int64 = 0
  static let table = "growth_item"
  static let source = Source(API("growth", url: "http://127.0.0.1/"), "items", paging: .none)
  static var mapping: Mapping<Item> { Key(\.id) }
}

/// Workers and units, in a schema of their own.
final class Simulation: Sendable {
  static let schemaName = "syncd_growth"

  let pool: Pool
  /// Holds the workers' locks.
  let keeper: Pool
  /// What measures.
  let desk: Connection
  let lease: Duration
  let isChecking: Bool
  let schema: TableSchema

  struct Counts {
    var claimed = 0
    var settled = 0
    var lost = 0
    var failures: [String] = []
    /// Fences and times of the cadence of each unit's runs, in their order, where that is checked.
    var runs: [WorkUnit: [(fence: Int64, cadence: Int)]] = [:]
    var open = 0
  }
  let counts = Mutex(Counts())

  /// - Parameter location: a server, in which the schema is made anew.
  init(_ location: String, pool count: Int, lease: Duration = .seconds(30), isChecking: Bool = false) throws {
    let options = "options=-csearch_path%3D\(Self.schemaName)"
    let place = try Location(location + (location.contains("?") ? "&" : "?") + options)
    self.place = place
    desk = try Connection(place, busyLimit: .seconds(60))
    try desk.execute("DROP SCHEMA IF EXISTS \(Self.schemaName) CASCADE; CREATE SCHEMA \(Self.schemaName)")
    try desk.execute("CREATE TABLE growth_item (id bigint PRIMARY KEY)")
    try desk.transaction { [desk] in try WorkTables.create(in: desk) }
    (self.lease, self.isChecking) = (lease, isChecking)
    schema = try TableSchema(Item.self)
    pool = try Pool(place, count: count)
    keeper = try Pool(place, count: 1)
  }

  private let place: Location

  func connection() throws -> Connection { try Connection(place, busyLimit: .seconds(60)) }

  /// Takes the lock of a worker away, as if its process had ended.
  func endOneWorker() async throws {
    _ = try await keeper.perform { (_: Bool) in
      nil
    } _: { connection in
      try connection.run(
        "SELECT pg_advisory_unlock(id) FROM (SELECT id FROM syncd_workers ORDER BY random() LIMIT 1) AS w")
      return true
    }
  }

  func end() throws { try desk.execute("DROP SCHEMA \(Self.schemaName) CASCADE") }

  static func schedules(_ entities: Int, every: Duration) -> [String: Schedule] {
    Dictionary(uniqueKeysWithValues: (0..<entities).map { ("entity_\($0)", Schedule(every: every)) })
  }

  /// Adds entities, and cuts each into slices as a worker does.
  ///
  /// - Returns: the time that the cutting took.
  func add(_ schedules: [String: Schedule], slices: Int) throws -> Duration {
    let worker = try desk.transaction { [desk] in
      _ = try WorkTables.declare(schedules, in: desk)
      return try WorkTables.join(as: "cutter", lease: .seconds(3600), in: desk)
    }
    var time = Duration.zero
    if slices > 0 {
      let names = (1...slices).map(String.init)
      for _ in schedules {
        let work = try WorkTables.claim(
          schedules, WorkTables.readiness(of: schedules.keys.sorted(), in: desk), blockers: [:], limit: 1,
          for: worker, in: desk)
        for claim in work.claims {
          time += try ContinuousClock().measure {
            _ = try desk.transaction { [desk] in try WorkTables.cut(claim, into: names, in: desk) }
            try WorkTables.analyze(in: desk)
          }
        }
      }
    }
    try desk.transaction { [desk] in try WorkTables.leave(worker, in: desk) }
    return time
  }

  /// Lets workers work for a time, or until `isDone`; then they take nothing more, and end what they have.
  func run(
    workers: Int, schedules: [String: Schedule], for time: Duration, warmUp: Duration = .zero,
    isDone: @escaping @Sendable (Counts) -> Bool = { _ in false }
  ) async throws -> Load {
    counts.withLock { $0 = Counts(runs: $0.runs) }
    return try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<workers {
        // They do not all come at once.
        group.addTask { [lease] in
          try? await Task.sleep(for: lease / 6 * Double(index) / Double(workers) * (warmUp > .zero ? 1 : 0))
          await self.work(schedules)
        }
      }
      try await Task.sleep(for: warmUp)
      pool.timings.clear()
      let before = try Load.Moment(desk, counts.withLock { $0 })
      let start = ContinuousClock.now
      while ContinuousClock.now - start < time, !counts.withLock({ isDone($0) }) {
        try await Task.sleep(for: .milliseconds(time < .seconds(10) ? 20 : 200))
      }
      let load = Load(from: before, to: try Load.Moment(desk, counts.withLock { $0 }), pool.timings)
      isClosing.store(true, ordering: .relaxed)
      while counts.withLock({ $0.open }) > 0 { try await Task.sleep(for: .milliseconds(50)) }
      group.cancelAll()
      try await group.waitForAll()
      isClosing.store(false, ordering: .relaxed)
      return load
    }
  }

  private let isClosing = Atomic(false)

  /// One worker, as `syncd watch` is one, without sources.
  private func work(_ schedules: [String: Schedule]) async {
    if Task.isCancelled { return }
    let queue = PooledQueue(self)
    let (events, told) = AsyncStream.makeStream(of: WorkShare.Event.self)
    let share = WorkShare(queue, schedules, lease: lease, parallel: 4) { told.yield($0) }
    await withDiscardingTaskGroup { group in
      group.addTask {
        await share.run()
        told.finish()
      }
      group.addTask {
        while !self.isClosing.load(ordering: .relaxed),
          (try? await Task.sleep(for: .milliseconds(100))) != nil
        {}
        await share.close()
      }
      for await event in events {
        switch event {
        case .claimed(let claims):
          for claim in claims {
            group.addTask {
              do { try await queue.settle(claim) } catch { self.noteFailure("\(error)") }
              await share.ended(claim)
            }
          }
        case .lost(let reason), .unreachable(let reason): counts.withLock { $0.failures.append(reason) }
        case .reachable: break
        }
      }
    }
  }

  func noteClaims(_ claims: [Claim]) {
    counts.withLock {
      $0.claimed += claims.count
      $0.open += claims.count
    }
  }

  func noteSettled(_ claim: Claim, cadence: Int) {
    counts.withLock {
      $0.settled += 1
      $0.open -= 1
      if isChecking { $0.runs[claim.unit, default: []].append((claim.fence, cadence)) }
    }
  }

  private func noteFailure(_ text: String) {
    counts.withLock {
      $0.open -= 1
      $0.lost += 1
      $0.failures.append(text)
    }
  }
}
