import FoundationEssentials
import SyncEngine
import Synchronization

/// Tells a person or a log how runs go: progress while they do, one line when they end.
final class RunReporter: Sendable {
  private let console: Console
  private let format: Configuration.LogFormat
  private let isQuiet: Bool
  private let traces: Bool
  /// Lines carry their time, for a service's log.
  private let isTimed: Bool
  /// On a terminal the results of `once` are shown as one table at the end.
  private let collectsTable: Bool
  private let rows = Mutex<[[String]]>([])
  private let lastShown = Mutex<ContinuousClock.Instant?>(nil)

  init(_ program: Program, isTimed: Bool) {
    console = program.console
    format = program.configuration.logFormat
    isQuiet = program.configuration.isQuiet
    traces = program.traces
    self.isTimed = isTimed
    collectsTable = !isTimed && console.isOutputTerminal && format == .text && !isQuiet
  }

  // MARK: Progress

  func progress(_ progress: SyncProgress) {
    if let retry = progress.retry {
      if !isQuiet { console.complain("\(progress.entity): \(retry)") }
      return
    }
    if traces, let step = progress.step { console.complain(step.line(of: progress.entity)) }
    guard !isQuiet else { return }
    // Ten times a second is as fast as anyone reads.
    let isDue = lastShown.withLock { last in
      let now = ContinuousClock.now
      if let last, now - last < .milliseconds(100) { return false }
      last = now
      return true
    }
    guard isDue else { return }
    console.show(
      "\(progress.entity)  page \(progress.pages)  \(grouped(progress.records)) records  \(megabytes(progress.bytes)) MB"
    )
  }

  // MARK: Results

  func succeeded(_ report: SyncReport) {
    console.show("")
    let record = report.record
    switch format {
    case .json:
      console.write(json(report))
    case .text:
      if collectsTable {
        rows.withLock {
          $0.append([
            record.entity, grouped(record.records), grouped(record.inserted), grouped(record.updated),
            grouped(record.unchanged), grouped(record.deleted), report.duration.readable,
            note(record, report.assets),
          ])
        }
      } else if !isQuiet {
        console.write(stamp() + line(report))
      } else if let assets = report.assets, assets.failed > 0 {
        console.complain("\(stamp())\(record.entity): \(note(assets))")
      }
    }
  }

  func failed(_ error: SyncError) {
    console.show("")
    let status =
      switch error.kind {
      case .failed: "failed"
      case .refused: "refused"
      case .busy: "busy"
      }
    switch format {
    case .json:
      console.write(
        jsonLine(Line(time: Self.now(), entity: error.entity, outcome: status, message: error.message)))
    case .text:
      let advice =
        switch error.kind {
        case .busy: " (--wait says how long to wait)"
        case .refused: error.deletions.map { " (if it is meant: once --allow-deletes \($0))" } ?? ""
        case .failed: ""
        }
      console.complain(stamp() + error.description + advice)
      if collectsTable {
        rows.withLock { $0.append([error.entity] + Array(repeating: "", count: 6) + [status]) }
      }
    }
  }

  /// Ends the report of `once`.
  func finish() {
    console.show("")
    let rows = rows.withLock { $0 }
    guard !rows.isEmpty else { return }
    console.write(
      TextTable.text(
        ["ENTITY", "RECORDS", "INSERTED", "UPDATED", "UNCHANGED", "DELETED", "TIME", "NOTE"], rows,
        numbers: [1, 2, 3, 4, 5, 6]))
  }

  private func line(_ report: SyncReport) -> String {
    let record = report.record
    var text =
      "\(record.entity): \(record.records) records, \(record.inserted) inserted, \(record.updated) updated, \(record.unchanged) unchanged, \(record.deleted) deleted"
    text += " (\(record.pages) \(record.pages == 1 ? "page" : "pages")"
    if report.pagesNotModified > 0 { text += ", \(report.pagesNotModified) not modified" }
    text += ", \(report.duration.readable))"
    let note = note(record, report.assets)
    return note.isEmpty ? text : "\(text); \(note)"
  }

  /// `12 downloads, 1 failed (http://…: HTTP 404)`
  private func note(_ assets: AssetReport) -> String {
    if assets == AssetReport() { return "" }
    var text = "\(assets.fetched) \(assets.fetched == 1 ? "download" : "downloads")"
    if assets.unchanged > 0 { text += ", \(assets.unchanged) unchanged" }
    if assets.failed > 0 { text += ", \(assets.failed) failed (\(assets.failure ?? ""))" }
    return text
  }

  private func note(_ record: RunRecord, _ assets: AssetReport?) -> String {
    [note(record), assets.map(note) ?? ""].filter { !$0.isEmpty }.joined(separator: "; ")
  }

  private func note(_ record: RunRecord) -> String {
    var parts: [String] = []
    if record.duplicates > 0 { parts.append("\(record.duplicates) duplicates") }
    if record.rejected > 0 { parts.append("\(record.rejected) skipped") }
    if let reason = record.reason { parts.append("not proven complete, so nothing was deleted: \(reason)") }
    return parts.joined(separator: ", ")
  }

  private func stamp() -> String { isTimed ? Self.now() + " " : "" }

  private static func now() -> String {
    Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down)).formatted(.iso8601)
  }

  // MARK: JSON lines

  private struct Line: Encodable {
    var time: String
    var entity: String
    var outcome: String
    var run: String?
    var message: String?
    var pages, notModified, records, bytes, inserted, updated, unchanged, deleted, duplicates, skipped: Int?
    var downloads, failedDownloads: Int?
    var downloadFailure: String?
    var seconds: Double?
  }

  private func json(_ report: SyncReport) -> String {
    let record = report.record
    var line = Line(
      time: Self.now(), entity: record.entity, outcome: record.outcome.rawValue, run: record.run,
      message: record.reason)
    (line.pages, line.records, line.bytes) = (record.pages, record.records, record.bytes)
    line.notModified = report.pagesNotModified
    (line.inserted, line.updated, line.unchanged) = (record.inserted, record.updated, record.unchanged)
    (line.deleted, line.duplicates, line.skipped) = (record.deleted, record.duplicates, record.rejected)
    line.seconds = seconds(report.duration)
    if let assets = report.assets {
      (line.downloads, line.failedDownloads) = (assets.fetched, assets.failed)
      line.downloadFailure = assets.failure
    }
    return jsonLine(line)
  }

  private func seconds(_ duration: Duration) -> Double {
    (Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18 * 1000).rounded()
      / 1000
  }
}

/// One value as one line of JSON, keys in order.
func jsonLine(_ value: some Encodable) -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
}

/// A text as JSON.
func jsonText(_ text: String) -> String { jsonLine(text) }

extension StoredValue {
  /// The value as JSON: numbers where they are exact, text for what has a text form, JSON columns as they are.
  func json(as type: ColumnType) -> String {
    switch (self, type) {
    case (.null, _): "null"
    case (.integer(let value), .boolean): value == 0 ? "false" : "true"
    case (.integer(let value), .integer): String(value)
    case (.real(let value), _) where value.isFinite: jsonLine(value)
    case (.text(let value), .json): value
    default: text(as: type).map(jsonText) ?? "null"
    }
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
