/// Bounds the requests of all tasks that share it: how soon one may follow another, and how many are under way.
public actor RateLimiter {
  private let interval: Duration
  private let concurrency: Int
  private var next: ContinuousClock.Instant?
  private var underWay = 0
  private var waiting: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
  private var lastID = 0

  /// - Parameters:
  ///   - interval: the time from one request's start to the next one's.
  ///   - concurrency: the largest number of requests under way at once, 1 or more.
  public init(interval: Duration, concurrency: Int = .max) {
    (self.interval, self.concurrency) = (interval, max(1, concurrency))
  }

  /// Returns when it is time for this caller's next request.
  func turn() async throws {
    let now = ContinuousClock.now
    let mine = max(next ?? now, now)
    next = mine + interval
    if mine > now { try await Task.sleep(until: mine, clock: .continuous) }
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
