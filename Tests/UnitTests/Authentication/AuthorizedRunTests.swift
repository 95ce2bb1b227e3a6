import Foundation
import HTTP
import SyncEngine
import TestSupport
import Testing

extension API {
  fileprivate static let auth = API(
    "auth", url: "https://auth.example.invalid/",
    auth: .refreshToken(
      secret("refresh-token-0"), at: "token", client: secret("client one"), secret: secret("client+secret/1")),
    retry: RetryPolicy(retries: 0))
}

private struct Order: Entity {
  var id = 0
  var v = ""
  static let source = Source(.auth, "oauth/items", rows: "data", paging: .next("next"))
  static var mapping: Mapping<Order> {
    Key(\.id)
    Field(\.v)
  }
}

private struct Invoice: Entity {
  var id = 0
  var v = ""
  static let source = Source(.auth, "oauth/items", query: ["kind": "invoice"], rows: "data", paging: .none)
  static var mapping: Mapping<Invoice> {
    Key(\.id)
    Field(\.v)
  }
}

/// Whole runs against a server that asks for credentials.
@Suite(.timeLimit(.minutes(15)), .fewAtATime)
struct AuthorizedRunTests {
  private func engine(_ fixture: Fixture, _ server: AuthServer) -> Engine {
    Engine(store: fixture.store, options: .init(urls: ["auth": server.base + "/"], wait: .seconds(60)))
  }

