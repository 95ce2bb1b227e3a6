import Foundation
import HTTP
import SyncEngine
import TestSupport
import Testing

extension API {
  fileprivate static let nginx = API("nginx", url: "http://127.0.0.1:1/")
  fileprivate static let nginxUser = API(
    "nginx-user", url: "http://127.0.0.1:1/",
    auth: .basic(user: .environment("NGINX_USER"), password: .environment("NGINX_PASSWORD")))
  fileprivate static let nginxKey = API(
    "nginx-key", url: "http://127.0.0.1:1/", auth: .header("X-API-Key", .environment("NGINX_KEY")))
  /// The authority is made when the server starts.
  fileprivate static var nginxSecure: API {
    API("nginx-secure", url: "https://127.0.0.1:1/", auth: .authority(variable("NGINX_AUTHORITY")))
  }
  fileprivate static let nginxUnknown = API("nginx-unknown", url: "https://127.0.0.1:1/")

  private static func variable(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }
}

private protocol Place: Sendable {
  static var api: API { get }
  static var path: String { get }
}

extension Place {
  static var api: API { .nginx }
}

private struct Item<P: Place>: Entity {
  var id = 0
  var name = ""
  var share = 0.0

  static var table: String { String(describing: P.self).lowercased() }
  static var source: Source { Source(P.api, P.path, rows: "items", paging: .next("next")) }
  static var mapping: Mapping<Item> {
    Key(\.id)
    Field(\.name)
    Field(\.share)
  }
  static var deletion: Deletion<Item> { .missing }
}

private enum Compressed: Place { static let path = "pages/1.json" }
private enum Moved: Place { static let path = "moved/pages/1.json" }
private enum Limited: Place { static let path = "limited/pages/1.json" }
private enum User: Place {
  static let api = API.nginxUser
  static let path = "auth/pages/1.json"
}
private enum Keyed: Place {
  static let api = API.nginxKey
  static let path = "key/pages/1.json"
}
private enum Secure: Place {
  static var api: API { .nginxSecure }
  static let path = "pages/1.json"
}

private enum Unknown: Place {
  static let api = API.nginxUnknown
  static let path = "pages/1.json"
}
private enum Locked: Place { static let path = "auth/pages/1.json" }
private enum Keyless: Place { static let path = "key/pages/1.json" }
private enum Absent: Place { static let path = "pages/none.json" }
private enum Cut: Place { static let path = "cut/" }
private enum Page: Place { static let path = "html/" }
private enum Unavailable: Place { static let path = "unavailable/" }
private enum Closed: Place { static let path = "closed/" }

extension ServerTests {
  @Test(
    "nginx: compressed files, passwords, keys, redirects, limits, TLS with HTTP/2, and answers that fail a run"
  )
  func nginx() async throws {
    let server = try RealServer("nginx")
    let port = try String(contentsOfFile: server.folder.path + "/secure-port", encoding: .utf8)
    setenv("NGINX_USER", "user", 1)
    setenv("NGINX_PASSWORD", "secret", 1)
    setenv("NGINX_KEY", "k1", 1)
    setenv("NGINX_AUTHORITY", server.folder.path + "/ca.pem", 1)
    let others = [
      "nginx-user": server.base + "/", "nginx-key": server.base + "/",
      "nginx-secure": "https://localhost:\(port)/", "nginx-unknown": "https://localhost:\(port)/",
    ]
    let lines = [
      "6 pages, 6000 records, 6000 inserted, 0 updated, 0 unchanged, 0 deleted, proven",
      "7 pages, 6010 records, 40 inserted, 20 updated, 5950 unchanged, 30 deleted, proven",
    ]
    try await server.follow(
      [
        Item<Compressed>.self, Item<Moved>.self, Item<Limited>.self, Item<User>.self, Item<Keyed>.self,
        Item<Secure>.self,
      ],
      api: "nginx", others: others, columns: "id, name, share", lines: Array(repeating: lines, count: 6))
    let requests = try String(contentsOfFile: server.folder.path + "/requests", encoding: .utf8)
    #expect(requests.contains("/pages/2.json HTTP/1.1 200 gzip\n"))
    #expect(requests.contains("/pages/2.json HTTP/2.0 200 gzip\n"))
    #expect(requests.contains("/limited/pages/3.json HTTP/1.1 429 -\n"))

    try await multiplexed("https://localhost:\(port)/pages/2.json", server.folder.path + "/ca.pem")

    let fixture = try Fixture()
    let engine = Engine(
      store: fixture.store, options: .init(urls: others.merging(["nginx": server.base + "/"]) { $1 }))
    let entities: [any Entity.Type] = [
      Item<Locked>.self, Item<Keyless>.self, Item<Absent>.self, Item<Cut>.self, Item<Page>.self,
      Item<Unavailable>.self, Item<Closed>.self, Item<Unknown>.self,
    ]
    var said = ""
    for entity in entities {
      said += await outcome(of: engine, entity).replacingOccurrences(of: server.base, with: "") + "\n"
    }
    expect(
      said.replacingOccurrences(of: port, with: "PORT"),
      is: """
        locked: page 1 (/auth/pages/1.json): HTTP 401 Unauthorized
        keyless: page 1 (/key/pages/1.json): HTTP 403 Forbidden: no key
        absent: page 1 (/pages/none.json): HTTP 404 Not Found
        cut: page 1 (/cut/): the body is not JSON (HTTP 200, application/json): the document ends too early (at byte 45); it begins with {"items":[{"id":1,"name":"a","share":1},{"id":
        page: page 1 (/html/): the body is HTML, not JSON (HTTP 200, text/html); it begins with <html><body>maintenance</body></html>
        unavailable: page 1 (/unavailable/): HTTP 503 Service Unavailable (after 4 attempts)
        closed: page 1 (/closed/): the answer was cut short: empty reply from server (after 4 attempts)
        unknown: page 1 (https://localhost:PORT/pages/1.json): SSL certificate problem: unable to get local issuer certificate

        """)
  }

  /// Twenty requests at a time over HTTP/2, two thousand in all: each has its own whole answer.
  private func multiplexed(_ address: String, _ authority: String) async throws {
    let client = HTTPClient(
      transport: CurlTransport(),
      limits: HTTPLimits(connect: .seconds(30), idle: .seconds(30), total: .seconds(60)), retry: .none,
      limiter: RateLimiter(interval: .zero, concurrency: 20))
    let url = try HTTPURL(address)
    let sizes = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<2000 {
        group.addTask {
          var request = HTTPRequest(url: url)
          request.tls = TLSFiles(authority: authority)
          let response = try await client.send(request, home: url.origin) { _ in }
          return response.status == 200 && response.isEndKnown ? response.body.count : -1
        }
      }
      return try await group.reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
    }
    #expect(sizes.count == 1 && sizes.keys.allSatisfy { $0 > 10_000 }, "\(sizes)")
  }
}
