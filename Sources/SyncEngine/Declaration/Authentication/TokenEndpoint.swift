import HTTP
import JSON

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Asks for tokens: one endpoint with its own credentials.
struct TokenEndpoint: Sendable {
  let source: TokenSource
  /// The values of the source's secrets, by reference.
  let values: [Secret: String]
  let url: HTTPURL
  let client: HTTPClient
  let tls: TLSFiles?
  let redactor: Redactor

  /// - Parameter refresh: the refresh token to use in place of the declared one.
  /// - Throws: ``HTTPError`` with the server's message, `CancellationError`.
  func token(refresh: String?) async throws -> Token {
    let now = time(nil)
    if case .selfSigned(let token) = source.grant {
      let text = try signed(token, at: now)
      return Token(text, lifetime: Int(token.lifetime.components.seconds), at: now)
    }
    var request = HTTPRequest("POST", url: url, headers: ["Accept": "application/json"])
    request.tls = tls
    var usedRefresh: String?
    switch source.grant {
    case .login(let login): fill(&request, with: login)
    case .clientCredentials: fill(&request, with: [("grant_type", "client_credentials")])
    case .refreshToken(let seed):
      usedRefresh = refresh ?? value(seed)
      fill(&request, with: [("grant_type", "refresh_token"), ("refresh_token", usedRefresh ?? "")])
    case .assertion(let token):
      fill(
        &request,
        with: [
          ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
          ("assertion", try signed(token, at: now)),
        ])
    case .selfSigned: break
    }
    let response = try await client.send(request, home: url.origin, authorize: authorize)
    if case .login(let login) = source.grant { return try session(response, login, at: now) }
    return try accessToken(response, usedRefresh: usedRefresh, at: now)
  }

  private func value(_ secret: Secret) -> String { values[secret] ?? "" }

  private func signed(_ token: JSONWebToken, at now: Int) throws -> String {
    let text: String
    do { text = try token.signed(with: value(token.key), at: now) } catch {
      throw HTTPError(.credentials, error.message)
    }
    redactor.add(text)
    return text
  }

  // MARK: The request

  private func authorize(_ request: inout HTTPRequest) {
    guard source.clientPlace == .header, let client = source.client, let secret = source.clientSecret else {
      return
    }
    // Both are form-encoded first (RFC 6749 §2.3.1).
    let field = Authentication.basic(percentEncoded(value(client)), percentEncoded(value(secret)))
    redactor.add(String(field.dropFirst("Basic ".count)))
    request.headers["Authorization"] = field
  }

  private func fill(_ request: inout HTTPRequest, with grant: [(name: String, value: String)]) {
    var fields = grant
    if let scope = source.scope { fields.append(("scope", scope)) }
    fields += source.parameters
    if source.clientPlace == .body || source.clientSecret == nil, let client = source.client {
      fields.append(("client_id", value(client)))
      if let secret = source.clientSecret { fields.append(("client_secret", value(secret))) }
    }
    request.headers["Content-Type"] = "application/x-www-form-urlencoded"
    request.body = Self.form(fields)
  }

  private func fill(_ request: inout HTTPRequest, with login: TokenSource.Login) {
    let fields = login.fixed + login.credentials.map { ($0.name, value($0.value)) }
    switch login.form {
    case .form:
      request.headers["Content-Type"] = "application/x-www-form-urlencoded"
      request.body = Self.form(fields)
    case .json:
      let empty: RequestValue = [:]
      let object = empty.setting(fields.map { PageRequest.Item($0.name, $0.value) })
      request.headers["Content-Type"] = "application/json"
      request.body = Array(object.json(\.description).utf8)
    }
  }

  private static func form(_ fields: [(name: String, value: String)]) -> [UInt8] {
    Array(fields.map { "\(percentEncoded($0.name))=\(percentEncoded($0.value))" }.joined(separator: "&").utf8)
  }

  // MARK: The answer

