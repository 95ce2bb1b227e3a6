import SyncEngine

/// Instants on the page, in UTC as in the log.
enum ClockTime {
  /// `<time datetime="2026-02-02T01:01:01.001Z">01:01:01 UTC</time>`, with the day, and
  /// without seconds, where that is not today.
  static func add(_ instant: Int64, at now: Int64, to html: inout HTMLText) {
    let (text, today) = (utc(instant), utc(now).prefix(10))
    let (day, time) = (text.prefix(10), text.dropFirst(11).prefix(8))
    html.add(markup: "<time datetime=\"")
    html.add(text)
    html.add(markup: "\">")
    html.add(day == today ? "\(time) UTC" : "\(day) \(time.prefix(5)) UTC")
    html.add(markup: "</time>")
  }

  private static func utc(_ instant: Int64) -> String {
    Timestamp.text(min(max(instant, Timestamp.range.lowerBound), Timestamp.range.upperBound))
  }
}
