import SyncEngine
import Synchronization

/// Tells a person or a log how runs go: progress while they do, one line when they end.
final class RunReporter: Sendable {
  let log: Log
  private let console: Console
  private let live: LiveProgress
  /// On a terminal the results of `once` are shown as one table at the end.
  private let collectsTable: Bool
  private let rows = Mutex<[[String]]>([])

  init(_ program: Program, isTimed: Bool) {
    console = program.console
    log = Log(console, program.configuration, isTimed: isTimed)
    live = LiveProgress(console, log)
    collectsTable = !isTimed && console.isOutputTerminal && log.format == .text && log.takes(.info)
  }

  // MARK: Progress

  func progress(_ progress: SyncProgress) {
    if let retry = progress.retry {
      log.write(.warning, retry, entity: progress.entity, run: progress.run)
      return
    }
    if log.takes(.trace), let step = progress.step {
      log.write(.trace, step.line, entity: progress.entity, run: progress.run)
    }
    live.update(progress)
  }

  /// A run that nothing is said of any more.
  func dismiss(_ entity: String) { live.end(entity) }

  // MARK: Results

  func ended(_ result: RunResult) {
    live.end(result.entity)
    switch result {
    case .committed(let report): succeeded(report)
    case .failed(let error): failed(error)
    }
  }

  private func succeeded(_ report: SyncReport) {
    let record = report.record
    if collectsTable {
      rows.withLock {
        $0.append([
          record.entity, grouped(record.records), grouped(record.inserted), grouped(record.updated),
          grouped(record.unchanged), grouped(record.deleted), report.duration.readable,
          note(record, report.assets),
        ])
      }
    } else {
      log.write(.info, .committed(report), line(report))
    }
    if !log.takes(.info), let assets = report.assets, assets.failed > 0 {
      log.write(.warning, note(assets), entity: record.entity, run: record.run)
    }
  }

  private func failed(_ error: SyncError) {
    let advice =
      switch error.kind {
      case .busy: " (--wait says how long to wait)"
      case .refused: error.deletions.map { " (if it is meant: once --allow-deletes \($0))" } ?? ""
      case .failed: ""
      }
    log.write(error.kind == .failed ? .error : .warning, .failed(error), error.description + advice)
    if collectsTable {
      rows.withLock {
        $0.append([error.entity] + Array(repeating: "", count: 6) + [RunResult.failed(error).outcome])
      }
    }
  }

  /// Ends the report of `once`.
  func finish() {
    console.show([])
    let rows = rows.withLock { $0 }
    guard !rows.isEmpty else { return }
    let table = TextTable.text(
      ["ENTITY", "RECORDS", "INSERTED", "UPDATED", "UNCHANGED", "DELETED", "TIME", "NOTE"], rows,
      numbers: [1, 2, 3, 4, 5, 6])
    console.write(
      table.split(separator: "\n").map { line in
        line.hasSuffix(" failed") || line.hasSuffix(" refused")
          ? Colour.red(String(line), console.coloursOutput) : String(line)
      }.joined(separator: "\n"))
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
}
