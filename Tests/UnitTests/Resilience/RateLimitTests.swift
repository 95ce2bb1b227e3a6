import TestSupport
import Testing

@testable import HTTP

/// What a server says about the requests that are left.
@Suite(.once)
struct RateLimitTests {
  @Test("the forms of the fields")
  func forms() {
    let now = 1_800_000_000
    let waits: [(HTTPHeaders, Int?)] = [
      (["RateLimit-Remaining": "0", "RateLimit-Reset": "30"], 30),
      (["ratelimit-remaining": "0", "ratelimit-reset": "0"], 0),
      (["RateLimit-Remaining": "1", "RateLimit-Reset": "30"], nil),
      (["RateLimit-Remaining": "0"], nil),
      (["RateLimit-Reset": "30"], nil),
      (["RateLimit": "limit=100, remaining=0, reset=30"], 30),
      (["RateLimit": "limit=100;w=60, remaining=0, reset=30"], 30),
      (["RateLimit": "limit=100, remaining=7, reset=30"], nil),
      (["RateLimit": #""default";r=0;t=30"#], 30),
      (["RateLimit": "default; r=0; t=30"], 30),
      (["RateLimit": #""default";r=5;t=30"#], nil),
      (["RateLimit": #""default";r=0"#], nil),
      (["RateLimit": #""burst";r=0;t=5, "day";r=0;t=900"#], 900),
      (["RateLimit": #""burst";r=0;t=5, "day";r=10;t=900"#], 5),
      (["RateLimit": #""a;r=0;t=9,b\"";r=1;t=2"#], nil),
      (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "45"], 45),
      (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800000060"], 60),
      (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800000000250"], 1),
      (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1799999999"], 0),
      (["X-RateLimit-Remaining": "0.0", "X-RateLimit-Reset": "1.5"], 2),
      (["X-Rate-Limit-Remaining": "0", "X-Rate-Limit-Reset": "7"], 7),
      (["X-RateLimit-Remaining": "-1", "X-RateLimit-Reset": "45"], nil),
      (["X-RateLimit-Remaining": "", "X-RateLimit-Reset": "45"], nil),
      (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "soon"], nil),
      (["X-RateLimit-Remaining": "0, 0", "X-RateLimit-Reset": "45"], nil),
      (["RateLimit": ""], nil), (["RateLimit": ";,=;\"\\"], nil), ([:], nil),
    ]
    for (headers, seconds) in waits {
      let wait = RateLimitFields.wait(headers, now: now)
      #expect(wait == seconds.map { .seconds($0) }, "\(headers.fields)")
    }
    let endless: HTTPHeaders = [
      "RateLimit-Remaining": "0", "RateLimit-Reset": "99999999999999999999999.5",
    ]
    #expect(RateLimitFields.wait(endless, now: now).map { $0 > .seconds(86_400) } == true)
  }

  private func client(
    _ transport: StubTransport, _ time: VirtualTime, interval: Duration = .zero, longest: Int = 120
  ) -> HTTPClient {
    HTTPClient(
      transport: transport, retry: RetryPolicy(retries: 0, longestWait: .seconds(longest)),
      limiter: RateLimiter(interval: interval, clock: time.clock))
  }

  private func send(_ client: HTTPClient) async throws {
    _ = try await client.send(HTTPRequest(url: .stub), home: HTTPURL.stub.origin) { _ in }
  }

  @Test("when none is left the next request of any client of the API waits for the reset")
  func waits() async throws {
    let (time, transport) = (
      VirtualTime(),
      StubTransport([.status(200, ["RateLimit-Remaining": "0", "RateLimit-Reset": "60"]), .status(200)])
    )
    let first = client(transport, time)
    var second = first
    second.limits.body = 1
    try await send(first)
    #expect(time.waits == [])
    try await send(second)
    #expect(time.waits == [.seconds(60)])
    try await send(first)
    #expect(time.waits == [.seconds(60)] && transport.count == 3)
  }

  @Test("the wait is no longer than the policy allows, and the rate holds behind it")
  func bounds() async throws {
    let fields: HTTPHeaders = ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "86400"]
    let (time, transport) = (VirtualTime(), StubTransport([.status(200, fields), .status(200)]))
    let bounded = client(transport, time, interval: .seconds(2), longest: 10)
    for _ in 0..<3 { try await send(bounded) }
    #expect(time.waits == [.seconds(10), .seconds(2)])
  }

  @Test("what another origin says holds nothing up")
  func foreign() async throws {
    let fields: HTTPHeaders = ["RateLimit-Remaining": "0", "RateLimit-Reset": "60"]
    let (time, transport) = (VirtualTime(), StubTransport([.status(200, fields)]))
    let client = client(transport, time)
    for _ in 0..<2 { _ = try await client.send(HTTPRequest(url: .stub), limits: HTTPLimits()) }
    #expect(time.waits == [])
  }
}
