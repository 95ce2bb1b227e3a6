import HTTP
import Synchronization

/// What the entities of an engine share: secrets, each read once, and tokens.
final class Credentials: Sendable {
  let redactor: Redactor
  private let store: any Store
  private let wait: Duration
  private let grace: Duration
  private let values = Mutex<[Secret: String]>([:])
  private let keepers = Mutex<[String: TokenKeeper]>([:])

  init(redactor: Redactor, store: any Store, wait: Duration, grace: Duration = .seconds(5)) {
    (self.redactor, self.store, self.wait, self.grace) = (redactor, store, wait, grace)
  }

  /// - Throws: ``DeclarationError`` if there is no value.
  func value(of secret: Secret) throws(DeclarationError) -> String {
    if let known = values.withLock({ $0[secret] }) { return known }
    let value = try secret.resolve()
    keep(value, of: secret)
    return value
  }

  /// Reads a secret again.
  func read(_ secret: Secret) async throws(DeclarationError) { keep(try await secret.resolved(), of: secret) }

  private func keep(_ value: String, of secret: Secret) {
    redactor.add(value)
    // The lines of a key in PEM form, one by one.
    for line in value.split(whereSeparator: \.isNewline) where line.utf8.count >= 16 {
      redactor.add(String(line))
    }
    values.withLock { $0[secret] = value }
  }

  /// The keeper of a token; entities whose declarations are the same share it.
  ///
  /// - Parameters:
  ///   - base: the API's address.
  ///   - client: that of the API.
  func keeper(
    _ source: TokenSource, place: Authentication.TokenPlace, api: String, base: HTTPURL, client: HTTPClient,
    tls: TLSFiles?
  ) throws(DeclarationError) -> TokenKeeper {
    if let fault = source.fault { throw DeclarationError(fault) }
    let url = try address(source.url, base: base)
    var known: [Secret: String] = [:]
    for secret in source.secrets { known[secret] = try value(of: secret) }
    if let token = source.assertion { _ = try token.signed(with: known[token.key] ?? "", at: 0) }

    let identity = "\(url) \(source.grantName) \(source.scope ?? "") \(source.parameters)"
    let key = "\(api)\u{0}\(base.origin)\u{0}\(source)\u{0}\(place)\u{0}\(known.values.sorted())"
    return keepers.withLock { keepers in
      if let keeper = keepers[key] { return keeper }
      var client = client
      client.foreignOrigins = []
      // A request that waits for a token holds one of the API's places already.
      client.limiter = nil
      client.limits.total = min(client.limits.total, .seconds(30))
      var files = tls
      if url.origin != base.origin { files = tls.map { TLSFiles(authority: $0.authority) } }
      let secrets = source.keySecrets.map { known[$0] ?? "" }
      let vault =
        secrets.isEmpty ? nil : TokenVault(store: store, api: api, identity: identity, secrets: secrets)
      let endpoint = TokenEndpoint(
        source: source, values: known, url: url, client: client, tls: files, redactor: redactor)
      let keeper = TokenKeeper(endpoint: endpoint, place: place, vault: vault, wait: wait, grace: grace)
      keepers[key] = keeper
      return keeper
    }
  }

  private func address(_ text: String, base: HTTPURL) throws(DeclarationError) -> HTTPURL {
    guard text.contains("://") else { return base.appending(path: text) }
    let url: HTTPURL
    do { url = try HTTPURL(text) } catch { throw DeclarationError("the token's address: \(error)") }
    // RFC 6749 §3.2 asks for TLS. A server for tests has none, and then the API has none either.
    guard url.origin.scheme == "https" || base.origin.scheme == "http" else {
      throw DeclarationError("the token's address \(url) is not https: credentials would go out in the clear")
    }
    return url
  }
}

extension TokenSource {
  fileprivate var assertion: JSONWebToken? {
    switch grant {
    case .assertion(let token), .selfSigned(let token): token
    default: nil
    }
  }

  fileprivate var grantName: String {
    switch grant {
    case .clientCredentials: "client"
    case .refreshToken: "refresh"
    case .assertion(let token): "assertion \(token.claims)"
    case .login: "login"
    case .selfSigned: "signed"
    }
  }
}
