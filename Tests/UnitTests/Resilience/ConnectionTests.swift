import Foundation
import TestSupport
import Testing

@testable import HTTP

/// Proxies, IPv6 and connections that are gone.
@Suite(.serialized, .timeLimit(.minutes(15)), .fewAtATime, .once)
struct ConnectionTests {
  /// Answers every request, those of a proxy's clients too, and lists them at `/_log`.
  private static let proxy = """
    import socket, sys, threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    LOG = []
    class H(BaseHTTPRequestHandler):
        def log_message(self, *a): pass
        def do_GET(self):
            if self.path != "/_log":
                LOG.append(" ".join([self.command, self.path, self.headers.get("Proxy-Authorization", "-")]))
            body = "\\n".join(LOG).encode() if self.path == "/_log" else b'[{"id": 1}]'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        def do_CONNECT(self):
            LOG.append(" ".join([self.command, self.path, self.headers.get("Proxy-Authorization", "-")]))
            self.send_error(403)
    class S(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if sys.argv[1] == "::1" else socket.AF_INET
    s = S((sys.argv[1], 0), H)
    print("READY", s.server_port, flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), s.shutdown()), daemon=True).start()
    s.serve_forever()
    """

  /// One run of a program with these variables; all other proxy variables are unset.
  private func run(_ url: String, _ variables: [String: String], as name: String = "028-gzip") throws
    -> Shell.Result
  {
    let folder = try TemporaryFolder()
    let file = folder.path + "/syncd.json"
    try Data(#"{"store": "\#(folder.path)/store.sqlite", "apis": {"case": {"url": "\#(url)"}}}"#.utf8)
      .write(to: URL(fileURLWithPath: file))
    let names = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"]
    let settings = (names + ["all_proxy", "ALL_PROXY"]).flatMap { ["-u", $0] }
    return try Shell.result(
      ["env"] + settings + variables.map { "\($0)=\($1)" }
        + ["SYNCD_CASE=\(name)", Shell.product("CaseEntities"), "once", "--config", file])
  }

  @Test("http goes through the proxy that the environment names, in lower or upper case")
  func proxies() async throws {
    let server = try LocalServer("-c", Self.proxy, "127.0.0.1")
    let address = "http://user:hidden7@127.0.0.1:\(server.port)"
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy"] {
      let result = try run("http://api.example.invalid/", [name: address])
      #expect(result.status == 0, "\(name): \(result.output)\(result.errors)")
      #expect(!(result.output + result.errors).contains("hidden7"))
    }
    let authorization = "Basic " + Data("user:hidden7".utf8).base64EncodedString()
    let line = "GET http://api.example.invalid/gzip \(authorization)"
    expect(
      try await CurlTransport().text(server.base + "/_log"),
      is: Array(repeating: line, count: 3).joined(separator: "\n"))
    // A CGI program's HTTP_PROXY is a header of the request.
    let cgi = try run("http://api.example.invalid/", ["HTTP_PROXY": address, "REQUEST_METHOD": "GET"])
    #expect(cgi.status == 1)
  }

  @Test("https asks the proxy for a tunnel, and a refusal shows no password")
  func tunnel() async throws {
    let server = try LocalServer("-c", Self.proxy, "127.0.0.1")
    let result = try run(
      "https://api.example.invalid/", ["HTTPS_PROXY": "http://user:hidden7@127.0.0.1:\(server.port)"])
    #expect(result.status == 1 && !(result.output + result.errors).contains("hidden7"), "\(result)")
    let log = try await CurlTransport().text(server.base + "/_log")
    #expect(log.hasPrefix("CONNECT api.example.invalid:443 Basic "), "\(log)")
  }

  @Test("NO_PROXY goes before either", arguments: ["http_proxy", "HTTP_PROXY"])
  func exceptions(_ name: String) async throws {
    let server = try LocalServer("-c", Self.proxy, "127.0.0.1")
    let result = try run(
      server.base + "/", [name: "http://127.0.0.1:9", "NO_PROXY": "other.example,127.0.0.1"])
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    #expect(try await CurlTransport().text(server.base + "/_log") == "GET /gzip -")
  }

  @Test(
    "a proxy that cannot be used is not shown with its password",
    arguments: [
      "http://user:hidden7@127.0.0.1:9", "ftp://user:hidden7@127.0.0.1:9",
      "socks5://user:hidden7@127.0.0.1:9",
      "http://user:hidden7@no-such-proxy.invalid:9", "http://user:hidden7@:::", "user:hidden7@127.0.0.1:x",
      "http://us%40er:hidden7@127.0.0.1:99999", "nothing://user:hidden7@127.0.0.1", "http://user:hidden7@[::",
    ])
  func unusable(_ address: String) throws {
    for name in ["http_proxy", "HTTP_PROXY"] {
      let result = try run("http://api.example.invalid/", [name: address])
      #expect(result.status == 1, "\(result.output)")
      #expect(!(result.output + result.errors).contains("hidden7"), "\(result.output)\(result.errors)")
    }
  }

