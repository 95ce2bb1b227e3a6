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
    do {
      let report = try await engine.sync(entity, tellingChanges: tellsChanges, onProgress: reporter.progress)
      for change in report.changes ?? [] { console.write(change.json(of: entity.name)) }
      if !tellsChanges { reporter.succeeded(report) }
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
      console.complain("\(entity.name): \(engine.redactor.redact("\(error)"))")
      return .failed
    }
  }
}
