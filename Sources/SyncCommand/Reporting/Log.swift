import FoundationEssentials
import SyncEngine

/// What a program says of its work, one line for each event, in the chosen format: results on standard output, the rest on
/// standard error, or all of it in the journal.
final class Log: Sendable {
  let level: LogLevel
  let format: Configuration.LogFormat
  private let tracesPages: Bool
  private let console: Console
  /// Lines carry their time, for a service's log.
  private let isTimed: Bool

  /// Nil where lines go elsewhere, or no journal listens.
  private let socket: JournalSocket?

  /// Values that belong to a line, by name.
  typealias Fields = [(String, String)]

  init(_ console: Console, _ configuration: Configuration, isTimed: Bool) {
    (self.console, self.isTimed) = (console, isTimed)
    (level, format) = (configuration.logLevel, configuration.logFormat)
    tracesPages = configuration.tracesPages
    socket = format == .journal ? JournalSocket() : nil
  }

  func takes(_ level: LogLevel) -> Bool { level <= self.level || level == .trace && tracesPages }

  // MARK: Lines

  /// Something worth a line that is no run's result.
  func write(_ level: LogLevel, _ message: String, entity: String? = nil, run: String? = nil) {
    guard takes(level) else { return }
    switch format {
    case .text:
      console.complain(
        stamp + (entity.map { "\($0): " } ?? "") + message + Self.suffix(run), isError: level <= .warning)
    case .json:
      console.note(
        jsonLine(Line(time: Self.now, level: level.rawValue, entity: entity, run: run, message: message)))
    case .journal:
      journal(level, (entity.map { "\($0): " } ?? "") + message, entity: entity, run: run)
    }
  }

  /// The line of a run.
  ///
  /// - Parameter text: what a person reads.
  func write(_ level: LogLevel, _ result: RunResult, _ text: String) {
    guard takes(level) else { return }
    let run = result.record?.run
    switch format {
    case .text:
      let line = stamp + text + Self.suffix(run)
      if case .committed = result { console.write(line) } else { console.complain(line) }
    case .json:
      console.write(jsonLine(RunLine(result, level: level, time: Self.now)))
    case .journal:
      journal(level, text, entity: result.entity, run: run, Self.fields(result))
    }
  }

  private struct Line: Encodable {
    var time: String
    var level: String
    var entity: String?
    var run: String?
    var message: String
  }

  private static func suffix(_ run: String?) -> String { run.map { " run=\($0)" } ?? "" }

  private var stamp: String { isTimed ? Self.now + " " : "" }

  /// To the second, in UTC.
  static var now: String {
    Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down)).formatted(.iso8601)
  }

  // MARK: The journal

  private func journal(
    _ level: LogLevel, _ message: String, entity: String?, run: String?, _ more: Fields = []
  ) {
    var fields: Fields = [("SYSLOG_IDENTIFIER", programName)]
    if let entity { fields.append(("SYNCD_ENTITY", entity)) }
    if let run { fields.append(("SYNCD_RUN", run)) }
    let text = message + Self.suffix(run)
    if let socket, socket.send(priority: level.priority, message: text, fields: fields + more) { return }
    // Who keeps the lines of a service's standard error reads the level from their front (sd-daemon(3)).
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      console.note("<\(level.priority)>\(line)")
    }
  }

  private static func fields(_ result: RunResult) -> Fields {
    var fields: Fields = [("SYNCD_OUTCOME", result.outcome)]
    if case .committed(let report) = result {
      let record = report.record
      fields += [
        ("SYNCD_PAGES", "\(record.pages)"), ("SYNCD_RECORDS", "\(record.records)"),
        ("SYNCD_INSERTED", "\(record.inserted)"), ("SYNCD_UPDATED", "\(record.updated)"),
        ("SYNCD_UNCHANGED", "\(record.unchanged)"), ("SYNCD_DELETED", "\(record.deleted)"),
        ("SYNCD_SECONDS", "\((report.duration.seconds * 1000).rounded() / 1000)"),
      ]
    }
    return fields
  }
}