  /// The answer's status, or why an address that has to be public is not asked.
  private func ask(_ address: String, _ variables: [String: String]) async throws -> String {
    var request = HTTPRequest(url: try HTTPURL(address))
    request.connectsToPublicOnly = true
    do {
      let transport = CurlTransport(proxies: ProxySettings { variables[$0] })
      return String(try await transport.send(request, limits: HTTPLimits()).status)
    } catch { return "\(error)" }
  }

  @Test(
    "where public addresses alone are asked, the proxy may be at a private one, and gets no private one to ask"
  )
  func publicThroughProxy() async throws {
    let server = try LocalServer("-c", Self.proxy, "127.0.0.1")
    let variables = ["http_proxy": server.base, "HTTPS_PROXY": server.base, "no_proxy": ".direct.localhost"]
    #expect(try await ask("http://images.example.invalid/a", variables) == "200")
    #expect(try await ask("http://192.0.77.2:\(server.port)/b", variables) == "200")
    #expect(try await ask("https://images.example.invalid/c", variables).contains("403"))
    let asked = """
      GET http://images.example.invalid/a -
      GET http://192.0.77.2:\(server.port)/b -
      CONNECT images.example.invalid:443 -
      """
    expect(try await CurlTransport().text(server.base + "/_log"), is: asked)
    for host in [
      "127.0.0.1", "127.0.0.1.", "2130706433", "0x7f.1", "10.1.2.3", "169.254.169.254", "[::1]",
      "[fe80::1%25eth0]", "[::ffff:127.0.0.1]", "localhost", "LOCALHOST.", "a.localhost", "１２７.0.0.1",
      "ⓛocalhost",
      "x.direct.localhost",
    ] {
      let answer = try await ask("http://\(host):\(server.port)/x", variables)
      #expect(answer.hasSuffix("is at no public address, so it is not connected to"), "\(host): \(answer)")
    }
    expect(try await CurlTransport().text(server.base + "/_log"), is: asked)
  }

  @Test(
    "which proxy the variables name for an address, as libcurl has it",
    arguments: [
      (["http_proxy": "p"], "http://a.example/", "p"), (["http_proxy": "p"], "https://a.example/", nil),
      (["HTTP_PROXY": "p"], "http://a.example/", "p"),
      (["HTTP_PROXY": "p", "REQUEST_METHOD": "GET"], "http://a.example/", nil),
      (["HTTP_PROXY": "p", "http_proxy": ""], "http://a.example/", nil),
      (["https_proxy": "", "HTTPS_PROXY": "p"], "https://a.example/", "p"),
      (["all_proxy": "q", "https_proxy": "p"], "https://a.example/", "p"),
      (["ALL_PROXY": "q"], "https://a.example/", "q"),
      (["all_proxy": "p", "no_proxy": "*"], "http://a.example/", nil),
      (["all_proxy": "p", "no_proxy": "*,b"], "http://a.example/", "p"),
      (["all_proxy": "p", "NO_PROXY": "b.example, .A.Example."], "http://a.example./", nil),
      (["all_proxy": "p", "no_proxy": "b.example", "NO_PROXY": "a.example"], "http://a.example/", "p"),
      (["all_proxy": "p", "no_proxy": "example"], "http://a.example/", nil),
      (["all_proxy": "p", "no_proxy": "a.example"], "http://ba.example/", "p"),
      (["all_proxy": "p", "no_proxy": "10.0.0.0/8"], "http://10.1.2.3/", nil),
      (["all_proxy": "p", "no_proxy": "10.0.0.0/15"], "http://10.1.2.3/", nil),
      (["all_proxy": "p", "no_proxy": "10.0.0.0/16"], "http://10.1.2.3/", "p"),
      (["all_proxy": "p", "no_proxy": "10.1.2.3/33,0.1.2.3"], "http://10.1.2.3/", "p"),
      (["all_proxy": "p", "no_proxy": "10.1.2.3"], "http://10.1.2.3/", nil),
      (["all_proxy": "p", "no_proxy": "::1,2001:db8::/31"], "http://[2001:db9::7]/", nil),
      (["all_proxy": "p", "no_proxy": "2001:db8::/32"], "http://[2001:db9::7]/", "p"),
    ] as [([String: String], String, String?)])
  func choice(_ variables: [String: String], _ address: String, _ proxy: String?) throws {
    #expect(ProxySettings { variables[$0] }.proxy(for: try HTTPURL(address)) == proxy)
  }

  private func send(_ client: HTTPClient, _ url: HTTPURL, tls: TLSFiles? = nil) async throws -> HTTPResponse {
    var request = HTTPRequest(url: url)
    request.tls = tls
    return try await client.send(request, home: url.origin) { _ in }
  }

  @Test("an address of IPv6")
  func ipv6() async throws {
    let probe = try Shell.result(
      ["python3", "-c", "import socket; socket.socket(socket.AF_INET6).bind(('::1', 0))"])
    guard probe.status == 0 else { return print("skipped: there is no ::1 here") }
    let server = try LocalServer("-c", Self.proxy, "::1")
    let url = try HTTPURL("http://[::1]:\(server.port)/x")
    #expect(url.origin.description == "http://[::1]:\(server.port)")
    let response = try await send(HTTPClient(transport: CurlTransport(), retry: .none), url)
    #expect(response.status == 200 && response.body == Array(#"[{"id": 1}]"#.utf8))
  }

