import Dispatch
import FoundationEssentials
import SyncEngine
import Synchronization

/// `watch`: each entity on its schedule, until stopped.
///
/// One loop hears of everything that happens and alone decides what starts; runs are tasks beside it.
struct WatchCommand: Sendable {
  private enum Event: Sendable {
    /// Something may be due.
    case tick
    /// Nil for a run that was given up.
    case ended(String, generation: Int, RunResult?)
    /// Of work that is shared.
    case share(WorkShare.Event, generation: Int)
    case unitEnded(Claim, generation: Int, UnitEnd)
    case reload
    /// What the new configuration says; then what else it needs is looked for.
    case read(Program)
    case reloaded(Result<Program, any Error>)
    case syncNow
  }

  private let program: Program
  private let version: String
  /// Reads the configuration anew.
  private let again: @Sendable () throws -> Program
  private let events: AsyncStream<Event>
  private let tell: AsyncStream<Event>.Continuation

  /// The loop turns at least so often, so that others can see that it does.
  static let heartbeat = Duration.seconds(5)

  /// The store is kept well so often, whoever does it.
  static let maintenance = Duration.seconds(3600)

  /// Rows are counted so often, for the status page; between these times they follow from what runs say.
  static let recount = Duration.seconds(86_400)

  init(_ program: Program, version: String, again: @escaping @Sendable () throws -> Program) {
    (self.program, self.version, self.again) = (program, version, again)
    (events, tell) = AsyncStream.makeStream()
  }

  /// SIGHUP
  @Sendable func reload() { tell.yield(.reload) }
  /// SIGUSR1
  @Sendable func syncNow() { tell.yield(.syncNow) }

  /// A configuration that holds, or held while runs that have not ended began.
  private struct Generation {
    let number: Int
    let program: Program
    let reporter: RunReporter
    /// What it takes of the work that is shared; nil where it does all by itself.
    let share: WorkShare?
    var running = 0
    /// Claimed units that are under way.
    var units: [Claim: Task<UnitEnd, Never>] = [:]
    /// Takes part in the work; it leaves when it is cancelled.
    var sharing: Task<Void, Never>?

    var isIdle: Bool { running == 0 && units.isEmpty }
    /// What it decides itself when to do.
    var ownWork: [Timetable.Wanted] { share == nil ? WatchCommand.wanted(program) : [] }

    /// - Throws: `UsageError` for a store that cannot be shared.
    init(
      number: Int, _ program: Program, tell: @escaping @Sendable (WorkShare.Event) -> Void
    ) throws {
      (self.number, self.program) = (number, program)
      reporter = RunReporter(program, isTimed: true)
      share = try program.workQueue().map {
        WorkShare(
          $0, WatchCommand.wanted(program), lease: program.configuration.lease,
          parallel: program.configuration.parallel, tell: tell)
      }
    }
  }

  private func generation(_ number: Int, _ program: Program) throws -> Generation {
    try Generation(number: number, program) { [tell] in tell.yield(.share($0, generation: number)) }
  }

  func run() async -> ExitStatus {
    let manager = ServiceManager(environment: Program.environment())
    let state = ServiceState(version: version)
    let site = WatchSite(state)
    let first: Generation
    do {
      first = try generation(0, program)
      try await program.configuration.alerts.check()
      try site.set(program)
    } catch let error as UsageError {
      program.console.complain("\(error)")
      return .usage
    } catch {
      // A port that is taken, or an address that is not there yet: another try may go well.
      program.console.complain("\(error)")
      return .failed
    }
    defer { site.stop() }
    await loop(first, manager, state, site)
    program.console.show([])
    return .done
  }

