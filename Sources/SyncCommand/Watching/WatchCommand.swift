import SyncEngine

/// `watch`: each entity on its interval, until stopped.
struct WatchCommand {
  private let program: Program
  private let reporter: RunReporter

  init(_ program: Program) {
    self.program = program
    reporter = RunReporter(program, isTimed: true)
  }

  /// When an entity runs: at its start plus whole intervals, by a clock that nobody sets.
  private struct Schedule: Sendable {
    let entity: any Entity.Type
    let interval: Duration
    var due: ContinuousClock.Instant

    /// The next time of the cadence that is still to come: what a long run missed is not made up for.
    mutating func advance(after now: ContinuousClock.Instant) {
      let missed = max(0, Int((now - due) / interval))
      due += interval * (missed + 1)
    }
  }

  func run() async -> ExitStatus {
    // The first round goes in order, so that a child finds its parents' rows.
    var schedules: [Schedule] = []
    for entity in program.entities {
      let interval = program.configuration.every[entity.name] ?? program.configuration.interval
      var schedule = Schedule(entity: entity, interval: interval, due: .now)
      // A failure is reported; the next interval tries again.
      guard await program.sync(entity, reporter) != nil else { return .done }
      schedule.advance(after: .now)
      schedules.append(schedule)
    }
    // From then on each entity keeps its own time, whatever the others wait for.
    await withTaskGroup(of: Void.self) { group in
      for schedule in schedules { group.addTask { await repeatRuns(schedule) } }
    }
    return .done
  }

  private func repeatRuns(_ schedule: Schedule) async {
    var schedule = schedule
    while !Task.isCancelled {
      do { try await Task.sleep(until: schedule.due, clock: .continuous) } catch { return }
      guard await program.sync(schedule.entity, reporter) != nil else { return }
      schedule.advance(after: .now)
    }
  }
}