  /// The first connection answers once; what becomes of it then is the argument. Later ones answer always.
  private static let stale = """
    import socket, struct, sys, threading, time
    how = sys.argv[1]
    s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(16)
    print("READY", s.getsockname()[1], flush=True)
    def request(c):
        got = b""
        while b"\\r\\n\\r\\n" not in got:
            more = c.recv(65536)
            if not more: return False
            got += more
        return True
    def serve(c, first):
        n = 0
        while request(c):
            n += 1
            if first and n == 2:
                if how == "reset": c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return c.close()
            c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
            if first and how == "at-once": return c.close()
        c.close()
    def accept():
        first = True
        while True:
            c, _ = s.accept()
            threading.Thread(target=serve, args=(c, first), daemon=True).start()
            first = False
    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()
    """

  @Test(
    "a kept connection that the server gave up costs no attempt",
    arguments: ["at-once", "on-request", "reset"])
  func keptConnection(_ how: String) async throws {
    let server = try LocalServer("-c", Self.stale, how)
    let client = HTTPClient(transport: CurlTransport(), retry: .none)
    for number in 1...4 {
      let response = try await send(client, try HTTPURL(server.base + "/\(number)"))
      #expect(response.status == 200 && response.attempts == 1)
    }
  }

  /// Sends byte by byte what the first argument says, endlessly.
  /// Answers each request after a moment with the number of connections so far.
  private static let counting = """
    import sys, threading, time
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    class H(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        count = 0
        def setup(self):
            H.count += 1
            super().setup()
        def log_message(self, *a): pass
        def do_GET(self):
            time.sleep(0.05)
            body = str(H.count).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
    s = ThreadingHTTPServer(("127.0.0.1", 0), H)
    print("READY", s.server_port, flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), s.shutdown()), daemon=True).start()
    s.serve_forever()
    """

  @Test("connections are used again, however many requests are under way")
  func reuse() async throws {
    let server = try LocalServer("-c", Self.counting)
    let client = HTTPClient(transport: CurlTransport(), retry: .none)
    let url = try HTTPURL(server.base + "/")
    var counts: [String] = []
    for together in [8, 1, 8, 2, 8] {
      let bodies = try await withThrowingTaskGroup(of: [UInt8].self) { group in
        for _ in 0..<together { group.addTask { try await send(client, url).body } }
        return try await group.reduce(into: [String]()) { $0.append(String(decoding: $1, as: UTF8.self)) }
      }
      counts.append(bodies.max() ?? "")
    }
    #expect(counts == ["8", "8", "8", "8", "8"])
  }

  private static let drip = """
    import socket, sys, threading, time
    part, pause = sys.argv[1].encode().decode("unicode_escape").encode(), float(sys.argv[2])
    s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(16)
    print("READY", s.getsockname()[1], flush=True)
    def serve(c):
        try:
            c.recv(65536)
            c.sendall(b"HTTP/1.1 200 OK\\r\\n")
            while True:
                c.sendall(part)
                time.sleep(pause)
        except OSError: pass
    def accept():
        while True:
            threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()
    """

  @Test(
    "header fields that never end are ended by a limit",
    arguments: [
      ("x", "0.02", "nothing came for 200 ms"), ("X-A: b\\r\\n", "0.02", "the server was too slow"),
      ("X-A: " + String(repeating: "y", count: 9000) + "\\r\\n", "0", "the header fields are larger than"),
    ])
  func headers(_ part: String, _ pause: String, _ message: String) async throws {
    let server = try LocalServer("-c", Self.drip, part, pause)
    let client = HTTPClient(
      transport: CurlTransport(),
      limits: HTTPLimits(connect: .seconds(5), idle: .milliseconds(200), total: .milliseconds(2500)),
      retry: .none)
    let error = await #expect(throws: HTTPError.self) {
      try await send(client, try HTTPURL(server.base + "/"))
    }
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }

  #if os(Linux)
    @Test("a name whose lookup never ends fails by the time to connect")
    func stuckLookup() throws {
      // In place of the system's lookup one that ends the program, long after the time to connect is over.
      let folder = try TemporaryFolder()
      let lookup = "#include <unistd.h>\nint getaddrinfo(void) { sleep(240); _exit(99); }\n"
      try Data(lookup.utf8).write(to: URL(fileURLWithPath: folder.path + "/lookup.c"))
      let library = folder.path + "/lookup.so"
      let compiler = try Shell.result(
        ["clang", "-fno-builtin", "-shared", "-fPIC", "-o", library, folder.path + "/lookup.c"])
      guard compiler.status == 0 else { return print("skipped: no C compiler: \(compiler.errors)") }
      let result = try run(
        "http://api.example.invalid/", ["LD_PRELOAD": library], as: "030")
      #expect(result.status == 1, "\(result)")
      #expect((result.output + result.errors).contains("the server was too slow"), "\(result)")
    }
  #endif
}
