import Foundation
import TestSupport
import Testing

@testable import HTTP
@testable import SyncEngine

/// Links, addresses, encodings, waits.
@Suite("The parts of fetching")
struct FetchingPartsTests {
  private func next(_ field: String) throws -> String? {
    try #require(WebLink.parse(field)).first { $0.relations.contains("next") }?.target
  }

  @Test("Link headers by RFC 8288")
  func links() throws {
    #expect(
      try next(#"<https://a/?page=2>; rel="next", <https://a/?page=5>; rel="last""#) == "https://a/?page=2")
    #expect(try next(#"<https://a/5>; rel=last,<https://a/2>;rel=next"#) == "https://a/2")
    #expect(try next(#"</x?a=1,2;3>; title="a, \"b\"; c>"; rel="prev NEXT"; type="x""#) == "/x?a=1,2;3")
    #expect(try next(#"<a>; REL="last"; rel="next""#) == nil, "the first rel counts")
    #expect(try next(#", <a> ; rel = "next" ,, "#) == "a")
    #expect(try next(#"<a>; rel="nextish""#) == nil)
    #expect(try next("<>; rel=next") == "")
    #expect(try next("") == nil)
    #expect(WebLink.parse("a; rel=next") == nil)
    #expect(WebLink.parse("<a; rel=next") == nil)
    #expect(WebLink.parse(#"<a>; rel="next"#) == nil)
    #expect(WebLink.parse("<a> rel=next") == nil)
    let anchored = Page(
      number: 1, status: 200, headers: ["Link": #"<b>; rel="next"; anchor="/other""#], root: nil,
      recordCount: 0, newKeyCount: 0)
    #expect(try LinkHeader().decide(after: anchored) == .end(.proven))
  }

  @Test("addresses join as RFC 3986 says, and absolute ones stay as they are")
  func addresses() throws {
    let base = try HTTPURL("http://a.example/b/c/d;p?q")
    func resolved(_ reference: String) throws -> String { try base.resolving(reference).string }
    #expect(try resolved("g") == "http://a.example/b/c/g")
    #expect(try resolved("/g?x=1") == "http://a.example/g?x=1")
    #expect(try resolved("?y") == "http://a.example/b/c/d;p?y")
    #expect(try resolved("//h.example/g") == "http://h.example/g")
    #expect(try resolved("HTTP://A.example/%7e/../x?a=%2F&b=c+d") == "HTTP://A.example/%7e/../x?a=%2F&b=c+d")
    for bad in ["ftp://a/", "file:///x", "javascript://x", "http://", "http://u:p@a/", ""] {
      #expect(throws: HTTPURL.Invalid.self, "\(bad)") { try HTTPURL(bad) }
    }
    #expect(try HTTPURL("https://A.example").origin == HTTPURL("https://a.EXAMPLE:443/x").origin)
    #expect(try HTTPURL("https://a.example").origin != HTTPURL("http://a.example").origin)
    #expect(try HTTPURL("http://a.example:81").origin.description == "http://a.example:81")
    #expect(try HTTPURL("http://[::1]:8080/x").origin.description == "http://[::1]:8080")
    let api = try HTTPURL("https://h.example/v1?k=v#f")
    #expect(api.appending(path: "/items").string == "https://h.example/v1/items?k=v")
    #expect(
      api.appending(query: [("a b", "c&d=é")]).string == "https://h.example/v1?k=v&a%20b=c%26d%3D%C3%A9")
    #expect(
      try HTTPURL("https://h.example/v1/").appending(path: "items").string == "https://h.example/v1/items")
    #expect(percentEncoded("../a b/ü?#%") == "..%2Fa%20b%2F%C3%BC%3F%23%25")
    #expect(percentEncoded("") == "")
  }

  @Test("a parent's value is one segment of the path, never a way out of it")
  func parentValues() throws {
    let source = Source(
      API("t", url: "https://h.example/v1/"), "posts/{parent.id}/comments", query: ["of": "{parent.id}"],
      paging: .none)
    let template = try RequestTemplate(source, entity: "comment", parentColumns: [])
    func address(_ value: String) throws -> String { try template.address(parent: [.text(value)]).string }
    #expect(
      try address("a b/../c?d")
        == "https://h.example/v1/posts/a%20b%2F..%2Fc%3Fd/comments?of=a%20b%2F..%2Fc%3Fd")
    for bad in ["", ".", ".."] { #expect(throws: PagingError.self) { try address(bad) } }
  }

  private static let plain = Array(String(repeating: "{\"some\":\"text that repeats\"}\n", count: 40).utf8)

  private func python(_ expression: String) throws -> [UInt8] {
    let folder = try TemporaryFolder()
    try Data(Self.plain).write(to: URL(fileURLWithPath: folder.path + "/plain"))
    let code = "import gzip, zlib; d = open('\(folder.path)/plain','rb').read(); print((\(expression)).hex())"
    let hex = try Shell.result(["python3", "-c", code]).output.filter(\.isHexDigit)
    return stride(from: 0, to: hex.count, by: 2).compactMap { start in
      let from = hex.index(hex.startIndex, offsetBy: start)
      return UInt8(hex[from..<hex.index(from, offsetBy: 2)], radix: 16)
    }
  }

