import Synchronization
import TestSupport
import Testing

@testable import HTTP

@Suite("Requests under way", .timeLimit(.minutes(15)), .once)
struct RateLimiterTests {
  /// All places are free: so many tasks get one at once, and the next one waits.
  private func expectFree(_ limiter: RateLimiter, _ places: Int) async throws {
    // Hangs, until the time limit, where a place was lost.
    for _ in 0..<places { try await limiter.begin() }
    let next = Task { try await limiter.begin() }
    for _ in 0..<20 { await Task.yield() }
    next.cancel()
    await #expect(throws: CancellationError.self) { try await next.value }
    for _ in 0..<places { await limiter.done() }
  }

  private final class Counts: Sendable {
    let mutex = Mutex((underWay: 0, peak: 0, ended: 0, cancelled: 0))
  }

  @Test("no place is lost or made by tasks that are cancelled at any moment", arguments: [1, 3])
  func cancellations(_ places: Int) async throws {
    let limiter = RateLimiter(interval: .zero, concurrency: places)
    let counts = Counts()
    for _ in 0..<20 {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<100 {
          let task = Task {
            do {
              try await limiter.begin()
              counts.mutex.withLock {
                $0.underWay += 1
                $0.peak = max($0.peak, $0.underWay)
              }
              for _ in 0..<Int.random(in: 0...3) { await Task.yield() }
              counts.mutex.withLock {
                $0.underWay -= 1
                $0.ended += 1
              }
              await limiter.done()
            } catch { counts.mutex.withLock { $0.cancelled += 1 } }
          }
          if Bool.random() {
            group.addTask {
              for _ in 0..<Int.random(in: 0...20) { await Task.yield() }
              task.cancel()
            }
          }
          group.addTask { await task.value }
        }
      }
    }
    let final = counts.mutex.withLock { $0 }
    #expect(final.underWay == 0 && final.peak <= places && final.ended + final.cancelled == 2000)
    try await expectFree(limiter, places)
  }

  /// Fails, answers with 401 or hangs until it is cancelled, at random.
  private struct Fickle: Transport {
    func send(_ request: HTTPRequest, limits: HTTPLimits) async throws -> HTTPResponse {
      switch Int.random(in: 0..<4) {
      case 0: throw HTTPError(.connection, "reset")
      case 1: throw HTTPError(.permanent, "refused")
      case 2: return HTTPResponse(status: 401, headers: [:], body: [], url: request.url)
      default:
        try await Task.sleep(for: .seconds(3600))
        throw HTTPError(.timeout, "late")
      }
    }
  }

  @Test("no place is lost by requests that fail, are renewed or cancelled")
  func failures() async throws {
    let limiter = RateLimiter(interval: .zero, concurrency: 3)
    let client = HTTPClient(
      transport: Fickle(), retry: RetryPolicy(retries: 2, base: .zero), limiter: limiter)
    let url = try HTTPURL("http://example.invalid/")
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<300 {
        group.addTask {
          let task = Task {
            try await client.send(HTTPRequest(url: url), home: url.origin, authorize: { _ in }) { _ in true }
          }
          for _ in 0..<Int.random(in: 0...40) { await Task.yield() }
          task.cancel()
          _ = try? await task.value
        }
      }
    }
    try await expectFree(limiter, 3)
  }

  @Test("credentials are added when the request has its place and its turn, and not before")
  func freshCredentials() async throws {
    struct Answering: Transport {
      func send(_ request: HTTPRequest, limits: HTTPLimits) async throws -> HTTPResponse {
        HTTPResponse(status: 200, headers: [:], body: [], url: request.url)
      }
    }
    let limiter = RateLimiter(interval: .zero, concurrency: 1)
    let client = HTTPClient(transport: Answering(), limiter: limiter)
    let url = try HTTPURL("http://example.invalid/")
    let isSigned = Mutex(false)
    try await limiter.begin()
    let task = Task {
      try await client.send(HTTPRequest(url: url), home: url.origin) { _ in isSigned.withLock { $0 = true } }
    }
    for _ in 0..<200 { await Task.yield() }
    #expect(!isSigned.withLock { $0 })
    await limiter.done()
    _ = try await task.value
    #expect(isSigned.withLock { $0 })
  }

  @Test("with one place, a token is fetched beside the request that waits for it")
  func renewal() async throws {
    struct Answering: Transport {
      func send(_ request: HTTPRequest, limits: HTTPLimits) async throws -> HTTPResponse {
        let isAllowed = request.url.string.hasSuffix("token") || request.headers["Authorization"] == "renewed"
        return HTTPResponse(status: isAllowed ? 200 : 401, headers: [:], body: [], url: request.url)
      }
    }
    let limiter = RateLimiter(interval: .zero, concurrency: 1)
    let client = HTTPClient(transport: Answering(), limiter: limiter)
    // As the engine asks for tokens: the request that needs one holds the place.
    let tokens = HTTPClient(transport: Answering())
    let url = try HTTPURL("http://example.invalid/")
    let token = HTTPRequest(url: url.appending(path: "token"))
    let isRenewed = Mutex(false)
    let response = try await client.send(HTTPRequest(url: url), home: url.origin) { request in
      _ = try await tokens.send(token, limits: client.limits)
      request.headers["Authorization"] = isRenewed.withLock { $0 } ? "renewed" : "old"
    } renew: { _ in
      _ = try await tokens.send(token, limits: client.limits)
      isRenewed.withLock { $0 = true }
      return true
    }
    #expect(response.status == 200 && response.attempts == 2)
    try await expectFree(limiter, 1)
  }
}