  private func session(_ response: HTTPResponse, _ login: TokenSource.Login, at now: Int) throws -> Token {
    let root = hideTokens(of: response)
    guard (200...299).contains(response.status) else { throw refused(response, root) }
    let token: String?
    switch login.token {
    case .json(let path): token = root.flatMap { try? path.value(in: $0) }?.scalarText
    case .header(let name): token = response.headers[name]
    case .cookie(let name):
      token = Self.cookies(of: response).last { $0.name == name }?.value
    }
    guard let token, !token.isEmpty else {
      throw HTTPError(
        .credentials, "\(url) answered HTTP \(response.status) without a token at \(Self.text(login.token))")
    }
    redactor.add(token)
    try check(token)
    return Token(token, lifetime: login.lifetime.map { Int($0.components.seconds) }, at: now)
  }

  private static func text(_ token: Authentication.SessionToken) -> String {
    switch token {
    case .json(let path): "\"\(path)\""
    case .header(let name): "the header field \"\(name)\""
    case .cookie(let name): "the cookie \"\(name)\""
    }
  }

  /// RFC 6749 §5.1. Some servers report a failure with status 200.
  private func accessToken(_ response: HTTPResponse, usedRefresh: String?, at now: Int) throws -> Token {
    let root = hideTokens(of: response)
    guard response.status == 200, let token = root?["access_token"]?.string, !token.isEmpty else {
      throw refused(response, root)
    }
    try check(token)
    // A token that has to be used in another way than a bearer token must not be used (RFC 6749 §7.1).
    if let type = root?["token_type"]?.string, ["mac", "dpop", "pop"].contains(type.lowercased()) {
      throw HTTPError(.credentials, "\(url) gave a token of the type \"\(type)\", which is none for a bearer")
    }
    let lifetime = root?["expires_in"].flatMap { $0.scalarText }.flatMap { Double($0) }
      .flatMap { Int(exactly: $0.rounded(.down)) }
    return Token(
      token, lifetime: lifetime, at: now,
      refresh: usedRefresh == nil ? nil : root?["refresh_token"]?.string ?? usedRefresh)
  }

  /// RFC 6749 appendix A.12: visible ASCII characters and the blank.
  private func check(_ token: String) throws {
    guard token.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      throw HTTPError(.credentials, "\(url) gave a token with characters that no request can carry")
    }
  }

  /// Adds all that looks like a token to the redactor; returns the body's root if it is JSON.
  private func hideTokens(of response: HTTPResponse) -> JSONValue? {
    for cookie in Self.cookies(of: response) where cookie.value.utf8.count >= 8 { redactor.add(cookie.value) }
    guard let root = try? JSONDocument.parse(response.body).root else { return nil }
    for (key, value) in root.members where key.lowercased().hasSuffix("token") {
      if let text = value.string { redactor.add(text) }
    }
    return root
  }

  private func refused(_ response: HTTPResponse, _ root: JSONValue?) -> HTTPError {
    let said = ["error", "error_description", "message", "detail", "errors"]
      .compactMap { root?[$0] }.filter { !$0.isNull }
      .map { redactor.excerpt(($0.string ?? $0.text).utf8, limit: 200) }
    let tail =
      said.isEmpty ? (response.status == 200 ? " without a token" : "") : ": \(said.joined(separator: ", "))"
    var error = HTTPError(.credentials, "\(url) answered HTTP \(response.status)\(tail)")
    error.attempts = response.attempts
    return error
  }

  /// Names and values of Set-Cookie fields (RFC 6265 §5.2).
  private static func cookies(of response: HTTPResponse) -> [(name: String, value: String)] {
    response.headers.fields.filter { $0.name.lowercased() == "set-cookie" }.map { field in
      let pair = field.value.prefix { $0 != ";" }
      let name = pair.prefix { $0 != "=" }
      func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
      }
      return (trimmed(name), trimmed(pair[name.endIndex...].dropFirst()))
    }
  }
}
