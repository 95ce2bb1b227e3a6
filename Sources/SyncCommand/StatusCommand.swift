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
    let statuses: [(table: String, last: RunRecord?, rows: Int?)]
    do { statuses = try await program.store.status(of: program.entities.map { $0.table }) } catch {
      program.console.complain("\(error)")
      return .failed
    }
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    if program.configuration.logFormat == .json {
      for (table, last, rows) in statuses {
        program.console.write(
          jsonLine(
            Line(
              entity: table, rows: rows, outcome: last?.outcome.rawValue ?? "never",
              finished: last.map {
                Date(timeIntervalSince1970: Double($0.finished / 1000)).formatted(.iso8601)
              },
              reason: last?.reason, inserted: last?.inserted, updated: last?.updated,
              unchanged: last?.unchanged,
              deleted: last?.deleted)))
      }
      return .done
    }
    program.console.write(
      TextTable.text(
        ["ENTITY", "ROWS", "LAST RUN", "OUTCOME", "INSERTED", "UPDATED", "UNCHANGED", "DELETED", "REASON"],
        statuses.map { row($0.table, $0.last, rows: $0.rows, now: now) }, numbers: [1, 4, 5, 6, 7]))
    return .done
  }

  private func row(_ table: String, _ last: RunRecord?, rows: Int?, now: Int64) -> [String] {
    let count = rows.map(grouped) ?? "-"
    guard let last else { return [table, count, "never", "-", "-", "-", "-", "-", ""] }
    let reason = last.reason?.split(separator: "\n").first.map(String.init) ?? ""
    return [
      table, count, age(now - last.finished), last.outcome.rawValue, grouped(last.inserted),
      grouped(last.updated),
      grouped(last.unchanged), grouped(last.deleted), reason,
    ]
  }

  /// `12 s ago`, in the largest unit that is not zero.
  private func age(_ milliseconds: Int64) -> String {
    let seconds = max(0, milliseconds / 1000)
    let units: [(Int64, String)] = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")]
    let (size, name) = units.first { seconds >= $0.0 } ?? (1, "s")
    return "\(seconds / size) \(name) ago"
  }
}