  @Test("two entities of an API share one token, and one that turns void in the middle of a walk is replaced")
  func runs() async throws {
    let (server, fixture) = (try AuthServer(), try Fixture())
    let engine = self.engine(fixture, server)
    try server.set(#"{"pages": 3, "void_at": 2}"#)
    async let first = outcome(of: engine, Order.self)
    async let second = outcome(of: engine, Invoice.self)
    let lines = await [first, second]
    #expect(lines[0] == "order: 3 pages, 3 records, 3 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    #expect(lines[1].hasPrefix("invoice: 1 pages, 1 records, 1 inserted"))
    let log = try server.log().split(separator: "\n").filter { !$0.contains("kind=invoice") }
    expect(
      log.joined(separator: "\n"),
      is: """
        POST /token basic refresh_token refresh_token=refresh-token-0 200
        GET /oauth/items access-token-1 200
        GET /oauth/items?page=2 access-token-1 401
        POST /token basic refresh_token refresh_token=refresh-token-1 200
        GET /oauth/items?page=2 access-token-2 200
        GET /oauth/items?page=3 access-token-2 200
        """)
  }

  @Test("who asks is the same from run to run while tokens change: deletion stays armed")
  func principal() async throws {
    let (server, fixture) = (try AuthServer(), try Fixture())
    for _ in 0..<2 {
      try server.set(#"{"void_at": 1}"#)
      #expect(await outcome(of: engine(fixture, server), Order.self).hasSuffix(", proven"))
    }
    #expect(try server.log().contains("refresh_token=refresh-token-1 200"))
  }

  // MARK: The program

  private struct Program {
    let fixture: Fixture
    let server: AuthServer
    let secrets: [String: String]
    var folder: TemporaryFolder { fixture.folder }

    init(_ server: AuthServer) throws {
      fixture = try Fixture()
      self.server = server
      secrets = [
        "AUTH_ID": "client one", "AUTH_SECRET": "client+secret/1", "AUTH_REFRESH": "refresh-token-0",
        "AUTH_PASSWORD": "pass:word 1",
      ]
      try #"{"store": "\#(fixture.location)", "apis": {"auth": {"url": "\#(server.base)/"}}}"#
        .write(toFile: fixture.folder.path + "/config.json", atomically: true, encoding: .utf8)
    }

    func command(_ words: String...) -> [String] {
      [Shell.product("CaseEntities")] + words + ["--config", folder.path + "/config.json"]
    }

    func once(_ variant: String, _ words: String...) throws -> Shell.Result {
      try Shell.result(
        command("once") + words, environment: secrets.merging(["SYNCD_CASE": variant]) { $1 })
    }

    func stored() throws -> String { try fixture.contents() }
  }

  @Test(
    "a key in the path: encoded, shown nowhere, and never in the place of a value", arguments: [true, false])
  func pathKey(_ isInURL: Bool) async throws {
    TestEnvironment.prepare()
    let fixture = try Fixture()
    let server = try fixture.server()
    let api = API(
      "pages", url: "https://pages.example.invalid/",
      auth: .path("token", .environment("NOT_MODIFIED_KEY")), retry: .none)
    let source = Source(
      api, isInURL ? "all" : "bot{token}/all", query: ["q": "%7btoken%7d{{token}}"], paging: .none)
    let engine = Engine(
      store: fixture.store,
      options: .init(urls: ["pages": server.base + (isInURL ? "/bot{token}/" : "/")]))
    try server.serve([
      Route(
        "/bots3cret%2Fkey%2B1/all", status: 404, body: #"{"message": "no /bots3cret/key+1/all here"}"#,
        times: 1),
      Route("/bots3cret%2Fkey%2B1/all", body: #"[{"id": 1}]"#),
    ])
    let line = await Row.$source.withValue(source) { await outcome(of: engine, Row.self) }
    expect(
      line.replacing(server.base, with: ""),
      is:
        "thing: page 1 (/bot%7btoken%7d/all?q=%257btoken%257d%7Btoken%7D): HTTP 404 Not Found: no /bot***/all here"
    )
    let again = await Row.$source.withValue(source) { await outcome(of: engine, Row.self) }
    #expect(again.hasSuffix("1 inserted, 0 updated, 0 unchanged, 0 deleted, proven"), "\(again)")
    #expect(
      try server.requests().map(\.target)
        == Array(repeating: "/bots3cret%2Fkey%2B1/all?q=%257btoken%257d%7Btoken%7D", count: 2))
    #expect(try !fixture.contents().contains("s3cret"))
  }

  @Test("a rotated refresh token survives kill -9 between the answer and its first use")
  func killed() async throws {
    let program = try Program(AuthServer())
    try program.server.set(#"{"stall": true}"#)
    let process = try ChildProcess(
      [Shell.product("CaseEntities")] + program.command("once").dropFirst(),
      environment: TestEnvironment.variables.merging(program.secrets) { $1 }
        .merging(["SYNCD_CASE": "auth-refresh"]) { $1 })
    while try !program.server.log().contains("stalled") { try await Task.sleep(for: .milliseconds(20)) }
    process.send(SIGKILL)
    #expect(process.wait() == -SIGKILL)
    try program.server.set(#"{"stall": false, "void_at": 1}"#)
    #expect(try program.once("auth-refresh").status == 0)
    try expect(
      program.server.log(),
      is: """
        POST /token basic refresh_token refresh_token=refresh-token-0 200
        GET /oauth/items access-token-1 stalled
        GET /oauth/items access-token-1 401
        POST /token basic refresh_token refresh_token=refresh-token-1 200
        GET /oauth/items access-token-2 200
        """)
  }

  @Test(
    "no secret is in anything that a failing run prints or stores",
    arguments: [
      ("auth-refresh", #"{"refuse": true}"#),
      (
        "auth-refresh",
        #"{"token_answer": [400, {"error": "invalid_grant", "error_description": "client+secret/1 refresh-token-0 Y2xpZW50JTIwb25lOmNsaWVudCUyQnNlY3JldCUyRjE="}]}"#
      ),
      (
        "auth-refresh",
        #"{"token_answer": [200, {"access_token": "made\nup-token-77", "refresh_token": "made-up-token-78"}]}"#
      ),
      ("auth-login", #"{"refuse": true}"#), ("auth-basic", #"{"refuse": true}"#),
      ("auth-signed", #"{"refuse": true}"#),
    ])
  func secrets(_ variant: String, _ state: String) throws {
    let program = try Program(AuthServer())
    try program.server.set(state)
    for format in ["text", "json"] {
      let result = try program.once(variant, "--log-format", format)
      #expect(result.status == 1, "\(result)")
      let all = result.output + result.errors + (try program.stored())
      let hidden = [
        "client+secret", "client%2Bsecret", "pass:word", "refresh-token", "access-token", "session-token",
        "made-up-token", "up-token-77", Data("ann:pass:word 1".utf8).base64EncodedString(),
        "Y2xpZW50JTIwb25lOmNsaWVudCUyQnNlY3JldCUyRjE",
      ]
      for text in hidden { #expect(!all.contains(text), "\(text): \(result)") }
    }
    #expect(try program.server.log().split(separator: "\n").count >= 2)
  }
}
