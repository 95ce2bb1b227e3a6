import SyncEngine

extension Program {
  /// Keeps the store well, if that is due. What goes wrong with it fails no run.
  ///
  /// - Parameter interval: how long the last time, of any program on the store, has to be past.
  func maintain(every interval: Duration, _ log: Log) async {
    if Task.isCancelled { return }
    do { try await engine.maintain(configuration.retention, every: interval) } catch is CancellationError {
    } catch {
      log.write(
        .warning, "old records of runs could not be removed: \(engine.redactor.redact("\(error)"))")
    }
  }
}
