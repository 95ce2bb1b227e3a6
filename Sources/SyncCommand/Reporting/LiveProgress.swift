import SyncEngine
import Synchronization

/// How far runs are, for who looks on: lines that change in place on a terminal, now and then a line of the log elsewhere.
final class LiveProgress: Sendable {
  private struct Run {
    var progress: SyncProgress
    let start: ContinuousClock.Instant
    var lastLine: ContinuousClock.Instant
  }

  private struct State {
    var runs: [Run] = []
    var lastShown: ContinuousClock.Instant?
  }

  private let console: Console
  private let log: Log
  private let state = Mutex(State())

  /// Where nobody sees lines change, a run is worth one after so long, and each time after that.
  static let lineInterval = Duration.seconds(10)

  init(_ console: Console, _ log: Log) { (self.console, self.log) = (console, log) }

  func update(_ progress: SyncProgress) {
    guard log.takes(.info) else { return }
    let now = ContinuousClock.now
    var line: String?
    state.withLock { state in
      let position =
        state.runs.firstIndex { $0.progress.entity == progress.entity }
        ?? {
          state.runs.append(Run(progress: progress, start: now, lastLine: now))
          return state.runs.count - 1
        }()
      state.runs[position].progress = progress
      if console.isErrorTerminal && log.format == .text {
        // Ten times a second is as fast as anyone reads.
        if let last = state.lastShown, now - last < .milliseconds(100) { return }
        state.lastShown = now
        console.show(state.runs.map { Self.text($0, at: now) })
      } else if now - state.runs[position].lastLine >= Self.lineInterval {
        state.runs[position].lastLine = now
        line = Self.text(state.runs[position], at: now)
      }
    }
    if let line { log.write(.info, "under way: \(line)", run: progress.run) }
  }

  func end(_ entity: String) {
    state.withLock { state in
      state.runs.removeAll { $0.progress.entity == entity }
      console.show(state.runs.map { Self.text($0, at: .now) })
    }
  }

  /// `book  12 pages  12,000 of 200,000 records  5.6 MB  24,000/s  8 s left`
  private static func text(_ run: Run, at now: ContinuousClock.Instant) -> String {
    let progress = run.progress
    let seconds = max(0.001, (now - run.start).seconds)
    let rate = Double(progress.records) / seconds
    var parts = [progress.entity, "\(grouped(progress.pages)) \(progress.pages == 1 ? "page" : "pages")"]
    let total = progress.total.map { " of \(grouped($0))" } ?? ""
    parts.append("\(grouped(progress.records))\(total) records")
    parts.append("\(megabytes(progress.bytes)) MB")
    // The first page says nothing of the rate.
    if progress.pages > 1, seconds > 0.5 {
      parts.append("\(grouped(Int(rate)))/s")
      if let total = progress.total, total > progress.records, rate > 0 {
        parts.append("\(time(Double(total - progress.records) / rate)) left")
      }
    }
    return parts.joined(separator: "  ")
  }

  /// In the unit that a person would choose.
  private static func time(_ seconds: Double) -> String {
    if seconds < 90 { return "\(max(1, Int(seconds.rounded()))) s" }
    if seconds < 5400 { return "\(Int((seconds / 60).rounded())) min" }
    return seconds < 360_000 ? "\(Int((seconds / 3600).rounded())) h" : "days"
  }
}

/// `1,234,567`
func grouped(_ number: Int) -> String {
  var out: [Character] = []
  for (index, digit) in String(number).reversed().enumerated() {
    if index > 0, index % 3 == 0, digit != "-" { out.append(",") }
    out.append(digit)
  }
  return String(out.reversed())
}

/// Millions of bytes with one decimal.
func megabytes(_ bytes: Int) -> String { "\(bytes / 1_000_000).\(bytes / 100_000 % 10)" }
