import FoundationEssentials
import SyncEngine

/// `status`: what the store knows of the last runs.
struct StatusCommand {
  private let program: Program

  init(_ program: Program) { self.program = program }

  private struct Line: Encodable {
    var entity: String
    var rows: Int?
    var outcome: String
    var finished: String?
    var reason: String?
    var inserted, updated, unchanged, deleted: Int?
  }

  func run() async -> ExitStatus {
    do {
      if program.showsRuns {
        try await showRuns()
      } else {
        try await showLast()
        try await showSharedWork()
      }
      return .done
    } catch {
      program.console.complain("\(error)")
      return .failed
    }
  }

  private func showLast() async throws {
    var statuses: [(name: String, last: RunRecord?, rows: Int?)] = []
    for entity in program.entities {
      statuses.append(
        (
          entity.name, try await program.store.runs(of: entity.name, limit: 1).first,
          try await program.store.count(of: entity.table)
        ))
    }
    if program.configuration.logFormat == .json {
      for (name, last, rows) in statuses { program.console.write(json(name, last, rows: rows)) }
      return
    }
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    program.console.write(
      TextTable.text(
        ["ENTITY", "ROWS", "LAST RUN", "OUTCOME", "INSERTED", "UPDATED", "UNCHANGED", "DELETED", "REASON"],
        statuses.map { row($0.name, $0.last, rows: $0.rows, now: now) }, numbers: [1, 4, 5, 6, 7]))
  }

  /// Who shares the work, where anybody does.
  private func showSharedWork() async throws {
    guard let work = try await program.store.sharedWork(leases: program.limit), !work.units.isEmpty else {
      return
    }
    let report = SharedWorkReport(work, now: Int64(Date().timeIntervalSince1970 * 1000))
    if program.configuration.logFormat == .json {
      for line in report.lines { program.console.write(line) }
    } else {
      program.console.write("\n" + report.text)
    }
  }

  private func showRuns() async throws {
    var rows: [[String]] = []
    for entity in program.entities {
      for run in try await program.store.runs(of: entity.name, limit: program.limit) {
        if program.configuration.logFormat == .json {
          program.console.write(json(entity.name, run, rows: run.rowsInScope))
          continue
        }
        rows.append([
          entity.name, Timestamp.text(run.started), "\((run.finished - run.started)) ms",
          run.outcome.rawValue,
          grouped(run.pages), grouped(run.records), grouped(run.inserted), grouped(run.updated),
          grouped(run.unchanged), grouped(run.deleted), firstLine(run.reason),
        ])
      }
    }
    if rows.isEmpty { return }
    program.console.write(
      TextTable.text(
        [
          "ENTITY", "STARTED", "TIME", "OUTCOME", "PAGES", "RECORDS", "INSERTED", "UPDATED", "UNCHANGED",
          "DELETED", "REASON",
        ], rows, numbers: [2, 4, 5, 6, 7, 8, 9]))
  }

  private func json(_ name: String, _ run: RunRecord?, rows: Int?) -> String {
    jsonLine(
      Line(
        entity: name, rows: rows, outcome: run?.outcome.rawValue ?? "never",
        finished: run.map { Date(timeIntervalSince1970: Double($0.finished / 1000)).formatted(.iso8601) },
        reason: run?.reason, inserted: run?.inserted, updated: run?.updated, unchanged: run?.unchanged,
        deleted: run?.deleted))
  }

  private func firstLine(_ reason: String?) -> String {
    reason?.split(separator: "\n").first.map(String.init) ?? ""
  }

  private func row(_ table: String, _ last: RunRecord?, rows: Int?, now: Int64) -> [String] {
    let count = rows.map(grouped) ?? "-"
    guard let last else { return [table, count, "never", "-", "-", "-", "-", "-", ""] }
    return [
      table, count, Self.age(now - last.finished), last.outcome.rawValue, grouped(last.inserted),
      grouped(last.updated),
      grouped(last.unchanged), grouped(last.deleted), firstLine(last.reason),
    ]
  }

  /// `12 s ago`, in the largest unit that is not zero.
  static func age(_ milliseconds: Int64) -> String { "\(span(milliseconds)) ago" }

  static func span(_ milliseconds: Int64) -> String {
    let seconds = max(0, milliseconds / 1000)
    let units: [(Int64, String)] = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")]
    let (size, name) = units.first { seconds >= $0.0 } ?? (1, "s")
    return "\(seconds / size) \(name)"
  }
}
