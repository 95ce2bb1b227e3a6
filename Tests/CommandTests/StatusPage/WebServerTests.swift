import Foundation
import Synchronization
import TestSupport
import Testing

@testable import WebServer

@Suite("The web server", .fewAtATime, .once)
struct WebServerTests {
  private static func server(host: String = "127.0.0.1", port: Int = 0) throws -> WebServer {
    try WebServer(host: host, port: port) { request in
      request.path == "/"
        ? .text("hello \(request.header("user-AGENT") ?? "nobody")", headers: [("X-Kind", "greeting")])
        : .text("not here: \(request.path)", status: 404)
    }
  }

  /// The head and the body, with `curl -i`.
  private static func curl(_ words: String...) throws -> String {
    String(decoding: try curlData(words), as: UTF8.self).replacingOccurrences(of: "\r\n", with: "\n")
  }

  private static func curlData(_ words: [String]) throws -> Data {
    let result = try Shell.result(["curl", "-sS", "-i", "-A", "test", "--max-time", "120"] + words)
    guard result.status == 0 else { throw TestFailure("curl \(words): \(result)") }
    return Data(result.output.utf8)
  }

  @Test("GET and HEAD are answered, whatever is asked besides")
  func answers() throws {
    let server = try Self.server()
    let base = "http://127.0.0.1:\(server.port)"
    let got = try Self.curl(base + "/?a=b")
    #expect(got.hasPrefix("HTTP/1.1 200 OK\n") && got.contains("\nContent-Length: 11\n"), "\(got)")
    #expect(got.contains("\nX-Kind: greeting\n") && got.hasSuffix("\n\nhello test\n"), "\(got)")
    let head = try Self.curl("--head", base + "/")
    #expect(head.contains("\nContent-Length: 11\n") && head.hasSuffix("\n\n"), "\(head)")
    let missing = try Self.curl(base + "/a%20b/%C3%A9")
    #expect(missing.hasPrefix("HTTP/1.1 404 ") && missing.hasSuffix("not here: /a b/é\n"), "\(missing)")
    // Several over one connection.
    let many = try Self.curl(base + "/[1-20]")
    #expect(many.components(separatedBy: "HTTP/1.1 404").count == 21)
  }

  @Test(
    "another method is 405 and says which are taken",
    arguments: [
      ["-X", "POST"], ["-X", "DELETE"], ["-X", "OPTIONS"], ["-X", "TRACE"], ["-X", "BREW"], ["-d", "some"],
    ])
  func methods(_ words: [String]) throws {
    let server = try Self.server()
    let answer = String(
      decoding: try Self.curlData(words + ["http://127.0.0.1:\(server.port)/"]), as: UTF8.self)
    #expect(answer.hasPrefix("HTTP/1.1 405 ") && answer.contains("\r\nAllow: GET, HEAD\r\n"), "\(answer)")
    #expect(answer.hasSuffix("only GET and HEAD are answered here\n"))
  }

  @Test("bodies are not taken, and a long one is not even read")
  func bodies() throws {
    let server = try Self.server()
    let base = "http://127.0.0.1:\(server.port)/"
    let folder = try TemporaryFolder()
    try Data(count: 900_000).write(to: URL(fileURLWithPath: folder.path + "/short"))
    try Data(count: 9_000_000).write(to: URL(fileURLWithPath: folder.path + "/long"))
    let short = try Self.curl("-H", "Expect:", "--data-binary", "@\(folder.path)/short", base)
    #expect(short.hasPrefix("HTTP/1.1 405 "), "\(short)")
    let long = try Self.curl("--data-binary", "@\(folder.path)/long", base)
    #expect(long.hasPrefix("HTTP/1.1 405 "), "\(long)")
    let get = try Self.curl("-X", "GET", "-H", "Expect:", "-d", "some", base)
    #expect(get.hasPrefix("HTTP/1.1 413 "), "\(get)")
    // Without a length it is read up to a limit, and then the connection ends.
    let client = try RawClient(port: server.port)
    try client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
    let chunk = "10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n"
    #expect(throws: TestFailure.self) { for _ in 0..<10_000 { try client.send(chunk) } }
    #expect(try Self.curl(base).hasSuffix("hello test\n"))
  }

  @Test("what is no request, or has a head without end, does no harm")
  func nonsense() throws {
    let server = try Self.server()
    for text in [
      "\u{0}\u{1}\u{2}\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\r\n\r\n\r\n",
      "GET /\(String(repeating: "a", count: 100_000)) HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "y", count: 100_000))\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
    ] {
      let client = try RawClient(port: server.port)
      try? client.send(text)
    }
    let long = try Shell.result(
      [
        "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H",
        "X: \(String(repeating: "y", count: 50_000))",
        "http://127.0.0.1:\(server.port)/",
      ])
    #expect(["413", "431"].contains(long.output), "\(long)")
    #expect(try Self.curl("http://127.0.0.1:\(server.port)/").hasSuffix("hello test\n"))
  }

