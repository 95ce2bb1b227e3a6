import HTTP
import Synchronization
import TestSupport
import Testing

/// What the client does about a 401, whatever the credentials are.
@Suite(.timeLimit(.minutes(15)), .fewAtATime, .once)
struct RenewalTests {
  /// The statuses of an answer and what the renewal heard of, with credentials that count up.
  private func send(
    _ path: String, to server: AnswerServer, foreign: AnswerServer? = nil, hasNew: Bool = true
  ) async throws -> (response: HTTPResponse, refused: [String]) {
    let home = try HTTPURL(server.base)
    let version = Mutex(1)
    let refused = Mutex<[String]>([])
    let client = HTTPClient(
      transport: CurlTransport(), retry: RetryPolicy(retries: 1, base: .milliseconds(1)),
      foreignOrigins: try foreign.map { [try HTTPURL($0.base).origin] } ?? [])
    let response = try await client.send(
      HTTPRequest(url: home.appending(path: path)), home: home.origin,
      authorize: { request in request.headers["X-Key"] = version.withLock { "\($0)" } },
      renew: { request in
        refused.withLock { $0.append(request.headers["X-Key"] ?? "-") }
        version.withLock { $0 += 1 }
        return hasNew
      })
    return (response, refused.withLock { $0 })
  }

  private func keys(_ server: AnswerServer) throws -> [String] {
    try server.requests().map { "\($0.path) \($0.headers["x-key"] ?? "-")" }
  }

  @Test("a 401 renews once; the answer to the second attempt counts, and its retries are its own")
  func once() async throws {
    let server = try AnswerServer([
      Route("/x", status: 401, times: 1), Route("/x", status: 503, times: 1), Route("/x", body: "done"),
      Route("/never", status: 401, body: "no"),
    ])
    let (response, refused) = try await send("x", to: server)
    #expect(response.status == 200 && response.attempts == 3 && refused == ["1"])
    #expect(try keys(server) == ["/x 1", "/x 2", "/x 2"])
    try server.reset()
    let (denied, twice) = try await send("never", to: server)
    #expect(denied.status == 401 && denied.attempts == 2 && twice == ["1"])
    #expect(denied.body == Array("no".utf8))
    try server.reset()
    let (unchanged, _) = try await send("never", to: server, hasNew: false)
    #expect(unchanged.status == 401 && unchanged.attempts == 1)
    #expect(try keys(server) == ["/never 1"])
  }

  @Test("one renewal for a whole chain of redirects; a 401 of another origin asks for none")
  func redirects() async throws {
    let other = try AnswerServer([Route("/x", status: 401, body: "no")])
    let server = try AnswerServer([
      Route("/a", status: 401, times: 1), Route("/a", status: 302, answer: ["Location": "/b"], body: ""),
      Route("/b", status: 401), Route("/out", status: 302, answer: ["Location": other.base + "/x"], body: ""),
    ])
    let (response, refused) = try await send("a", to: server)
    #expect(response.status == 401 && refused == ["1"])
    #expect(try keys(server) == ["/a 1", "/a 2", "/b 2"])
    let (foreign, none) = try await send("out", to: server, foreign: other)
    #expect(foreign.status == 401 && none.isEmpty)
    #expect(try keys(other) == ["/x -"])
  }
}
