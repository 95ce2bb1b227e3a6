import SyncEngine
import Synchronization
import WebServer

/// What a running service tells over HTTP: to people at `/`, to Prometheus at `/metrics`, to supervisors at `/healthz`
/// and `/readyz`.
///
/// ```swift
/// let site = try ServiceSite(address: "127.0.0.1:9469", token: nil) { snapshot }
/// try site.start()
/// site.stop()
/// ```
final class ServiceSite: Sendable {
  let address: ListenAddress
  private let access: SiteAccess
  private let snapshot: @Sendable () -> ServiceSnapshot
  private let server = Mutex<WebServer?>(nil)

  /// - Parameters:
  ///   - address: such as `127.0.0.1:9469`.
  ///   - token: asked for where there is one; needed for addresses that other machines can reach.
  ///   - snapshot: called for each request, on a thread that all of them share.
  /// - Throws: `UsageError` for an address that is none, or may not be listened on without a token, and for a token that
  ///   is of no use.
  init(
    address: String, token: String?, snapshot: @escaping @Sendable () -> ServiceSnapshot
  ) throws(UsageError) {
    self.address = try ListenAddress(address)
    access = try SiteAccess(self.address, token: token)
    self.snapshot = snapshot
  }

  /// Listens, if it does not yet.
  ///
  /// - Throws: `WebServerError`, such as for a port that is taken.
  func start() throws(WebServerError) {
    guard port == nil else { return }
    let started = try WebServer(host: address.host, port: address.port) { [access, snapshot] request in
      Self.response(to: request, access, snapshot)
    }
    server.withLock { $0 = started }
  }

  /// Ends within a second, also where clients are connected.
  func stop() {
    let running = server.withLock { server in
      defer { server = nil }
      return server
    }
    running?.stop()
  }

  /// The port it listens on; nil before the start and after the end.
  var port: Int? { server.withLock { $0?.port } }

  private static func response(
    to request: WebRequest, _ access: SiteAccess, _ snapshot: () -> ServiceSnapshot
  ) -> WebResponse {
    var response = content(for: request, access, snapshot)
    response.headers += headers
    return response
  }

  private static func content(
    for request: WebRequest, _ access: SiteAccess, _ snapshot: () -> ServiceSnapshot
  ) -> WebResponse {
    // A supervisor need not know a secret to learn whether the process works.
    if request.path != "/healthz" || !access.asksForToken, let refusal = access.refusal(of: request) {
      return refusal
    }
    switch request.path {
    case "/":
      return WebResponse(
        headers: [("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", pagePolicy)],
        body: Array(StatusPage.html(snapshot()).utf8))
    case "/metrics":
      return WebResponse(
        headers: [("Content-Type", Metrics.contentType)], body: Array(Metrics.text(snapshot()).utf8))
    case "/healthz":
      let problem = ServiceHealth(snapshot()).problem
      return .text(problem ?? "ok", status: problem == nil ? 200 : 503)
    case "/readyz":
      let unready = ServiceHealth(snapshot()).unready
      return .text(
        unready.isEmpty ? "ok" : unready.joined(separator: "\n"), status: unready.isEmpty ? 200 : 503)
    default:
      return .text("there is no such page; there are /, /metrics, /healthz and /readyz", status: 404)
    }
  }

  private static let headers: [(name: String, value: String)] = [
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
  ]

  /// Nothing but the page's own script and style, by their digests (w3.org/TR/CSP3).
  private static let pagePolicy: String = {
    func source(_ text: StaticString) -> String { "'sha256-\(Digest.hash(.sha256, "\(text)", as: .base64))'" }
    return [
      "default-src 'none'", "script-src \(source(StatusPage.script))",
      "style-src \(source(StatusPage.style))",
      "connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'",
      "frame-ancestors 'none'",
    ].joined(separator: "; ")
  }()
}
