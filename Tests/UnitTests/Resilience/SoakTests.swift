import Foundation
import HTTP
import TestSupport
import Testing

/// What a program that runs for weeks must not do: grow.
@Suite(.fewAtATime)
struct SoakTests {
  private static let counter = """
    import sys, threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    N = 0
    class H(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        def log_message(self, *a): pass
        def do_GET(self):
            global N
            if self.path == "/_count":
                body = str(N).encode()
            else:
                N += 1
                body = ('[{"id": 1}, {"id": %d}]' % (N % 7 + 2)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            # Now and then a new connection.
            if N % 50 == 0:
                self.send_header("Connection", "close")
                self.close_connection = True
            self.end_headers()
            self.wfile.write(body)
    s = ThreadingHTTPServer(("127.0.0.1", 0), H)
    s.daemon_threads = True
    print("READY", s.server_port, flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), s.shutdown()), daemon=True).start()
    s.serve_forever()
    """

  /// Runs over PostgreSQL take longer, and leave more behind if they leave anything.
  private static let (few, many) = StoreKind.words(sqlite: (1_000, 10_000), postgresql: (500, 2_000))

  @Test("thousands of pages leave memory and descriptors as they were before", .timeLimit(.minutes(15)))
  func flat() async throws {
    let server = try LocalServer("-c", Self.counter)
    let fixture = try Fixture()
    let file = fixture.folder.path + "/syncd.json"
    try Data(
      #"{"store": "\#(fixture.location)", "apis": {"case": {"url": "\#(server.base)/"}}}"#.utf8
    ).write(to: URL(fileURLWithPath: file))
    let process = try ChildProcess(
      [Shell.product("CaseEntities"), "watch", "--config", file, "--interval", "1ms"],
      environment: TestEnvironment.variables.merging(["SYNCD_CASE": "028-gzip"]) { $1 })
    let transport = CurlTransport()
    func measure(after count: Int) async throws -> (kilobytes: Int, descriptors: Int) {
      while true {
        let pages = Int(try await transport.text(server.base + "/_count")) ?? 0
        guard process.isRunning else { throw TestFailure("the program ended after \(pages) pages") }
        if pages >= count { break }
        try await Task.sleep(for: .milliseconds(50))
      }
      let status = try String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
      let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
      let descriptors = try FileManager.default.contentsOfDirectory(
        atPath: "/proc/\(process.processIdentifier)/fd")
      return (Int(line.filter(\.isNumber)) ?? 0, descriptors.count)
    }
    let first = try await measure(after: Self.few)
    let last = try await measure(after: Self.many)
    print("soak: \(first) after \(Self.few) pages, \(last) after \(Self.many)")
    #expect(first.kilobytes > 0 && last.kilobytes < first.kilobytes + 4096)
    #expect(last.descriptors <= first.descriptors + 4)
  }
}
