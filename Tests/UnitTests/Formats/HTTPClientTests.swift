import Synchronization
import TestSupport
import Testing

@testable import HTTP

/// The client over a real server.
@Suite(.timeLimit(.minutes(15)), .fewAtATime, .once)
struct HTTPClientTests {
  private let client = HTTPClient(
    transport: CurlTransport(), retry: RetryPolicy(retries: 2, base: .milliseconds(1)))

  /// Asks for a path; each attempt carries its number as a credential.
  private func send(
    _ path: String, to server: AnswerServer, _ client: HTTPClient? = nil, headers: HTTPHeaders = [:]
  ) async throws -> HTTPResponse {
    let home = try HTTPURL(server.base)
    let attempts = Mutex(0)
    let request = HTTPRequest(url: home.appending(path: path), headers: headers)
    return try await (client ?? self.client).send(request, home: home.origin) { request in
      request.headers["Authorization"] = attempts.withLock { attempts in
        attempts += 1
        return "attempt \(attempts)"
      }
    }
  }

  private func authorizations(_ server: AnswerServer) throws -> [String] {
    try server.requests().map { "\($0.path) \($0.headers["authorization"] ?? "-")" }
  }

  @Test("500 and 429 are asked again with new credentials, 404 is not")
  func retries() async throws {
    let server = try AnswerServer([
      Route("/x", status: 500, times: 1), Route("/x", status: 429, answer: ["Retry-After": "0"], times: 1),
      Route("/x", body: "done"), Route("/y", status: 404, body: "none"),
      Route("/z", status: 503, body: "busy"),
      Route("/late", status: 429, answer: ["Retry-After": "86400"], body: "late"),
    ])
    let response = try await send("x", to: server)
    #expect(response.status == 200 && response.attempts == 3)
    #expect(response.body == Array("done".utf8))
    #expect(try authorizations(server) == ["/x attempt 1", "/x attempt 2", "/x attempt 3"])
    try server.reset()
    #expect(try await send("y", to: server).status == 404)
    #expect(try server.requests().count == 1)
    try server.reset()
    #expect(try await send("z", to: server).status == 503)
    #expect(try server.requests().count == 3)
    try server.reset()
    #expect(try await send("late", to: server).status == 429)
    #expect(try server.requests().count == 1)
  }

  @Test("a cut body and a reset are asked again, and an error when they stay", arguments: ["cut", "reset"])
  func broken(_ fault: String) async throws {
    let whole = String(repeating: "0123456789", count: 50)
    let server = try AnswerServer([
      Route("/x", body: whole, times: 1, fault: fault), Route("/x", body: whole),
      Route("/y", body: whole, fault: fault),
    ])
    #expect(try await send("x", to: server).body == Array(whole.utf8))
    let error = await #expect(throws: HTTPError.self) { try await send("y", to: server) }
    #expect(error?.kind == .connection && error?.attempts == 3)
  }

  @Test("redirects stay at home; to another origin neither a request nor a credential goes")
  func redirects() async throws {
    let other = try AnswerServer([Route("/x", body: "stolen")])
    let server = try AnswerServer([
      Route("/a/1", status: 302, answer: ["Location": "../b?x=1"], body: ""),
      Route("/b", status: 308, answer: ["Location": "{{base}}/c"], body: ""), Route("/c", body: "done"),
      Route("/loop", status: 301, answer: ["Location": "/loop"], body: ""),
      Route("/out", status: 302, answer: ["Location": other.base + "/x"], body: ""),
      Route("/lost", status: 302, body: "no location"),
      Route("/file", status: 302, answer: ["Location": "file:///x"]),
    ])
    let response = try await send("a/1", to: server)
    #expect(response.body == Array("done".utf8))
    #expect(response.url.string == server.base + "/c")
    #expect(try authorizations(server) == ["/a/1 attempt 1", "/b attempt 2", "/c attempt 3"])
    for path in ["loop", "out", "file"] {
      try server.reset()
      let error = await #expect(throws: HTTPError.self) { try await send(path, to: server) }
      #expect(error?.kind == .redirect, "\(path)")
      #expect(try server.requests().count == (path == "loop" ? client.maxRedirects + 1 : 1))
    }
    #expect(try await send("lost", to: server).status == 302)
    #expect(try other.requests().isEmpty)
    var open = client
    open.foreignOrigins = [try HTTPURL(other.base).origin]
    #expect(try await send("out", to: server, open).body == Array("stolen".utf8))
    #expect(try authorizations(other) == ["/x -"])
  }

