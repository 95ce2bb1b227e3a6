import CCurl

/// How often and after how long a request is sent again.
///
/// Before retry n (counted from 0) the wait is `base × 2ⁿ` plus 0 to 50 % of it; a wait that the server names in
/// Retry-After is a floor. Retried are failed connections, time limits, and some statuses.
public struct RetryPolicy: Sendable, Hashable {
  /// Retries after the first attempt.
  public var retries: Int
  public var base: Duration
  /// The longest wait a server may ask for by Retry-After; more fails at once. Where the server says by RateLimit fields
  /// that no request is left, the next one waits until the reset, but no longer than this.
  public var longestWait: Duration
  /// Statuses after which a request is sent again: for an API that says in its own way that it is busy, such as by 403.
  public var statuses: Set<Int>

  /// 408, 425, 429 and 500 to 599.
  public static let usualStatuses: Set<Int> = Set([408, 425, 429] + Array(500...599))

  public init(
    retries: Int = 3, base: Duration = .milliseconds(500), longestWait: Duration = .seconds(120),
    statuses: Set<Int> = RetryPolicy.usualStatuses
  ) {
    (self.retries, self.base, self.longestWait) = (retries, base, longestWait)
    self.statuses = statuses
  }

  public static let none = RetryPolicy(retries: 0)

  func isRetried(_ status: Int) -> Bool { statuses.contains(status) }

  func isRetried(_ kind: HTTPError.Kind) -> Bool { kind == .connection || kind == .timeout }

  /// The wait before retry `n`, with `fraction` (0 to 1) of the possible addition.
  func wait(before n: Int, fraction: Double) -> Duration {
    let doubled = base * (1 << min(n, 20))
    return doubled + doubled * (0.5 * fraction)
  }

  /// A Retry-After field (RFC 9110 §10.2.3): seconds, or a date seen from `now` (seconds since 1970). Nil for
  /// anything else.
  static func retryAfter(_ field: String, now: Int) -> Duration? {
    if !field.isEmpty, field.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
      return .seconds(Int(field) ?? Int(Int32.max))
    }
    let date = curl_getdate(field, nil)
    guard date >= 0, field.contains(where: \.isLetter) else { return nil }
    return .seconds(max(0, date - now))
  }
}
