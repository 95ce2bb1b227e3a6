import SyncEngine

/// `once`: each entity one time.
struct OnceCommand {
  private let program: Program
  private let reporter: RunReporter

  init(_ program: Program) {
    self.program = program
    reporter = RunReporter(program, isTimed: false)
  }

  func run() async -> ExitStatus {
    var statuses: [ExitStatus] = []
    if program.isAtomic {
      for result in await program.syncTogether(reporter) ?? [] { statuses.append(told(result)) }
    } else {
      for entity in program.entities {
        guard let result = await program.sync(entity, reporter) else { break }
        statuses.append(told(result))
      }
    }
    await program.maintain(every: .seconds(86_400), reporter.log, complains: statuses.contains(.done))
    reporter.finish()
    return .of(statuses)
  }

  private func told(_ result: RunResult) -> ExitStatus {
    if program.tellsChanges, case .committed(let report) = result {
      for change in report.changes ?? [] { program.console.write(change.json(of: report.entity)) }
      reporter.dismiss(report.entity)
    } else {
      reporter.ended(result)
    }
    return result.status
  }
}

extension Program {
  /// Syncs one entity; nil when the program was told to stop.
  ///
  /// - Parameter onProgress: hears what the reporter hears.
  func sync(
    _ entity: any Entity.Type, _ reporter: RunReporter,
    onProgress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
  ) async -> RunResult? {
    await results(entity.name, reporter) {
      let report = try await engine.sync(entity, tellingChanges: tellsChanges) { progress in
        reporter.progress(progress)
        onProgress(progress)
      }
      return [report]
    }?.first
  }

  /// The same for all entities in one transaction.
  func syncTogether(_ reporter: RunReporter) async -> [RunResult]? {
    await results(entities.map { $0.name }.joined(separator: ", "), reporter) {
      try await engine.sync(together: entities, tellingChanges: tellsChanges, onProgress: reporter.progress)
    }
  }

  func results(
    _ names: String, _ reporter: RunReporter, _ sync: () async throws -> [SyncReport]
  ) async -> [RunResult]? {
    do {
      return try await sync().map(RunResult.committed)
    } catch let error as SyncError {
      return [.failed(error)]
    } catch is CancellationError {
      reporter.dismiss(names)
      return nil
    } catch {
      return [
        .failed(SyncError(kind: .failed, entity: names, message: engine.redactor.redact("\(error)")))
      ]
    }
  }
}