  private func loop(
    _ first: Generation, _ manager: ServiceManager, _ state: ServiceState, _ site: WatchSite
  ) async {
    var current = first
    var retired: [Generation] = []
    var timetable = Timetable(at: .now, parallel: program.configuration.parallel)
    timetable.set(current.ownWork, parallel: program.configuration.parallel, at: .now)
    var alerts = WatchAlerts(program, current.reporter.log)
    state.set(program)
    current.reporter.log.write(
      .info,
      "\(programName) \(version) watches \(program.entities.count) \(program.entities.count == 1 ? "entity" : "entities")\(first.share == nil ? "" : " with others"), store \(program.store.location)"
    )
    manager.ready()
    let heartbeat = min(Self.heartbeat, manager.watchdogInterval ?? Self.heartbeat)
    var beat: ContinuousClock.Instant?
    // The first time a minute after the start, when the first runs are done.
    var counted = ContinuousClock.now
    var maintained = ContinuousClock.now - Self.maintenance + .seconds(60)

    await withDiscardingTaskGroup { group in
      var timer: Task<Void, Never>?
      var (isReloading, isWantedAgain) = (false, false)
      func finishReload() {
        isReloading = false
        // A file that changed meanwhile is read once more.
        if isWantedAgain { tell.yield(.reload) } else { manager.ready() }
        isWantedAgain = false
      }
      /// A generation, by its number; its place among those that are over, or nil for the current one.
      func change(_ number: Int, _ body: (inout Generation) -> Void) {
        if number == current.number {
          body(&current)
        } else if let index = retired.firstIndex(where: { $0.number == number }) {
          body(&retired[index])
        }
      }
      func entities(of number: Int) -> [any Entity.Type] {
        ([current] + retired).first { $0.number == number }?.program.entities ?? []
      }
      func takePart() {
        guard let share = current.share else { return }
        let task = Task { await share.run() }
        current.sharing = task
        group.addTask {
          await withTaskCancellationHandler {
            await task.value
          } onCancel: {
            task.cancel()
          }
        }
      }
      takePart()
      tell.yield(.tick)
      for await event in events {
        let now = Timetable.Moment.now
        let log = current.reporter.log
        switch event {
        case .tick: break
        case .ended(let name, let number, let result):
          state.ended(name, result)
          if let result {
            note(result, &timetable, current.reporter, at: now)
            alerts.note(result)
          } else {
            timetable.end(name, .other, at: now)
          }
          change(number) { $0.running -= 1 }
        case .share(.claimed(let claims), let number):
          change(number) { generation in
            for claim in claims { start(claim, in: &generation, &group, state, site) }
          }
        case .share(.lost(let reason), let number):
          change(number) { generation in
            if !generation.units.isEmpty {
              log.write(
                .warning,
                "\(reason): \(generation.units.count) \(generation.units.count == 1 ? "run was" : "runs were") given up, which others may do now"
              )
            }
            for unit in generation.units.values { unit.cancel() }
          }
        case .share(.unreachable(let reason), _):
          log.write(.error, "nothing can be claimed: \(reason)")
        case .share(.reachable, _):
          log.write(.info, "units are claimed again")
        case .unitEnded(let claim, let number, let end):
          let isCut = entities(of: number).first { $0.name == claim.unit.entity }?.source.slices != nil
          state.ended(claim.unit, isSum: isCut && !claim.unit.isSlice, end.result)
          if let result = end.result, end.isOwn { alerts.note(result, claim, at: now.instant) }
          change(number) { generation in
            generation.units[claim] = nil
            let share = generation.share
            group.addTask { await share?.ended(claim) }
          }
        case .reload:
          if isReloading {
            isWantedAgain = true
          } else {
            isReloading = true
            manager.reloading()
            // It may wait for commands that print secrets: on a thread that nobody else needs.
            DispatchQueue(label: "configuration").async { [again, tell] in
              do { tell.yield(.read(try again())) } catch { tell.yield(.reloaded(.failure(error))) }
            }
          }
        case .read(let program):
          group.addTask { [tell] in
            do {
              try await program.configuration.alerts.check()
              tell.yield(.reloaded(.success(program)))
            } catch { tell.yield(.reloaded(.failure(error))) }
          }
        case .reloaded(.failure(let error)):
          log.write(.error, "the configuration stays as it was: \(error)")
          finishReload()
        case .reloaded(.success(let program)):
          let next: Generation
          do { next = try generation(current.number + 1, program) } catch {
            tell.yield(.reloaded(.failure(error)))
            break
          }
          let share = current.share
          group.addTask { await share?.close() }
          retired.append(current)
          current = next
          takePart()
          timetable.set(current.ownWork, parallel: program.configuration.parallel, at: now)
          let old = alerts.set(program, current.reporter.log)
          group.addTask {
            await withTaskCancellationHandler {
              await old.finish(within: .seconds(60))
            } onCancel: {
              old.giveUp()
            }
          }
          state.set(program)
          do { try site.set(program) } catch { log.write(.error, "\(error)") }
          current.reporter.log.write(.info, "the configuration was read again")
          finishReload()
        case .syncNow:
          log.write(.info, "asked to sync now")
          timetable.runNow(at: now)
          if let share = current.share {
            group.addTask {
              do { try await share.runNow() } catch { log.write(.error, "\(error)") }
            }
          }
        }
        for index in retired.indices.reversed() where retired[index].isIdle {
          let old = retired.remove(at: index)
          old.sharing?.cancel()
          group.addTask {
            await old.sharing?.value
            await old.program.store.close()
          }
        }

        for name in timetable.start(at: now) {
          guard let entity = current.program.entities.first(where: { $0.name == name }) else { continue }
          current.running += 1
          let (program, reporter, number) = (current.program, current.reporter, current.number)
          state.began(name)
          group.addTask { [tell] in
            if site.isOpen { await state.load(entity, program.store) }
            let result = await program.sync(entity, reporter) { state.progress($0) }
            // Here, so that a run has its line that ends when the program does.
            if let result { reporter.ended(result) }
            tell.yield(.ended(name, generation: number, result))
          }
        }
        state.turned(timetable, alerts.counts)
        if now.instant - maintained >= Self.maintenance {
          maintained = now.instant
          // Other workers write to the tables too.
          if current.share != nil || now.instant - counted >= Self.recount {
            counted = now.instant
            state.recount()
          }
          group.addTask { [program = current.program] in await program.maintain(every: Self.maintenance, log)
          }
        }
        if beat.map({ now.instant - $0 >= heartbeat / 2 }) ?? true {
          beat = now.instant
          manager.status(state.summary)
          if manager.watchdogInterval != nil { manager.watchdog() }
        }
        timer?.cancel()
        let wake = min(timetable.next(after: now) ?? now.instant + heartbeat, now.instant + heartbeat)
        timer = Task { [tell] in
          guard (try? await Task.sleep(until: wake, clock: .continuous)) != nil else { return }
          tell.yield(.tick)
        }
      }
      manager.stopping()
      timer?.cancel()
      await alerts.finish()
    }
    for generation in retired + [current] { await generation.program.store.close() }
  }