  @Test("a client that sends half a request holds no other up")
  func slowClient() throws {
    let server = try Self.server()
    let slow = try (0..<50).map { _ in try RawClient(port: server.port) }
    for client in slow { try client.send("GET / HTTP/1.1\r\nHost: loc") }
    #expect(try Self.curl("http://127.0.0.1:\(server.port)/").hasSuffix("hello test\n"))
    for client in slow { try client.send("alhost\r\n\r\n") }
    for client in slow { #expect(client.read(until: "hello nobody\n").hasSuffix("hello nobody\n")) }
  }

  @Test("a hundred clients at the same time, and more connections than it takes")
  func manyClients() throws {
    let server = try Self.server()
    let result = try Shell.result([
      "curl", "-sS", "-Z", "--parallel-immediate", "--parallel-max", "100", "-o", "/dev/null", "-w",
      "%{http_code}\n", "http://127.0.0.1:\(server.port)/?[1-2000]",
    ])
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output == String(repeating: "200\n", count: 2000))
    var idle = try (0..<WebServer.connectionLimit + 50).map { _ in try RawClient(port: server.port) }
    #expect(idle.count > WebServer.connectionLimit)
    idle = []
    #expect(try Self.curl("http://127.0.0.1:\(server.port)/").hasSuffix("hello test\n"))
  }

  @Test("it ends while clients are connected, and can be ended twice")
  func stop() throws {
    let server = try Self.server()
    let clients = try (0..<10).map { _ in try RawClient(port: server.port) }
    for client in clients {
      try client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
      _ = client.read(until: "hello nobody\n")
      try client.send("GET / HT")
    }
    let clock = ContinuousClock()
    let time = clock.measure { server.stop() }
    // A silent client may stay for as long as the idle limit: it was not waited for.
    #expect(time < .seconds(WebServer.idleLimit) / 2)
    for client in clients { #expect(client.read() == "") }
    server.stop()
  }

  @Test("a server that starts again has its port at once")
  func startsAgain() throws {
    // A port that the system gives to nobody who asks for any, at an address that no other test has.
    let (host, port) = ("127.77.1.2", Int.random(in: 20_000..<30_000))
    for _ in 0..<3 {
      let server = try Self.server(host: host, port: port)
      #expect(try Self.curl("http://\(host):\(port)/").hasSuffix("hello test\n"))
      server.stop()
    }
  }

  @Test("many are started and ended, and nothing is left")
  func startsAndEnds() throws {
    func descriptors() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        .count { name in
          let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
          return target == "anon_inode:[eventpoll]"
        }
    }
    // Other tests have servers too, but not hundreds.
    for _ in 0..<500 { _ = try Self.server() }
    #expect(try descriptors() < 400)
  }

  @Test("an address that is taken or cannot be had is an error that says so")
  func addresses() throws {
    let server = try Self.server()
    func message(_ host: String, _ port: Int = 0) -> String {
      do {
        _ = try Self.server(host: host, port: port)
        return ""
      } catch { return "\(error)" }
    }
    #expect(
      message("127.0.0.1", server.port)
        == "127.0.0.1:\(server.port) is taken: another program listens there; end it or choose another port")
    #expect(
      message("192.0.2.1", 9469)
        == "192.0.2.1:9469 cannot be listened on: this machine has no such address")
    #expect(
      message("name.invalid", 9469).hasPrefix("there is no address to listen on for name.invalid:9469: "))
    #expect(
      try Self.server(host: "localhost").port > 0)
  }

  private static let hasIPv6 = (try? WebServer(host: "::1", port: 0) { _ in .text("") }) != nil

  @Test("IPv6, and all addresses of both kinds by [::]", .enabled(if: hasIPv6))
  func version6() throws {
    let server = try Self.server(host: "::1")
    #expect(try Self.curl("-g", "http://[::1]:\(server.port)/").hasSuffix("hello test\n"))
    let all = try Self.server(host: "::")
    #expect(try Self.curl("-g", "http://[::1]:\(all.port)/").hasSuffix("hello test\n"))
    #expect(try Self.curl("http://127.0.0.1:\(all.port)/").hasSuffix("hello test\n"))
    #expect(throws: WebServerError.self) { try Self.server(host: "::1", port: server.port) }
  }
}