  @Test(
    "encoded bodies are decoded whole, and cut at any byte they are an error",
    arguments: [
      ("gzip", "gzip.compress(d)"), ("deflate", "zlib.compress(d)"),
      ("deflate", "(lambda c: c.compress(d) + c.flush())(zlib.compressobj(wbits=-15))"),
      ("gzip", "gzip.compress(d[:100]) + gzip.compress(d[100:])"),
      ("identity", "d"),
    ])
  func encodings(_ name: String, _ expression: String) throws {
    let body = try python(expression)
    #expect(!body.isEmpty)
    #expect(try ContentDecoding.decode(body, encodings: name, limit: 1 << 20) == Self.plain)
    #expect(throws: HTTPError.self) { try ContentDecoding.decode(body, encodings: "zip", limit: 1 << 20) }
    guard name != "identity" else { return }
    #expect(throws: HTTPError.self) {
      try ContentDecoding.decode(body, encodings: name, limit: Self.plain.count - 1)
    }
    for count in 0..<body.count {
      let cut = Array(body[..<count])
      let decoded = try? ContentDecoding.decode(cut, encodings: name, limit: 1 << 20)
      // The first member of a two-member gzip is whole in itself: the JSON behind it is then cut, which shows.
      if let decoded {
        #expect(expression.contains("d[:100]") && decoded == Array(Self.plain[..<100]), "cut at \(count)")
      }
    }
    #expect(throws: HTTPError.self) {
      try ContentDecoding.decode(body + [0], encodings: name, limit: 1 << 20)
    }
  }

  @Test("brotli and zstd streams, whole and cut")
  func otherEncodings() throws {
    // "hello hello hello hello" by the tools of both formats.
    let zstd: [UInt8] = [
      0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x05, 0x29, 0x00, 0x00, 0x68, 0x65, 0x6C, 0x6C, 0x6F,
    ]
    let brotli: [UInt8] = [0x0B, 0x02, 0x80, 0x68, 0x65, 0x6C, 0x6C, 0x6F, 0x03]
    for (name, body) in [("zstd", zstd), ("br", brotli)] {
      #expect(try ContentDecoding.decode(body, encodings: name, limit: 100) == Array("hello".utf8), "\(name)")
      for count in 0..<body.count {
        #expect(throws: HTTPError.self, "\(name) cut at \(count)") {
          try ContentDecoding.decode(Array(body[..<count]), encodings: name, limit: 100)
        }
      }
      #expect(throws: HTTPError.self) { try ContentDecoding.decode(body, encodings: name, limit: 4) }
    }
  }

  @Test("waits double, are never below their base, and a server's wait is understood")
  func waits() {
    let policy = RetryPolicy(retries: 3, base: .milliseconds(100))
    for retry in 0..<5 {
      let base = Duration.milliseconds(100 << retry)
      #expect(policy.wait(before: retry, fraction: 0) == base)
      #expect(policy.wait(before: retry, fraction: 1) == base + base / 2)
    }
    #expect(RetryPolicy.retryAfter("3", now: 0) == .seconds(3))
    #expect(RetryPolicy.retryAfter("Wed, 21 Oct 2015 07:28:00 GMT", now: 1_445_412_470) == .seconds(10))
    #expect(RetryPolicy.retryAfter("Wed, 21 Oct 2015 07:28:00 GMT", now: 1_445_412_999) == .zero)
    for bad in ["", "soon", "-1", "1.5", "3 s"] {
      #expect(RetryPolicy.retryAfter(bad, now: 0) == nil, "\(bad)")
    }
    #expect(RetryPolicy.retryAfter("99999999999999999999", now: 0) == .seconds(Int(Int32.max)))
  }

  @Test("credentials go to their own origin alone, anew for each attempt, and redirects stay at home")
  func client() async throws {
    let server = try AnswerServer([
      Route("/a", status: 302, answer: ["Location": "/b"], body: ""), Route("/b", status: 503, times: 1),
      Route("/b", body: "done"),
      Route("/out", status: 307, answer: ["Location": "http://127.0.0.2:1/x"], body: ""),
    ])
    let client = HTTPClient(
      transport: CurlTransport(), retry: RetryPolicy(retries: 1, base: .milliseconds(1)))
    let home = try HTTPURL(server.base)
    nonisolated(unsafe) var attempt = 0
    let response = try await client.send(HTTPRequest(url: home.appending(path: "a")), home: home.origin) {
      request in
      attempt += 1
      request.headers["Authorization"] = "attempt \(attempt)"
    }
    #expect(String(decoding: response.body, as: UTF8.self) == "done")
    #expect(
      try server.requests().map { $0.path + " " + ($0.headers["authorization"] ?? "") } == [
        "/a attempt 1", "/b attempt 2", "/b attempt 3",
      ])
    await #expect(throws: HTTPError.self) {
      try await client.send(HTTPRequest(url: home.appending(path: "out")), home: home.origin) { _ in }
    }
    // Asked on behalf of another origin, the server sees no credentials.
    _ = try await client.send(
      HTTPRequest(url: home.appending(path: "b")), home: HTTPURL("http://other.example").origin
    ) {
      $0.headers["Authorization"] = "secret"
    }
    #expect(try server.requests().last?.headers["authorization"] == nil)
  }

  @Test("a body beyond the limit is refused while it arrives")
  func bodyLimit() async throws {
    let server = try AnswerServer([Route("/big", body: String(repeating: "x", count: 100_000))])
    let client = HTTPClient(
      transport: CurlTransport(), limits: HTTPLimits(body: 50_000),
      retry: RetryPolicy(retries: 1, base: .milliseconds(1)))
    let url = try HTTPURL(server.base).appending(path: "big")
    let error = await #expect(throws: HTTPError.self) {
      try await client.send(HTTPRequest(url: url), home: url.origin) { _ in }
    }
    #expect(error?.kind == .tooLarge)
    #expect(try server.requests().count == 1)
  }
}
