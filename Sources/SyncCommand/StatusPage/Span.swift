import SyncEngine

/// Lengths of time as a person says them.
enum Span {
  /// From one instant to another, milliseconds since 1970; zero where a clock was set back.
  static func between(_ start: Int64, _ end: Int64) -> Duration { .milliseconds(max(0, end - start)) }

  /// `250 ms`, `1.4 s`, `12 s`, `5 min`, `3 h`, `2 d`: in the largest unit that is not zero.
  static func text(_ span: Duration) -> String {
    let milliseconds = span.components.seconds * 1000 + span.components.attoseconds / 1_000_000_000_000_000
    let seconds = milliseconds / 1000
    switch seconds {
    case ..<1: return "\(milliseconds) ms"
    case ..<10 where milliseconds % 1000 >= 100: return "\(seconds).\(milliseconds % 1000 / 100) s"
    case ..<120: return "\(seconds) s"
    case ..<7200: return "\(seconds / 60) min"
    case ..<172_800: return "\(seconds / 3600) h"
    default: return "\(seconds / 86_400) d"
    }
  }

  /// The same without a loss: `90 s`, `5 min`, `1 h`, in the largest unit that goes into it.
  static func exact(_ span: Duration) -> String {
    let (seconds, fraction) = span.components
    if fraction != 0 || seconds == 0 { return text(span) }
    let units: [(Int64, String)] = [(86_400, "d"), (3600, "h"), (60, "min")]
    let (size, name) = units.first { seconds % $0.0 == 0 } ?? (1, "s")
    return "\(seconds / size) \(name)"
  }

  /// `12 s ago`
  static func text(since instant: Int64, at now: Int64) -> String {
    let age = between(instant, now)
    return age < .seconds(1) ? "just now" : "\(text(.seconds(age.components.seconds))) ago"
  }

  /// `in 12 s`, or `now` for what is due.
  static func text(until instant: Int64, at now: Int64) -> String {
    let rest = between(now, instant)
    return rest < .seconds(1) ? "now" : "in \(text(.seconds(rest.components.seconds)))"
  }
}

extension Duration {
  /// With a fraction.
  var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
