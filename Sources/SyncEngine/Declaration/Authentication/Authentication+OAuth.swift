extension Authentication {
  /// Where a client shows its own credentials to a token endpoint (RFC 6749 §2.3.1).
  public enum ClientPlace: Sendable, Hashable {
    /// The Authorization field, form-encoded as the RFC asks for.
    case header
    /// The fields `client_id` and `client_secret` of the body.
    case body
  }

  /// An access token for the client itself (RFC 6749 §4.4), asked for when it is needed, shared by all entities of
  /// the API, and renewed before it expires or when the API answers with 401.
  ///
  /// ```swift
  /// .clientCredentials(
  ///   "https://login.example/oauth/token", client: .environment("SHOP_ID"), secret: .environment("SHOP_SECRET"),
  ///   scope: "orders:read", parameters: ["audience": "https://api.shop.example/"])
  /// ```
  ///
  /// - Parameters:
  ///   - url: the token endpoint: absolute, on any origin, or appended to the API's URL. It gets these credentials and
  ///     no others.
  ///   - parameters: further fields of the request.
  public static func clientCredentials(
    _ url: String, client: Secret, secret: Secret, sentIn place: ClientPlace = .header, scope: String? = nil,
    parameters: KeyValuePairs<String, String> = [:]
  ) -> Authentication {
    var source = TokenSource(.clientCredentials, url: url)
    (source.client, source.clientSecret, source.clientPlace) = (client, secret, place)
    source.parameters = parameters.map { ($0.key, $0.value) }
    source.scope = scope
    return Authentication(.token(source, .bearer))
  }

  /// Access tokens for a refresh token (RFC 6749 §6).
  ///
  /// A server may answer with a new refresh token and void the old one. The new one is kept in the store, encrypted
  /// with the declared secrets, in a transaction of its own before the access token is used. Of all processes on one
  /// store one renews at a time; the others take what it got. A new declared refresh token makes a fresh start.
  ///
  /// - Parameters:
  ///   - refreshToken: the first one, as a person got it.
  ///   - url: the token endpoint: absolute, on any origin, or appended to the API's URL.
  ///   - secret: nil for a public client.
  public static func refreshToken(
    _ refreshToken: Secret, at url: String, client: Secret, secret: Secret? = nil,
    sentIn place: ClientPlace = .header, scope: String? = nil, parameters: KeyValuePairs<String, String> = [:]
  ) -> Authentication {
    var source = TokenSource(.refreshToken(refreshToken), url: url)
    (source.client, source.clientSecret) = (client, secret)
    source.clientPlace = secret == nil ? .body : place
    source.parameters = parameters.map { ($0.key, $0.value) }
    source.scope = scope
    return Authentication(.token(source, .bearer))
  }

  /// Access tokens for a signed assertion (RFC 7523 §2.1), as Google's service accounts have them.
  ///
  /// - Parameter url: the token endpoint: absolute, on any origin, or appended to the API's URL.
  public static func assertion(
    _ token: JSONWebToken, at url: String, scope: String? = nil,
    parameters: KeyValuePairs<String, String> = [:]
  ) -> Authentication {
    var source = TokenSource(.assertion(token), url: url)
    source.parameters = parameters.map { ($0.key, $0.value) }
    source.scope = scope
    return Authentication(.token(source, .bearer))
  }

  /// A signed assertion as the bearer token itself, made anew before it expires.
  public static func assertion(_ token: JSONWebToken) -> Authentication {
    Authentication(.token(TokenSource(.selfSigned(token), url: ""), .bearer))
  }
}
