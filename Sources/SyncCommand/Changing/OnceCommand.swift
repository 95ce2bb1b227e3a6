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
    if program.isAtomic {
      let status = await program.syncTogether(reporter)
      reporter.finish()
      return .of(status.map { [$0] } ?? [])
    }
    var statuses: [ExitStatus] = []
    for entity in program.entities {
      guard let status = await program.sync(entity, reporter) else { break }
      statuses.append(status)
    }
    reporter.finish()
    return .of(statuses)
  }
}

extension Program {
  /// Syncs one entity and reports it; nil when the program was told to stop.
  func sync(_ entity: any Entity.Type, _ reporter: RunReporter) async -> ExitStatus? {
    await report(entity.name, reporter) {
      [try await engine.sync(entity, tellingChanges: tellsChanges, onProgress: reporter.progress)]
    }
  }

  /// The same for all entities in one transaction.
  func syncTogether(_ reporter: RunReporter) async -> ExitStatus? {
    await report(entities.map { $0.name }.joined(separator: ", "), reporter) {
      try await engine.sync(together: entities, tellingChanges: tellsChanges, onProgress: reporter.progress)
    }
  }

  private func report(
    _ names: String, _ reporter: RunReporter, _ sync: () async throws -> [SyncReport]
  ) async -> ExitStatus? {
    do {
      for report in try await sync() {
        for change in report.changes ?? [] { console.write(change.json(of: report.record.entity)) }
        if !tellsChanges { reporter.succeeded(report) }
      }
      return .done
    } catch let error as SyncError {
      reporter.failed(error)
      switch error.kind {
      case .failed: return .failed
      case .refused: return .refused
      case .busy: return .busy
      }
    } catch is CancellationError {
      console.show("")
      return nil
    } catch {
      console.complain("\(names): \(engine.redactor.redact("\(error)"))")
      return .failed
    }
  }
}
