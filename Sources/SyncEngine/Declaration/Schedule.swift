/// When `syncd watch` runs an entity. The configuration can replace each part of it.
///
/// ```swift
/// static let schedule = Schedule(every: .seconds(3600), jitter: .seconds(60), aligned: true)
/// // at 00:00, 01:00, 02:00 … UTC, each up to a minute later
/// ```
public struct Schedule: Sendable, Hashable {
  /// From one run's start to the next one's.
  public var every: Duration
  /// Each run starts later than its time by a random part of this, so that many programs do not ask at once.
  public var jitter: Duration
  /// Whether the times are the multiples of the interval since 1970 in UTC, such as full hours, rather than since the
  /// program started.
  public var isAligned: Bool

  /// - Parameters:
  ///   - every: one millisecond or longer.
  ///   - jitter: at most the interval.
  public init(every: Duration, jitter: Duration = .zero, aligned: Bool = false) {
    (self.every, self.jitter, isAligned) = (every, jitter, aligned)
  }

  /// Why the schedule cannot work.
  package var fault: String? {
    if every < .milliseconds(1) { return "the interval has to be a millisecond or longer" }
    if jitter < .zero || jitter > every { return "the jitter has to be between nothing and the interval" }
    return nil
  }
}
