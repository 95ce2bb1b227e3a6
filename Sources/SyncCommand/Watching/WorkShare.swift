import SyncEngine

/// What this program takes of the work that several share: it joins, says that it goes on, and claims what is due as long as
/// it has room.
package actor WorkShare {
  package enum Event: Sendable {
    case claimed([Claim])
    /// The lease has ended, and with it all claims.
    case lost(String)
    /// The store cannot be asked; said once until it can be again.
    case unreachable(String)
    case reachable
  }

  nonisolated let queue: any WorkQueue
  private let schedules: [String: Schedule]
  private let blockers: [String: Set<String>]
  private let lease: Duration
  private let parallel: Int
  private let tell: @Sendable (Event) -> Void
  /// What is held.
  private var claims: Set<Claim> = []
  private var isClosed = false
  private var isUnreachable = false
  private var renewed = ContinuousClock.now
  /// Whether the worker may have to join again.
  private var isUnsure = true
  /// The pause between two looks; nil while it looks.
  private var pause: Task<Void, Never>?
  /// Whether there is something to look for at once.
  private var hasNews = false

  /// A worker that has nothing to do looks so often: others may have cut an entity into slices.
  private static let idle = Duration.seconds(1)

  package init(
    _ queue: any WorkQueue, _ schedules: [String: Schedule], blockers: [String: Set<String>] = [:],
    lease: Duration, parallel: Int, tell: @escaping @Sendable (Event) -> Void
  ) {
    (self.queue, self.schedules, self.blockers) = (queue, schedules, blockers)
    (self.lease, self.parallel, self.tell) = (lease, parallel, tell)
  }

  init(
    _ queue: any WorkQueue, _ wanted: [Timetable.Wanted], lease: Duration, parallel: Int,
    tell: @escaping @Sendable (Event) -> Void
  ) {
    self.init(
      queue, Dictionary(wanted.map { ($0.name, $0.schedule) }) { first, _ in first },
      blockers: Dictionary(wanted.map { ($0.name, $0.predecessors) }) { first, _ in first },
      lease: lease, parallel: parallel, tell: tell)
  }

  /// Takes part until the task is cancelled. Then it leaves, and others have at once what it holds.
  package func run() async {
    while !Task.isCancelled {
      let wait = await turn()
      if hasNews {
        hasNews = false
        continue
      }
      let pause = Task<Void, Never> { try? await Task.sleep(for: wait) }
      self.pause = pause
      await withTaskCancellationHandler {
        await pause.value
      } onCancel: {
        pause.cancel()
      }
      self.pause = nil
    }
    await queue.leave()
  }

  /// - Returns: when to look again.
  private func turn() async -> Duration {
    let beat = lease / 6
    do {
      if isUnsure || ContinuousClock.now - renewed >= beat {
        // The lease counts from before the store was asked.
        let start = ContinuousClock.now
        let isHeld = try await queue.renew(holding: claims)
        (renewed, isUnsure) = (start, false)
        if !isHeld { lose("the lease of this worker ended") }
      }
      if isUnreachable {
        isUnreachable = false
        tell(.reachable)
      }
      var next = Self.idle
      let room = parallel - claims.count
      if !isClosed, room > 0 {
        let work = try await queue.claim(schedules, blockers: blockers, limit: room)
        if !work.claims.isEmpty {
          claims.formUnion(work.claims)
          tell(.claimed(work.claims))
        }
        if let due = work.next { next = min(next, due) }
        // Rows that others hold for a moment are looked at again soon.
        if work.claims.count < room, work.isContended { next = min(next, .milliseconds(50)) }
        next = max(next, work.rest)
      }
      return max(.milliseconds(5), min(next, beat))
    } catch {
      isUnsure = true
      if !isUnreachable {
        isUnreachable = true
        tell(.unreachable("\(error)"))
      }
      // Others may have the units when the lease is over.
      if ContinuousClock.now - renewed >= lease {
        lose("the store could not be asked for as long as the lease is")
      }
      return min(beat, Self.idle)
    }
  }

  private func lose(_ reason: String) {
    guard !claims.isEmpty else { return }
    claims = []
    tell(.lost(reason))
  }

  /// A claim has ended, and there is room for another one.
  package func ended(_ claim: Claim) {
    claims.remove(claim)
    look()
  }

  private func look() { if let pause { pause.cancel() } else { hasNews = true } }

  /// Takes nothing more.
  package func close() { isClosed = true }

  func runNow() async throws {
    try await queue.runNow(Array(schedules.keys))
    look()
  }
}
