import TestSupport
import Testing

@testable import HTTP

/// An API that keeps failing is left alone for a while.
@Suite(.once)
struct CircuitBreakerTests {
  private let time = VirtualTime()

  private func client(_ transport: StubTransport, _ policy: BreakerPolicy = BreakerPolicy()) -> HTTPClient {
    let time = time
    return HTTPClient(
      transport: transport, retry: .none, breaker: CircuitBreaker("shop", policy) { time.now })
  }

  /// The status, or the failure.
  private func send(_ client: HTTPClient) async -> String {
    do {
      let response = try await client.send(HTTPRequest(url: .stub), home: HTTPURL.stub.origin) { _ in }
      return "\(response.status)"
    } catch { return "\(error)" }
  }

  @Test("after five failures nothing is sent, after the pause one request, after an answer all")
  func stops() async {
    let refused = Result<HTTPResponse, HTTPError>.failure(HTTPError(.connection, "no connection"))
    let transport = StubTransport(
      [.status(503), refused, refused, .status(500), refused, refused, .status(200)])
    let client = client(transport)
    for _ in 0..<5 { _ = await send(client) }
    #expect(transport.count == 5)
    let text = await send(client)
    #expect(
      text
        == "not sent: the last 5 requests to the API \"shop\" failed, and the next one is tried in 2 s (last failure: no connection)"
    )
    #expect(transport.count == 5)
    time.advance(.seconds(2))
    #expect(await send(client) == "no connection")
    // Twice as long.
    time.advance(.seconds(3))
    #expect(await send(client).hasPrefix("not sent: the last 6 requests"))
    #expect(transport.count == 6)
    time.advance(.seconds(1))
    #expect(await send(client) == "200")
    #expect(await send(client) == "200")
    #expect(transport.count == 8)
  }

  @Test("an answer below 500 ends the row, and what says nothing of the API does not count")
  func row() async {
    let failed: [Result<HTTPResponse, HTTPError>] = [.status(500), .status(500), .status(500), .status(500)]
    let transport = StubTransport(failed + [.status(404)] + failed + [.status(429)] + failed)
    let client = client(transport)
    for _ in 0..<14 { _ = await send(client) }
    #expect(transport.count == 14)
    let other = StubTransport([.failure(HTTPError(.permanent, "TLS"))])
    let permanent = self.client(other)
    for _ in 0..<9 { #expect(await send(permanent) == "TLS") }
  }

  @Test(
    "while one request tries the API others are not sent; one that is given up leaves the try to the next")
  func trial() throws {
    let time = time
    let breaker = CircuitBreaker("shop", BreakerPolicy(failures: 1)) { time.now }
    #expect(try breaker.check() == false)
    breaker.record(.failure("HTTP 500"), isTrial: false)
    time.advance(.seconds(30))
    #expect(try breaker.check() == true)
    let error = #expect(throws: HTTPError.self) { try breaker.check() }
    #expect(error?.kind == .unavailable && error?.message.contains("one is being tried") == true)
    // One that was under way before: it neither ends the try nor prolongs the pause.
    breaker.record(.failure("HTTP 502"), isTrial: false)
    #expect(throws: HTTPError.self) { try breaker.check() }
    breaker.record(.unknown, isTrial: true)
    #expect(try breaker.check() == true)
    breaker.record(.success, isTrial: true)
    #expect(try breaker.check() == false)
  }

  @Test("none never stops")
  func none() async {
    let transport = StubTransport([.status(500)])
    let client = client(transport, .none)
    for _ in 0..<50 { _ = await send(client) }
    #expect(transport.count == 50)
  }
}
