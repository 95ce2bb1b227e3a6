import SyncEngine

/// Tells people of an entity's trouble, once, and of its end.
struct WatchAlerts {
  private var states: [String: AlertState] = [:]
  private var sender: AlertSender
  private var after: Int
  /// When a person was told of a slice of an entity.
  private var told: [String: ContinuousClock.Instant] = [:]
  /// Of senders before this one.
  private var past = AlertSender.Counts()

  init(_ program: Program, _ log: Log) {
    after = program.configuration.alertAfter
    sender = Self.sender(program, log)
  }

  private static func sender(_ program: Program, _ log: Log) -> AlertSender {
    AlertSender(program.configuration.alerts, environment: Program.environment()) { log.write(.error, $0) }
  }

  /// Another configuration: who was told of a trouble is told of its end, even if by another way.
  ///
  /// - Returns: the sender before, which has to finish.
  mutating func set(_ program: Program, _ log: Log) -> AlertSender {
    let old = sender
    past = counts
    sender = Self.sender(program, log)
    if after != program.configuration.alertAfter { (after, states) = (program.configuration.alertAfter, [:]) }
    return old
  }

  var counts: AlertSender.Counts {
    var all = sender.counts
    all.sent += past.sent
    all.failed += past.failed
    all.dropped += past.dropped
    return all
  }

  mutating func note(_ result: RunResult) {
    let end: AlertState.End =
      switch result {
      case .committed: .committed
      case .failed(let error): AlertState.End(error.kind)
      }
    guard let event = states[result.entity, default: AlertState(alertAfter: after)].event(after: end) else {
      return
    }
    send(event, result)
  }

  /// The same for work that is shared: how the runs before went, which others may have done, the claim says.
  ///
  /// Of many slices that fail for one reason, a person is told once in an interval.
  mutating func note(_ result: RunResult, _ claim: Claim, at now: ContinuousClock.Instant) {
    let end: AlertState.End =
      switch result {
      case .committed: .committed
      case .failed(let error): AlertState.End(error.kind)
      }
    guard let event = AlertState.event(after: end, failuresBefore: claim.failures, alertAfter: after) else {
      return
    }
    if claim.unit.isSlice {
      let key = "\(event) \(claim.unit.entity)"
      if let last = told[key], now - last < claim.schedule.every { return }
      told[key] = now
    }
    send(event, result)
  }

  private func send(_ event: AlertEvent, _ result: RunResult) {
    let level: LogLevel = event == .recovery ? .info : event == .guard ? .warning : .error
    sender.send(
      event, entity: result.entity, body: jsonLine(RunLine(result, level: level, time: Log.now)))
  }

  func finish() async { await sender.finish(within: .seconds(2)) }
}
