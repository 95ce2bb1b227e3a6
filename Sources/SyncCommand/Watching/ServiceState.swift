import FoundationEssentials
import HTTP
import SyncEngine
import Synchronization

/// What the service is doing, gathered from its loop and its runs, for who asks.
final class ServiceState: Sendable {
  private struct State {
    var snapshot: ServiceSnapshot
    var turned = ContinuousClock.now
    /// Units of an entity that are under way here.
    var units: [String: Int] = [:]
    /// Entities of which it is known what earlier processes did, and how many rows there are.
    var loaded: Set<String> = []
  }

  private let state: Mutex<State>

  /// Runs that are shown of an entity.
  static let runsKept = 60

  init(version: String) {
    let now = Timetable.Moment.now.wall
    state = Mutex(
      State(
        snapshot: ServiceSnapshot(
          program: programName, version: version, store: "", now: now, started: now, heartbeatAge: .zero,
          entities: [])))
  }

  var snapshot: ServiceSnapshot {
    state.withLock { state in
      var snapshot = state.snapshot
      snapshot.now = Timetable.Moment.now.wall
      snapshot.heartbeatAge = ContinuousClock.now - state.turned
      return snapshot
    }
  }

  // MARK: What the loop says

  func set(_ program: Program) {
    state.withLock { state in
      state.snapshot.store = program.store.location
      state.snapshot.entities = program.entities.map { entity in
        let known = state.snapshot.entities.first { $0.name == entity.name }
        var snapshot =
          known
          ?? EntitySnapshot(
            name: entity.name, table: entity.table, api: entity.source.api.name, interval: .zero)
        snapshot.interval = program.configuration.schedule(of: entity).schedule.every
        return snapshot
      }
    }
  }

  func turned(_ timetable: Timetable, _ alerts: AlertSender.Counts) {
    let now = Timetable.Moment.now
    state.withLock { state in
      state.turned = now.instant
      state.snapshot.alerts = ServiceSnapshot.AlertCounts(
        sent: alerts.sent, failed: alerts.failed, dropped: alerts.dropped)
      for entry in timetable.entries {
        guard let index = state.snapshot.entities.firstIndex(where: { $0.name == entry.name }) else {
          continue
        }
        state.snapshot.entities[index].nextRun =
          entry.isRunning ? nil : now.wall + Int64((entry.due - now.instant).milliseconds)
      }
    }
  }

  /// `5 entities, 1 failing: book`
  var summary: String {
    state.withLock { state in
      let entities = state.snapshot.entities
      let failing = entities.filter { $0.failures > 0 }.map(\.name)
      return "\(entities.count) \(entities.count == 1 ? "entity" : "entities"), "
        + (failing.isEmpty ? "none failing" : "\(failing.count) failing: \(failing.joined(separator: ", "))")
    }
  }

  // MARK: What runs say

  func began(_ name: String) {
    let count = state.withLock { state in
      state.units[name, default: 0] += 1
      return state.units[name] ?? 0
    }
    if count == 1 { change(name) { $0.running = EntitySnapshot.Running(started: Timetable.Moment.now.wall) } }
  }

  func progress(_ progress: SyncProgress) {
    guard progress.retry == nil else { return }
    change(progress.entity) { entity in
      entity.running?.pages = progress.pages
      entity.running?.records = progress.records
      entity.running?.bytes = progress.bytes
      entity.running?.total = progress.total
    }
  }

  /// - Parameter result: nil for a run that was given up.
  func ended(_ name: String, _ result: RunResult?) { ended(WorkUnit(entity: name), isSum: false, result) }

  /// The same for a unit of shared work. What a slice did counts for its entity.
  ///
  /// - Parameter isSum: whether the result counts what slices have counted already.
  func ended(_ unit: WorkUnit, isSum: Bool, _ result: RunResult?) {
    let left = state.withLock { state in
      state.units[unit.entity, default: 1] -= 1
      return state.units[unit.entity] ?? 0
    }
    change(unit.entity) { entity in
      if left == 0 { entity.running = nil }
      guard let result else { return }
      entity.totals.runs[result.outcome, default: 0] += 1
      if let record = result.record {
        entity.add(record, isCommitted: result.status == .done, isSum: isSum)
      }
      switch result {
      case .committed(let report):
        (entity.failures, entity.lastError, entity.lastSuccess) = (0, nil, report.record.finished)
        // The first run makes the table.
        entity.rows = max(0, (entity.rows ?? 0) + (isSum ? 0 : report.inserted) - report.deleted)
      case .failed(let error):
        entity.failures += 1
        entity.lastError = error.message
      }
    }
  }

  private func change(_ name: String, _ body: (inout EntitySnapshot) -> Void) {
    state.withLock { state in
      guard let index = state.snapshot.entities.firstIndex(where: { $0.name == name }) else { return }
      body(&state.snapshot.entities[index])
    }
  }

  // MARK: What the store knows

  /// Rows are counted again before the next run: others may write to the tables too.
  func recount() { state.withLock { $0.loaded = [] } }

  /// Reads what earlier processes did and how many rows there are, if that is not known. Called before a run, while nothing
  /// here changes the table; what cannot be read is left to the next run.
  func load(_ entity: any Entity.Type, _ store: any Store) async {
    guard !state.withLock({ $0.loaded.contains(entity.name) }),
      let runs = try? await store.runs(of: entity.name, limit: Self.runsKept),
      let rows = try? await store.count(of: entity.table)
    else { return }
    state.withLock { _ = $0.loaded.insert(entity.name) }
    change(entity.name) { $0.take(runs.reversed(), rows: rows) }
  }
}

extension EntitySnapshot {
  fileprivate mutating func add(_ record: RunRecord, isCommitted: Bool, isSum: Bool) {
    runs.append(record)
    if runs.count > ServiceState.runsKept { runs.removeFirst() }
    if isSum {
      totals.deleted += isCommitted ? record.deleted : 0
      return
    }
    let seconds = Double(max(0, record.finished - record.started)) / 1000
    totals.seconds += seconds
    totals.durations[Self.durationBounds.firstIndex { seconds <= $0 } ?? Self.durationBounds.count] += 1
    totals.pages += record.pages
    totals.bytes += record.bytes
    totals.records += record.records
    guard isCommitted else { return }
    totals.inserted += record.inserted
    totals.updated += record.updated
    totals.unchanged += record.unchanged
    totals.deleted += record.deleted
    totals.duplicates += record.duplicates
    totals.rejected += record.rejected
  }

  /// Puts what the store has in front of what this process has seen, which the store may have too.
  fileprivate mutating func take(_ earlier: [RunRecord], rows: Int?) {
    let own = Set(runs.map(\.run))
    runs = Array((earlier.filter { !own.contains($0.run) } + runs).suffix(ServiceState.runsKept))
    self.rows = rows
    let good: Set<RunRecord.Outcome> = [.proven, .unproven, .incremental]
    if lastSuccess == nil { lastSuccess = runs.last { good.contains($0.outcome) }?.finished }
  }
}
