import Synchronization

@testable import HTTP

/// Gives declared answers without a network.
final class StubTransport: Transport {
  private let answers: Mutex<[Result<HTTPResponse, HTTPError>]>
  private let sent = Mutex(0)

  /// - Parameter answers: one for each request; the last one is repeated.
  init(_ answers: [Result<HTTPResponse, HTTPError>]) { self.answers = Mutex(answers) }

  var count: Int { sent.withLock { $0 } }

  func send(_ request: HTTPRequest, limits: HTTPLimits) async throws -> HTTPResponse {
    sent.withLock { $0 += 1 }
    return try answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }.get()
  }
}

extension Result<HTTPResponse, HTTPError> {
  static func status(_ status: Int, _ headers: HTTPHeaders = [:]) -> Self {
    .success(HTTPResponse(status: status, headers: headers, body: [], url: .stub))
  }
}

extension HTTPURL {
  static let stub: HTTPURL = {
    do { return try HTTPURL("https://api.example.invalid/x") } catch { fatalError("\(error)") }
  }()
}

/// A time that goes on only when someone waits.
final class VirtualTime: Sendable {
  private let state = Mutex((now: ContinuousClock.now, waits: [Duration]()))

  var now: ContinuousClock.Instant { state.withLock { $0.now } }
  var waits: [Duration] { state.withLock { $0.waits } }

  func advance(_ time: Duration) { state.withLock { $0.now += time } }

  var clock: WaitingClock {
    WaitingClock(now: { self.now }) { end in
      self.state.withLock { state in
        state.waits.append(state.now.duration(to: end))
        state.now = max(state.now, end)
      }
    }
  }
}
