import Synchronization

/// When an API that keeps failing is left alone.
public struct BreakerPolicy: Sendable, Hashable {
  /// Requests in a row that failed for good, by their connection or with a 5xx, after which no more are sent.
  public var failures: Int
  /// For how long none is sent at most; then one is tried. The first pause is a sixteenth of it, and each one that ends
  /// with a failure is followed by one twice as long.
  public var pause: Duration

  public init(failures: Int = 5, pause: Duration = .seconds(30)) {
    (self.failures, self.pause) = (max(1, failures), pause)
  }

  /// - Parameter trials: how many requests that were tried have failed.
  func pause(after trials: Int) -> Duration { min(pause, pause / 16 * (1 << min(trials, 4))) }

  public static let none = BreakerPolicy(failures: .max)
}

/// Fails the requests to an API at once while it is known to be down. All clients of the API share it.
public final class CircuitBreaker: Sendable {
  private struct State {
    var failures = 0
    var last = ""
    /// Set while no request is let through.
    var closedUntil: ContinuousClock.Instant?
    /// Requests that tried the API and failed.
    var trials = 0
    /// Whether the one request that tries the API after a pause is under way.
    var isTrying = false
  }

  private let name: String
  private let policy: BreakerPolicy
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  /// - Parameter name: the API's, for messages.
  public convenience init(_ name: String, _ policy: BreakerPolicy) {
    self.init(name, policy) { .now }
  }

  init(_ name: String, _ policy: BreakerPolicy, now: @escaping @Sendable () -> ContinuousClock.Instant) {
    (self.name, self.policy, self.now) = (name, policy, now)
  }

  /// What a request that was let through came to.
  enum Outcome: Equatable {
    case success
    case failure(String)
    /// Cancelled, or failed for a reason that says nothing about the API.
    case unknown
  }

  /// Every request that this lets through is followed by ``record(_:isTrial:)``.
  ///
  /// - Returns: whether the request is the one that tries the API after a pause.
  /// - Throws: ``HTTPError`` of the kind `unavailable`.
  func check() throws(HTTPError) -> Bool {
    let time = now()
    let (isTrial, refusal) = state.withLock { state -> (Bool, String?) in
      guard let end = state.closedUntil else { return (false, nil) }
      if time >= end, !state.isTrying {
        state.isTrying = true
        return (true, nil)
      }
      let left = time < end ? (time.duration(to: end).milliseconds + 999) / 1000 : 0
      let next = left > 0 ? "the next one is tried in \(left) s" : "one is being tried"
      let text =
        "not sent: the last \(state.failures) requests to the API \"\(name)\" failed, and \(next) (last failure: \(state.last))"
      return (false, text)
    }
    if let refusal { throw HTTPError(.unavailable, refusal) }
    return isTrial
  }

  func record(_ outcome: Outcome, isTrial: Bool) {
    let time = now()
    state.withLock { state in
      // What was under way when the requests were stopped does not prolong the pause.
      let isLate = state.closedUntil != nil && !isTrial
      if isTrial { state.isTrying = false }
      switch outcome {
      case .success: state = State()
      case .failure(let reason):
        state.failures += 1
        state.last = reason
        guard !isLate && state.failures >= policy.failures else { return }
        state.closedUntil = time + policy.pause(after: state.trials)
        state.trials += 1
      case .unknown: break
      }
    }
  }
}
