import FoundationEssentials
import HTTP
import SyncEngine
import Synchronization

/// Sends alerts, one after the other, beside what the program does: nothing ever waits for it.
///
/// An alert goes to all its targets at once. A command gets the alert as a line of JSON on its standard input, and the most
/// of it as variables; a webhook gets it as the body of a POST, and two retries.
final class AlertSender: Sendable {
  struct Counts: Sendable, Hashable {
    /// Of messages, one for each target.
    var sent = 0, failed = 0
    /// Of alerts, which no target got.
    var dropped = 0
  }

  /// So many alerts may wait; of more, the oldest go.
  static let queueLimit = 64

  private struct State {
    var waiting: [Alert] = []
    var worker: Task<Void, Never>?
    var counts = Counts()
    /// Dropped, and not told yet.
    var untold = 0
    var isFinished = false
  }

  private let plan: AlertPlan
  private let environment: [String: String]
  private let timeLimit: Duration
  private let client: HTTPClient
  private let log: @Sendable (String) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - environment: that of the program; commands get what of it is ``AlertEnvironment/harmless(_:)``.
  ///   - timeLimit: for each command, and for each attempt of a webhook.
  ///   - log: is told of each message that could not be sent, without secrets.
  init(
    _ plan: AlertPlan, environment: [String: String], timeLimit: Duration = .seconds(10),
    retry: RetryPolicy = RetryPolicy(retries: 2, longestWait: .seconds(10)),
    log: @escaping @Sendable (String) -> Void
  ) {
    self.plan = plan
    self.environment = AlertEnvironment.harmless(environment)
    self.timeLimit = timeLimit
    self.log = log
    client = HTTPClient(
      transport: CurlTransport(),
      limits: HTTPLimits(connect: timeLimit, idle: timeLimit, total: timeLimit, body: 1 << 20), retry: retry)
  }

  var counts: Counts { state.withLock { $0.counts } }

  /// Takes an alert and returns at once.
  ///
  /// - Parameter body: the run as an object of JSON, without secrets.
  func send(_ event: AlertEvent, entity: String, body: String) {
    guard !plan[event].isEmpty else { return }
    state.withLock { state in
      guard !state.isFinished else {
        state.counts.dropped += 1
        return
      }
      state.waiting.append(Alert(event: event, entity: entity, body: body))
      if state.waiting.count > Self.queueLimit {
        state.waiting.removeFirst()
        state.counts.dropped += 1
        state.untold += 1
      }
      if state.worker == nil { state.worker = Task.detached { await self.work() } }
    }
  }

  /// Takes no more alerts, and gives up what is not sent in time.
  func finish(within limit: Duration) async {
    let worker = state.withLock { state in
      state.isFinished = true
      return state.worker
    }
    guard let worker else { return }
    let timer = Task.detached {
      try await Task.sleep(for: limit)
      let count = self.state.withLock { state in
        defer { state.waiting = [] }
        state.counts.dropped += state.waiting.count
        return state.waiting.count
      }
      if count > 0 { self.log("\(count) alerts were given up, since the program ends") }
      worker.cancel()
    }
    await worker.value
    timer.cancel()
  }

  /// Ends what is being sent, and what waits.
  func giveUp() {
    let worker = state.withLock { state in
      state.counts.dropped += state.waiting.count
      (state.waiting, state.isFinished) = ([], true)
      return state.worker
    }
    worker?.cancel()
  }

  private func work() async {
    while let alert = next() {
      await withTaskGroup(of: Void.self) { group in
        for target in plan[alert.event] { group.addTask { await self.deliver(alert, to: target) } }
      }
    }
  }

  /// The next alert; nil ends the worker.
  private func next() -> Alert? {
    let (alert, dropped) = state.withLock { state -> (Alert?, Int) in
      guard state.waiting.isEmpty else { return (state.waiting.removeFirst(), 0) }
      defer { state.untold = 0 }
      state.worker = nil
      return (nil, state.untold)
    }
    if dropped > 0 {
      log("\(dropped) alerts were dropped: they came faster than they could be sent")
    }
    return alert
  }

  private struct Failure: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
  }

  private func deliver(_ alert: Alert, to target: AlertTarget) async {
    do throws(Failure) {
      switch target {
      case .command(let words): try await run(words, alert)
      case .webhook(let webhook): try await post(alert, to: webhook)
      }
      state.withLock { $0.counts.sent += 1 }
    } catch {
      state.withLock { $0.counts.failed += 1 }
      let reason = Task.isCancelled ? "it was given up, since the program ends" : error.reason
      log("the \(alert.event) of \(alert.entity) could not be told to \(target): \(reason)")
    }
  }

  private func run(_ words: [String], _ alert: Alert) async throws(Failure) {
    var run = CommandRun(words, timeLimit: timeLimit)
    run.input = Array("\(alert.json)\n".utf8)
    run.environment = environment.merging(alert.variables) { $1 }
    do { _ = try await run.output() } catch { throw Failure("it \(error)") }
  }

  private func post(_ alert: Alert, to webhook: AlertTarget.Webhook) async throws(Failure) {
    // What a message must not show, whatever libcurl or a redirect repeats. The program's other messages know none of it.
    let redactor = Redactor()
    do {
      let url = try HTTPURL(await webhook.url.resolved())
      let host = url.string.dropFirst(url.origin.scheme.count + 3)
      redactor.add(String(host.drop { !"/?#".contains($0) }))
      var request = HTTPRequest(
        "POST", url: url, headers: ["Content-Type": "application/json", "Accept": "*/*"],
        body: Array(alert.json.utf8))
      for (name, text) in webhook.headers {
        let value = try await text.resolved()
        redactor.add(value)
        request.headers[name] = value
      }
      let response = try await client.send(request, home: url.origin) { _ in }
      guard (200...299).contains(response.status) else {
        let attempts = response.attempts > 1 ? " (after \(response.attempts) attempts)" : ""
        throw Failure("HTTP \(response.status)\(attempts)")
      }
    } catch let error as HTTPURL.Invalid {
      throw Failure("its address is not usable: \(error.reason)")
    } catch let error as DeclarationError {
      throw Failure(error.message)
    } catch let error as Failure {
      throw error
    } catch {
      throw Failure(redactor.redact("\(error)"))
    }
  }
}