  @Test(
    "what authentication adds to an address goes out anew for each request, and stays out of the answer's")
  func authorizedAddresses() async throws {
    let server = try AnswerServer([
      Route("/x", status: 503, times: 1), Route("/x", status: 307, answer: ["Location": "/y?p=1"], body: ""),
      Route("/y", body: "done"),
    ])
    let home = try HTTPURL(server.base)
    let attempts = Mutex(0)
    let request = HTTPRequest(url: home.appending(path: "x"))
    let response = try await client.send(request, home: home.origin) { request in
      let attempt = attempts.withLock { attempts in
        attempts += 1
        return attempts
      }
      request.url = request.url.appending(query: [("key", "k\(attempt)")])
    }
    #expect(response.url.string == server.base + "/y?p=1")
    #expect(try server.requests().map(\.target) == ["/x?key=k1", "/x?key=k2", "/y?p=1&key=k3"])
  }

  @Test("a request on behalf of another origin carries no credentials")
  func foreignHome() async throws {
    let server = try AnswerServer([Route("/x", body: "done")])
    let request = HTTPRequest(url: try HTTPURL(server.base).appending(path: "x"))
    _ = try await client.send(request, home: HTTPURL("http://other.example").origin) {
      $0.headers["Authorization"] = "hidden"
    }
    #expect(try authorizations(server) == ["/x -"])
  }

  @Test(
    "redirects that lead nowhere are refused, and tell no password",
    arguments: [
      "http://", "http://u:hunter2@127.0.0.1/", "//u:hunter2@127.0.0.1:99999/", "gopher://h.example/",
    ])
  func strangeRedirects(_ location: String) async throws {
    let server = try AnswerServer([Route("/x", status: 302, answer: ["Location": location], body: "")])
    let error = await #expect(throws: HTTPError.self) { try await send("x", to: server) }
    let message = error?.message ?? ""
    #expect(error?.kind == .redirect && !message.contains("hunter2"), "\(message)")
  }

  @Test("a time limit ends a silent server, and is tried again")
  func silence() async throws {
    let server = try AnswerServer([
      Route("/x", body: "0123456789", times: 1, fault: "stall"), Route("/x", body: "done"),
    ])
    var hasty = client
    hasty.limits.total = .milliseconds(500)
    let response = try await send("x", to: server, hasty)
    #expect(response.attempts == 2 && response.body == Array("done".utf8))
  }

