import SyncEngine

extension WorkTables {
  /// Claims as much of what is due as there is room for.
  ///
  /// - Parameters: as ``WorkQueue/claim(_:blockers:limit:)`` has them.
  package static func claim(
    _ schedules: [String: Schedule], _ found: [Readiness], blockers: [String: Set<String>], limit: Int,
    for worker: Int64, in connection: Connection
  ) throws -> ClaimedWork {
    let busy = Set(found.filter { $0.isHeld || $0.wait.map { $0 <= 0 } == true }.map(\.entity))
    var due: [(name: String, schedule: Schedule, wait: Int)] = []
    var next: Int?
    for unit in found {
      guard let wait = unit.wait, let schedule = schedules[unit.entity] else { continue }
      if wait > 0 {
        next = min(next ?? wait, wait)
        continue
      }
      // Who has waited for an interval waits no longer: one of several others may always be under way.
      let isPatient = -wait < schedule.every.milliseconds
      if isPatient, !(blockers[unit.entity] ?? []).isDisjoint(with: busy) { continue }
      due.append((unit.entity, schedule, wait))
    }
    if due.isEmpty || limit < 1 { return ClaimedWork(claims: [], next: next.map { .milliseconds($0) }) }
    let claims = try claim(
      for: worker, due.sorted { ($0.wait, $0.name) < ($1.wait, $1.name) }.map { ($0.name, $0.schedule) },
      limit: limit, in: connection)
    return ClaimedWork(
      claims: claims, next: next.map { .milliseconds($0) }, isContended: claims.isEmpty)
  }
}
