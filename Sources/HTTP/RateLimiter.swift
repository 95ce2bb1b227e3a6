/// The turns of an API's requests among several programs.
public protocol SharedTurns: Sendable {
  /// Takes the next turn.
  ///
  /// - Parameter interval: the time from one turn to the next.
  /// - Returns: the time until it is there.
  func take(every interval: Duration) async throws -> Duration

  /// Nobody has a turn before the time is over.
  func pause(for time: Duration) async
}

/// Bounds the requests of all tasks that share it: how soon one may follow another, how many are under way, and until
/// when there are none because the server said so.
public actor RateLimiter {
  private let interval: Duration
  private let concurrency: Int
  private let clock: WaitingClock
  /// Where the turns are taken; nil where they are this program's alone.
  private let shared: (any SharedTurns)?
  private var next: ContinuousClock.Instant?
  private var pausedUntil: ContinuousClock.Instant?
  private var underWay = 0
  private var waiting: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
  private var lastID = 0

  /// - Parameters:
  ///   - interval: the time from one request's start to the next one's.
  ///   - concurrency: the largest number of requests under way at once, 1 or more: of this program.
  ///   - shared: where turns are taken that several programs share. Without an interval there is nothing to share.
  public init(interval: Duration, concurrency: Int = .max, shared: (any SharedTurns)? = nil) {
    self.init(interval: interval, concurrency: concurrency, shared: shared, clock: .real)
  }

  init(
    interval: Duration, concurrency: Int = .max, shared: (any SharedTurns)? = nil, clock: WaitingClock
  ) {
    (self.interval, self.concurrency, self.clock) = (interval, max(1, concurrency), clock)
    self.shared = interval > .zero ? shared : nil
  }

  /// Returns when it is time for this caller's next request.
  func turn() async throws {
    while true {
      if let pausedUntil, pausedUntil > clock.now() {
        try await clock.sleep(pausedUntil)
        continue
      }
      let mine: ContinuousClock.Instant
      if let shared {
        let wait = try await shared.take(every: interval)
        mine = clock.now() + wait
      } else {
        mine = max(next ?? clock.now(), clock.now())
        next = mine + interval
      }
      if mine > clock.now() { try await clock.sleep(mine) }
      // A pause that was asked for meanwhile holds for this one too, and its place in the row is over then.
      guard let pausedUntil, pausedUntil > clock.now() else { return }
    }
  }

  /// No further request has its turn before the time is over.
  func pause(for time: Duration) async {
    let end = clock.now() + time
    guard pausedUntil.map({ $0 < end }) ?? true else { return }
    pausedUntil = end
    await shared?.pause(for: time)
  }

  /// The request that ``begin()`` allowed is over.
  func done() {
    if waiting.isEmpty {
      underWay -= 1
    } else {
      // The place goes to who has waited longest.
      waiting.removeFirst().continuation.resume()
    }
  }

  /// Returns when there is room for one more request under way; it ends with ``done()``.
  ///
  /// - Throws: `CancellationError` for a task that is cancelled while it waits; it has no room then.
  func begin() async throws {
    try Task.checkCancellation()
    if underWay < concurrency {
      underWay += 1
      return
    }
    lastID += 1
    let id = lastID
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiting.append((id, $0)) }
    } onCancel: {
      Task { await self.giveUp(id) }
    }
  }

  private func giveUp(_ id: Int) {
    guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
    waiting.remove(at: index).continuation.resume(throwing: CancellationError())
  }
}

/// The time, and how to wait for one.
struct WaitingClock: Sendable {
  var now: @Sendable () -> ContinuousClock.Instant
  var sleep: @Sendable (_ until: ContinuousClock.Instant) async throws -> Void

  static let real = WaitingClock(
    now: { .now }, sleep: { try await Task.sleep(until: $0, clock: .continuous) })
}