  @Test("a cancelled task ends by its cancellation, not by the server's silence")
  func cancellation() async throws {
    let server = try AnswerServer([Route("/x", body: "0123456789", fault: "stall")])
    let task = Task { try await send("x", to: server) }
    while try server.requests().isEmpty { await Task.yield() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    let waiting = HTTPClient(transport: CurlTransport(), retry: RetryPolicy(retries: 1, base: .seconds(3600)))
    let refused = Task { try await send("none", to: AnswerServer([Route("/none", status: 500)]), waiting) }
    refused.cancel()
    await #expect(throws: CancellationError.self) { try await refused.value }
  }

  @Test("a body may have exactly the limit, with and without a length")
  func bodyLimit() async throws {
    let body = String(repeating: "x", count: 100_000)
    let server = try AnswerServer([
      Route("/x", body: body), Route("/open", body: body, fault: "close"),
      Route("/packed", body: body, encoding: "gzip"),
    ])
    for path in ["x", "open", "packed"] {
      var limited = client
      limited.limits.body = 100_000
      #expect(try await send(path, to: server, limited).body.count == 100_000)
      limited.limits.body = 99_999
      let error = await #expect(throws: HTTPError.self) { try await send(path, to: server, limited) }
      #expect(error?.kind == .tooLarge, "\(path)")
    }
    #expect(try server.requests().count == 6)
  }

  @Test("a limit below one millisecond is a limit: libcurl reads 0 as none")
  func shortLimit() async throws {
    let server = try AnswerServer([Route("/x", body: "0123456789", fault: "stall")])
    var hasty = client
    (hasty.retry, hasty.limits.total) = (.none, .microseconds(500))
    let error = await #expect(throws: HTTPError.self) { try await send("x", to: server, hasty) }
    #expect(error?.kind == .timeout)
  }

  @Test("an answer that has no body needs no decoding (RFC 9110 §15.3.5)", arguments: [204, 304, 404])
  func noBody(_ status: Int) async throws {
    let server = try AnswerServer([Route("/x", status: status, answer: ["Content-Encoding": "gzip"])])
    let response = try await send("x", to: server)
    #expect(response.status == status && response.body.isEmpty)
  }

  @Test("a body that cannot be decoded hides no failure's status, and is no answer where it should be one")
  func undecodable() async throws {
    let server = try AnswerServer([
      Route("/none", answer: ["Content-Encoding": "gzip"], body: ""),
      Route("/damaged", answer: ["Content-Encoding": "br"], body: "plain"),
      Route("/failed", status: 403, answer: ["Content-Encoding": "gzip"], body: "plain"),
    ])
    for path in ["none", "damaged"] {
      let error = await #expect(throws: HTTPError.self) { try await send(path, to: server) }
      #expect(error?.kind == .encoding)
    }
    let response = try await send("failed", to: server)
    #expect(response.status == 403 && response.body.isEmpty)
  }

  @Test(
    "a line break or a zero byte in a field is refused before anything is sent (RFC 9110 §5.5)",
    arguments: ["\r\n", "\n", "\r", "\u{0}"])
  func injection(_ end: String) async throws {
    let server = try AnswerServer([Route("/x", body: "done")])
    for (headers, name) in [
      (["X-Key": "hidden\(end)X-Made: 1"], #""X-Key""#),
      (["X-Key": "hidden\(end)", "X-Last": "1"], #""X-Key""#),
      (["X-Key\(end)X-Made": "hidden"], "X-Made"), (["X-Key: a": "hidden"], "X-Key: a"),
      (["": "hidden"], "header field"),
    ] as [(HTTPHeaders, String)] {
      let error = await #expect(throws: HTTPError.self) { try await send("x", to: server, headers: headers) }
      #expect(error?.kind == .header)
      let message = error?.message ?? ""
      #expect(message.contains(name) && !message.contains("hidden") && !message.contains(end), "\(message)")
    }
    let agent = HTTPClient(transport: CurlTransport(userAgent: "syncd\(end)X-Made: 1"), retry: .none)
    await #expect(throws: HTTPError.self) { try await send("x", to: server, agent) }
    #expect(try server.requests().isEmpty)
  }

  @Test("a blank value is sent as an empty one")
  func blankValues() async throws {
    let server = try AnswerServer([Route("/x", body: "done")])
    _ = try await send("x", to: server, headers: ["X-Empty": "", "X-Blank": " \t"])
    let headers = try #require(try server.requests().first).headers
    #expect(headers["x-empty"] == "" && headers["x-blank"] == "")
    #expect(headers["user-agent"] == "syncd")
  }

  @Test("an address goes out byte for byte")
  func addresses() async throws {
    let server = try AnswerServer([])
    for target in ["/a/../b/./c", "/%7e%2F%2f", "/x?a=1&a=2&b=%20+", "/x?", "/;p,q", "/a//b"] {
      try server.reset()
      _ = try await send(target, to: server)
      #expect(try server.requests().map(\.target) == [target])
    }
  }
}