  private func start(
    _ claim: Claim, in generation: inout Generation, _ group: inout DiscardingTaskGroup,
    _ state: ServiceState,
    _ site: WatchSite
  ) {
    let (program, reporter, number) = (generation.program, generation.reporter, generation.number)
    guard let queue = generation.share?.queue,
      let entity = program.entities.first(where: { $0.name == claim.unit.entity })
    else { return }
    state.began(claim.unit.entity)
    let run = Task {
      if site.isOpen { await state.load(entity, program.store) }
      let end = await program.run(claim, of: entity, in: queue, reporter) { progress in
        if !claim.unit.isSlice { state.progress(progress) }
      }
      if let result = end.result { reporter.ended(result) }
      return end
    }
    generation.units[claim] = run
    group.addTask { [tell] in
      let end = await withTaskCancellationHandler {
        await run.value
      } onCancel: {
        run.cancel()
      }
      tell.yield(.unitEnded(claim, generation: number, end))
    }
  }

  private func note(
    _ result: RunResult, _ timetable: inout Timetable, _ reporter: RunReporter, at now: Timetable.Moment
  ) {
    let end: Timetable.End =
      switch result {
      case .committed: .success
      case .failed(let error): error.kind == .failed ? .failure : .other
      }
    if timetable.end(result.entity, end, at: now) {
      reporter.log.write(
        .info, "recovered; what else failed is tried at once", entity: result.entity, run: result.record?.run)
    }
    if end == .failure, let entry = timetable.entries.first(where: { $0.name == result.entity }) {
      reporter.log.write(
        .debug, "\(entry.failures) in a row; tried again in \((entry.due - now.instant).readable)",
        entity: result.entity, run: result.record?.run)
    }
  }

  /// Parents and what is referred to come before what needs them; of entities that need each other the first one.
  fileprivate static func wanted(_ program: Program) -> [Timetable.Wanted] {
    var before: Set<String> = []
    return program.entities.map { entity in
      defer { before.insert(entity.name) }
      return Timetable.Wanted(
        name: entity.name, schedule: program.configuration.schedule(of: entity).schedule,
        predecessors: program.engine.names(of: program.entities, neededBy: entity).intersection(before),
        rivals: (try? program.engine.names(of: program.entities, sharingTablesWith: entity)) ?? [])
    }
  }
}

extension Timetable.Moment {
  static var now: Timetable.Moment {
    Timetable.Moment(
      instant: .now, wall: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
  }
}
