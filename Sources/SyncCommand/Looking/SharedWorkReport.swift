import FoundationEssentials
import SyncEngine

/// Who works on a store, and on what, for `status`.
struct SharedWorkReport {
  private let work: SharedWork
  /// Milliseconds since 1970.
  private let now: Int64

  init(_ work: SharedWork, now: Int64) { (self.work, self.now) = (work, now) }

  /// One table each, with an empty line between them.
  var text: String {
    var tables = [
      TextTable.text(
        ["WORKER", "SINCE", "SEEN", "LEASE", "UNITS"],
        work.workers.map { worker in
          [
            worker.name, StatusCommand.age(now - worker.started), StatusCommand.age(now - worker.seen),
            worker.left > 0 ? "\(span(worker.left)) left" : "over", grouped(worker.units),
          ]
        }, numbers: [4]),
      TextTable.text(
        ["UNITS OF", "UNITS", "DUE", "RUNNING", "FAILING", "GENERATION", "WALKED", "NEXT"],
        work.units.map { units in
          [
            units.entity, grouped(units.units), grouped(units.due), grouped(units.running),
            grouped(units.failing), units.done == nil ? "-" : grouped(Int(units.generation)),
            units.done.map { "\(grouped($0)) of \(grouped(units.units))" } ?? "-", next(units.next),
          ]
        }, numbers: [1, 2, 3, 4, 5, 6]),
    ]
    if !work.leases.isEmpty {
      tables.append(
        TextTable.text(
          ["LEASE", "WORKER", "FENCE", "SINCE"],
          work.leases.map {
            [$0.unit.name, $0.worker, grouped(Int($0.fence)), StatusCommand.age(now - $0.since)]
          }, numbers: [2]))
    }
    return tables.joined(separator: "\n\n")
  }

  /// One JSON object a line.
  var lines: [String] {
    work.workers.map {
      jsonLine(
        WorkerLine(
          worker: $0.name, id: $0.id, started: Timestamp.text($0.started), seen: Timestamp.text($0.seen),
          leaseSeconds: Double($0.left) / 1000, units: $0.units))
    }
      + work.units.map {
        jsonLine(
          UnitsLine(
            unitsOf: $0.entity, units: $0.units, due: $0.due, running: $0.running, failing: $0.failing,
            generation: $0.done == nil ? nil : $0.generation, walked: $0.done,
            nextSeconds: $0.next.map { Double($0) / 1000 }))
      }
      + work.leases.map {
        jsonLine(
          LeaseLine(
            lease: $0.unit.name, worker: $0.worker, fence: $0.fence, since: Timestamp.text($0.since)))
      }
  }

  private struct WorkerLine: Encodable {
    var worker: String
    var id: Int64
    var started, seen: String
    var leaseSeconds: Double
    var units: Int
  }

  private struct UnitsLine: Encodable {
    var unitsOf: String
    var units, due, running, failing: Int
    var generation: Int64?
    var walked: Int?
    var nextSeconds: Double?
  }

  private struct LeaseLine: Encodable {
    var lease, worker: String
    var fence: Int64
    var since: String
  }

  private func next(_ milliseconds: Int64?) -> String {
    guard let milliseconds else { return "-" }
    return milliseconds > 0 ? "in \(span(milliseconds))" : "now"
  }

  private func span(_ milliseconds: Int64) -> String {
    StatusCommand.span(milliseconds)
  }
}
