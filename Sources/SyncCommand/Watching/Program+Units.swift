import SyncEngine

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// How the run of a claimed unit ended.
struct UnitEnd: Sendable {
  /// Nil where there is nothing to report: it was given up, or cut into slices.
  var result: RunResult?
  /// Whether the unit was this program's to the end. Else another one's run says how it goes.
  var isOwn = true
}

extension Program {
  /// The work that this program shares with others; nil where it does all by itself.
  ///
  /// - Throws: `UsageError` for a store that cannot be shared.
  func workQueue() throws -> (any WorkQueue)? {
    guard configuration.isShared else { return nil }
    let name = configuration.worker.isEmpty ? machineName() : configuration.worker
    guard let queue = store.workQueue(worker: name, lease: configuration.lease) else {
      throw UsageError(
        "work is shared by programs on a store that is on a server (postgresql://…), and the store is \(store.location)"
      )
    }
    return queue
  }

  /// Runs a claimed unit, and gives it back where nothing came of it.
  func run(
    _ claim: Claim, of entity: any Entity.Type, in queue: any WorkQueue, _ reporter: RunReporter,
    onProgress: @escaping @Sendable (SyncProgress) -> Void
  ) async -> UnitEnd {
    let start = ContinuousClock.now
    var result: RunResult?
    let results = await self.results(claim.unit.name, reporter) {
      switch try await engine.run(
        claim, of: entity, in: queue,
        onProgress: { progress in
          reporter.progress(progress)
          onProgress(progress)
        })
      {
      case .committed(let report): return [report]
      case .cut(let slices, let added, let removed):
        reporter.log.write(
          added + removed > 0 ? .info : .debug,
          "cut into \(slices) slices (\(added) new, \(removed) gone)", entity: entity.name)
        return []
      }
    }
    result = results?.first
    if case .committed? = result { return UnitEnd(result: result) }
    if results?.isEmpty == true { return UnitEnd(result: nil) }
    let isOwn = await release(
      claim, after: result, taking: ContinuousClock.now - start, in: queue, reporter)
    return UnitEnd(result: result, isOwn: isOwn)
  }

  private func release(
    _ claim: Claim, after result: RunResult?, taking duration: Duration, in queue: any WorkQueue,
    _ reporter: RunReporter
  ) async -> Bool {
    var wait: Duration? = .zero
    var isFailure = false
    if case .failed(let error)? = result {
      switch error.kind {
      case .failed:
        isFailure = true
        wait = Backoff.wait(
          after: max(0, claim.failures) + 1, interval: claim.schedule.every, duration: duration)
      case .refused: (isFailure, wait) = (true, nil)
      case .busy: wait = min(.seconds(5), claim.schedule.every)
      }
    }
    do { return try await queue.release(claim, wait: wait, isFailure: isFailure) } catch {
      // The next renewal gives it back.
      reporter.log.write(.debug, "\(error)", entity: claim.unit.name)
      return true
    }
  }
}

/// What the machine is called.
private func machineName() -> String {
  var bytes = [CChar](repeating: 0, count: 256)
  guard gethostname(&bytes, bytes.count - 1) == 0 else { return "worker" }
  return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
