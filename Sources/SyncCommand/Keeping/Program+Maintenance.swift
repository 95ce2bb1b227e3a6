import SyncEngine

extension Program {
  /// Keeps the store well, if that is due. What goes wrong with it fails no run.
  ///
  /// - Parameters:
  ///   - interval: how long the last time, of any program on the store, has to be past.
  ///   - complains: whether a failure is told: where no run succeeded, the runs have told it.
  func maintain(every interval: Duration, _ log: Log, complains: Bool = true) async {
    if Task.isCancelled { return }
    do { try await engine.maintain(configuration.retention, every: interval) } catch {
      guard complains, !(error is CancellationError) else { return }
      log.write(
        .warning, "old records of runs could not be removed: \(engine.redactor.redact("\(error)"))")
    }
  }
}
