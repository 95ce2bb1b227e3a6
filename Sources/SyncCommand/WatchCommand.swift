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
  private struct Schedule {
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
    let start = ContinuousClock.now
    var schedules = program.entities.map { entity in
      Schedule(
        entity: entity, interval: program.configuration.every[entity.table] ?? program.configuration.interval,
        due: start)
    }
    while !Task.isCancelled {
      // The earliest; of several that are due at once the first in the order of parents.
      guard let next = schedules.indices.min(by: { schedules[$0].due < schedules[$1].due }) else { break }
      do { try await Task.sleep(until: schedules[next].due, clock: .continuous) } catch { break }
      // A failure is reported; the next interval tries again.
      if await program.sync(schedules[next].entity, reporter) == nil { break }
      schedules[next].advance(after: .now)
    }
    return .done
  }
}
