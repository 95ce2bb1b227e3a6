/// Spaces the requests of all tasks that share it.
public actor RateLimiter {
  private let interval: Duration
  private var next: ContinuousClock.Instant?

  /// - Parameter interval: the time from one request's start to the next one's.
  public init(interval: Duration) { self.interval = interval }

  /// Returns when it is this caller's turn.
  func turn() async throws {
    let now = ContinuousClock.now
    let mine = max(next ?? now, now)
    next = mine + interval
    if mine > now { try await Task.sleep(until: mine, clock: .continuous) }
  }
}
