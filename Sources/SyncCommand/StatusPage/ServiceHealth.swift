/// What `/healthz` and `/readyz` say.
///
/// Healthy is a service whose scheduler turns: restarting one that is not may help. Ready is one whose tables are as fresh
/// as was asked for. An entity's last success may be three intervals and a minute old, where its runs take longer than
/// its interval three times as long as the last of them. After a start the age counts from there, until a run has ended.
struct ServiceHealth {
  static let heartbeatLimit = Duration.seconds(30)

  private let snapshot: ServiceSnapshot
  init(_ snapshot: ServiceSnapshot) { self.snapshot = snapshot }

  /// Why the service is not healthy; nil if it is.
  var problem: String? {
    guard snapshot.heartbeatAge >= Self.heartbeatLimit else { return nil }
    return "the scheduler has not turned for \(Span.text(snapshot.heartbeatAge))"
  }

  /// A line for each entity that is not ready, and why.
  var unready: [String] {
    (problem.map { [$0] } ?? []) + snapshot.entities.compactMap { Self.lateness(of: $0, in: snapshot) }
  }

  /// Why an entity is not ready, such as `book: last success 16 min ago, expected within 6 min: HTTP 502`; nil if it is.
  static func lateness(of entity: EntitySnapshot, in snapshot: ServiceSnapshot) -> String? {
    let limit = limit(of: entity)
    let isFirstRound =
      entity.failures == 0 && entity.totals.runs.allSatisfy { $0.key == "busy" || $0.value == 0 }
    let reference = isFirstRound ? max(entity.lastSuccess ?? 0, snapshot.started) : entity.lastSuccess
    if let reference, Span.between(reference, snapshot.now) <= limit { return nil }
    var text = "\(entity.name): "
    if let last = entity.lastSuccess {
      text += "last success \(Span.text(since: last, at: snapshot.now)), expected within \(Span.text(limit))"
    } else {
      text += "no success yet"
    }
    // One line an entity.
    if let error = entity.lastError?.split(whereSeparator: \.isNewline).first { text += ": \(error)" }
    return text
  }

  private static func limit(of entity: EntitySnapshot) -> Duration {
    let lastCommitted = entity.runs.last { $0.outcome != .failed && $0.outcome != .refused }
    let duration = lastCommitted.map { Span.between($0.started, $0.finished) } ?? .zero
    return max(entity.interval, duration) * 3 + .seconds(60)
  }
}
