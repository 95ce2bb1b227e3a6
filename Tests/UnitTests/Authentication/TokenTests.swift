import Foundation
import HTTP
import TestSupport
import Testing

@testable import SyncEngine

/// Tokens: how they are got, shared, renewed and kept. The server's log says what it was asked for, in order.
@Suite(.timeLimit(.minutes(15)), .fewAtATime)
struct TokenTests {
  private let id = secret("client one")
  private let password = secret("client+secret/1")

  private func client(_ url: String = "token", sentIn place: Authentication.ClientPlace = .header)
    -> Authentication
  {
    .clientCredentials(
      url, client: id, secret: password, sentIn: place, scope: "a b", parameters: ["audience": "x&y"])
  }

  private func refreshing() -> Authentication {
    .refreshToken(secret("refresh-token-0"), at: "token", client: id, secret: password)
  }

  @Test("client credentials: one token for many requests at once, sent in the header or the body")
  func clientCredentials() async throws {
    let server = try AuthServer()
    let caller = try Caller(server, client())
    await withTaskGroup { group in
      for _ in 0..<8 { group.addTask { #expect(await caller.ask("oauth/items") == "200") } }
    }
    #expect(try await Caller(server, client(sentIn: .body)).ask("oauth/items") == "200")
    let asked = "client_credentials audience=x&y scope=a b 200"
    try expect(
      server.log(),
      is: (["POST /token basic \(asked)"] + Array(repeating: "GET /oauth/items access-token-1 200", count: 8)
        + ["POST /token body \(asked)", "GET /oauth/items access-token-2 200"]).joined(separator: "\n"))
  }

  @Test("a token that the server voided, or that ran out, is renewed once; a second 401 is the answer")
  func renewal() async throws {
    let server = try AuthServer()
    let caller = try Caller(server, client())
    #expect(await caller.ask("oauth/items") == "200")
    try server.set(#"{"void_at": 1}"#)
    #expect(await caller.ask("oauth/items") == "200")
    try server.set(#"{"refuse": true, "expires_in": 4}"#)
    #expect(await caller.ask("oauth/items") == #"401 {"message": "*** is refused"}"#)
    try server.set(#"{"refuse": false, "expires_in": 0}"#)
    try await Task.sleep(for: .seconds(4))
    #expect(await caller.ask("oauth/items") == "200")
    #expect(await caller.ask("oauth/items") == "200")
    try expect(
      server.log().replacingOccurrences(of: "basic client_credentials audience=x&y scope=a b ", with: ""),
      is: """
        POST /token 200
        GET /oauth/items access-token-1 200
        GET /oauth/items access-token-1 401
        POST /token 200
        GET /oauth/items access-token-2 200
        GET /oauth/items access-token-2 401
        POST /token 200
        GET /oauth/items access-token-3 401
        POST /token 200
        GET /oauth/items access-token-4 200
        GET /oauth/items access-token-4 200
        """)
  }

  @Test("many that are refused at once renew once")
  func refusedTogether() async throws {
    let server = try AuthServer()
    let caller = try Caller(server, client())
    await caller.ask("oauth/items")
    try server.set(#"{"void_at": 1}"#)
    await withTaskGroup { group in
      for _ in 0..<6 { group.addTask { #expect(await caller.ask("oauth/items") == "200") } }
    }
    #expect(try server.log().split(separator: "\n").filter { $0.hasPrefix("POST") }.count == 2)
  }

  @Test("rotating refresh tokens: each is used once, by whichever program comes next")
  func rotation() async throws {
    let server = try AuthServer()
    let fixture = try Fixture()
    let first = try Caller(server, refreshing(), store: fixture.store)
    #expect(await first.ask("oauth/items") == "200")
    // Another program takes the token that is there, and renews with the latest refresh token.
    let second = try Caller(server, refreshing(), store: fixture.open())
    #expect(await second.ask("oauth/items") == "200")
    try server.set(#"{"void_at": 1}"#)
    #expect(await second.ask("oauth/items") == "200")
    // The first finds its token refused, and the new one in the store.
    #expect(await first.ask("oauth/items") == "200")
    try server.set(#"{"void_at": 1, "rotate": false}"#)
    #expect(await first.ask("oauth/items") == "200")
    try server.set(#"{"void_at": 1}"#)
    #expect(await first.ask("oauth/items") == "200")
    try expect(
      server.log(),
      is: """
        POST /token basic refresh_token refresh_token=refresh-token-0 200
        GET /oauth/items access-token-1 200
        GET /oauth/items access-token-1 200
        GET /oauth/items access-token-1 401
        POST /token basic refresh_token refresh_token=refresh-token-1 200
        GET /oauth/items access-token-2 200
        GET /oauth/items access-token-1 401
        GET /oauth/items access-token-2 200
        GET /oauth/items access-token-2 401
        POST /token basic refresh_token refresh_token=refresh-token-2 200
        GET /oauth/items access-token-3 200
        GET /oauth/items access-token-3 401
        POST /token basic refresh_token refresh_token=refresh-token-2 200
        GET /oauth/items access-token-4 200
        """)
    // What is kept tells nobody a token, and serves no other declaration.
    let kept = try fixture.rows("SELECT * FROM syncd_state")
    #expect(
      kept.contains(":auth | token ") && !kept.contains("-token-") && !kept.contains("client"), "\(kept)")
    let other = try Caller(
      server, .refreshToken(secret("refresh-token-x"), at: "token", client: id, secret: password),
      store: fixture.store)
    #expect(
      await other.ask("oauth/items")
        == "no token: \(server.base)/token answered HTTP 400: invalid_grant, *** is void")
  }

  @Test("a cancelled request waits for no token, unless the token would be lost")
  func cancellation() async throws {
    let server = try AuthServer()
    let fixture = try Fixture()
    for (auth, seconds) in [(client(), 30), (refreshing(), 2)] {
      try server.set("{\"stall_token\": \(seconds)}")
      let caller = try Caller(server, auth, store: fixture.store)
      let task = Task { await caller.ask("oauth/items") }
      try await Task.sleep(for: .milliseconds(500))
      task.cancel()
      #expect(await task.value == "CancellationError()")
      // The server tells what it was asked for when it answers.
      #expect(try server.log().contains("client_credentials") == false)
    }
    // The second one's token is there for the next program.
    #expect(
      try await Caller(server, refreshing(), store: fixture.open()).ask("oauth/items") == "200")
    #expect(try server.log().split(separator: "\n").filter { $0.contains("refresh_token=") }.count == 1)
  }

  @Test("each of several cancelled requests stops waiting at once, and the last one ends the question")
  func cancelledTogether() async throws {
    let server = try AuthServer()
    try server.set("{\"stall_token\": 3600}")
    let caller = try Caller(server, client())
    let tasks = (0..<4).map { _ in Task { await caller.ask("oauth/items") } }
    try await Task.sleep(for: .milliseconds(500))
    // The others still wait for the token; without an answer they would fail by the time limit instead.
    tasks[0].cancel()
    #expect(await tasks[0].value == "CancellationError()")
    for task in tasks { task.cancel() }
    for task in tasks { #expect(await task.value == "CancellationError()") }
  }

  @Test("two programs that need a token at once ask for one")
  func twoPrograms() async throws {
    let server = try AuthServer()
    let fixture = try Fixture()
    let callers = try (0..<3).map { _ in try Caller(server, refreshing(), store: fixture.open()) }
    let answers = await withTaskGroup(of: String.self) { group in
      for caller in callers { group.addTask { await caller.ask("oauth/items") } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers == ["200", "200", "200"])
    try expect(
      server.log(),
      is: (["POST /token basic refresh_token refresh_token=refresh-token-0 200"]
        + Array(repeating: "GET /oauth/items access-token-1 200", count: 3)).joined(separator: "\n"))
  }

  @Test(
    "an endpoint that gives no token is quoted, without secrets",
    arguments: [
      (
        #"[400, {"error": "invalid_scope", "error_description": "client+secret/1 may not"}]"#,
        "400: invalid_scope, *** may not"
      ),
      (#"[200, {"error": "slow_down"}]"#, "200: slow_down"),
      (#"[200, {"access_token": ""}]"#, "200 without a token"),
      (#"[503, {"message": "busy"}]"#, "503: busy (after 2 attempts)"), ("[204, {}]", "204"),
      (#"[401, {"error": "invalid_client"}]"#, "401: invalid_client"),
    ])
  func refusals(_ answer: String, _ expected: String) async throws {
    let server = try AuthServer()
    try server.set("{\"token_answer\": \(answer)}")
    #expect(
      try await Caller(server, client()).ask("oauth/items")
        == "no token: \(server.base)/token answered HTTP \(expected)")
    #expect(try !server.log().contains("GET"))
  }

  @Test("a token's endpoint may be declared on another origin, and gets its own credentials alone")
  func otherOrigin() async throws {
    let (server, other) = (try AuthServer(), try AuthServer())
    // Tokens of the other server are not known to the API's.
    let caller = try Caller(server, .header("X-Key", secret("the-key-1")), client(other.base + "/token"))
    #expect(await caller.ask("key/items") == "200")
    try expect(other.log(), is: "POST /token basic client_credentials audience=x&y scope=a b 200")
    try expect(server.log(), is: "GET /key/items the-key-1 - - 200")
    // A redirect of the endpoint is not followed.
    try other.set(#"{"redirect": "\#(server.base)/token"}"#)
    let redirected = try Caller(server, client(other.base + "/token"))
    #expect(
      await redirected.ask("oauth/items")
        == "no token: \(other.base)/token: a redirect leads to another origin, \(server.base), which is not declared"
    )
    #expect(try !server.log().contains("token"))
    let error = #expect(throws: DeclarationError.self) {
      try Caller("https://api.example.invalid", [client("http://login.example.invalid/token")])
    }
    #expect(error?.message.contains("is not https") == true)
  }

  @Test("a login gives a session, in JSON, a header field or a cookie, and again after a 401")
  func login() async throws {
    let server = try AuthServer()
    let (user, word) = (secret("ann"), secret("pass:word 1"))
    let json = Authentication.login(
      "login", ["user.name": user, "user.password": word], adding: ["realm": "staff"],
      token: .json("data.token"))
    let header = Authentication.login(
      "login", ["user": user, "password": word], as: .form, adding: ["realm": "staff"],
      token: .header("X-Session"))
    let cookie = Authentication.login(
      "login", ["user": user, "password": word], adding: ["realm": "staff"], token: .cookie("SID"))
    let caller = try Caller(server, json)
    #expect(await caller.ask("session/items") == "200")
    #expect(try await Caller(server, header).ask("session/items") == "200")
    #expect(try await Caller(server, cookie).ask("session/items") == "200")
    #expect(await caller.ask("session/items") == "200")
    try expect(
      server.log(),
      is: """
        POST /login json 200
        GET /session/items session-token-1 200
        POST /login x-www-form-urlencoded 200
        GET /session/items session-token-2 200
        POST /login json 200
        GET /session/items session-token-3 200
        GET /session/items session-token-1 401
        POST /login json 200
        GET /session/items session-token-4 200
        """)
    let wrong = Authentication.login("login", ["user": user, "password": user], token: .cookie("SID"))
    #expect(
      try await Caller(server, wrong).ask("session/items")
        == "no token: \(server.base)/login answered HTTP 403: no ***")
    let missing = Authentication.login(
      "login", ["user": user, "password": word], adding: ["realm": "staff"], token: .json("token"))
    #expect(
      try await Caller(server, missing).ask("session/items")
        == "no token: \(server.base)/login answered HTTP 200 without a token at \"token\"")
  }
}
