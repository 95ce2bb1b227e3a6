extension Authentication {
  /// How a login call carries its credentials.
  public enum LoginForm: Sendable, Hashable {
    /// A JSON object; dots in a name make objects in it.
    case json
    /// `application/x-www-form-urlencoded`.
    case form
  }

  /// Where the answer to a login call has the session's token.
  public enum SessionToken: Sendable, Hashable {
    case json(JSONPath)
    case header(String)
    case cookie(String)
  }

  /// A session: credentials are sent by POST once, the token of the answer goes with each request, and 401 makes a new
  /// session. It ends with the program.
  ///
  /// ```swift
  /// .login(
  ///   "session", ["user": .environment("SHOP_USER"), "password": .environment("SHOP_PASSWORD")],
  ///   token: .json("data.token"), sentIn: .header("X-Session"))
  /// // POST https://api.shop.example/v2/session   {"user":"…","password":"…"}
  /// // GET  https://api.shop.example/v2/orders    X-Session: …
  /// ```
  ///
  /// - Parameters:
  ///   - url: absolute, on any origin, or appended to the API's URL.
  ///   - credentials: fields whose values are secret.
  ///   - fixed: fields whose values are not.
  ///   - place: where requests carry the token; by default as a bearer token where it came in JSON, else in a field or
  ///     cookie of the name that it came in.
  ///   - lifetime: after it the session is made anew, without waiting for a 401.
  public static func login(
    _ url: String, _ credentials: KeyValuePairs<String, Secret>, as form: LoginForm = .json,
    adding fixed: KeyValuePairs<String, String> = [:], token: SessionToken, sentIn place: TokenPlace? = nil,
    validFor lifetime: Duration? = nil
  ) -> Authentication {
    let login = TokenSource.Login(
      credentials: credentials.map { ($0.key, $0.value) }, fixed: fixed.map { ($0.key, $0.value) },
      form: form,
      token: token, lifetime: lifetime)
    let usual: TokenPlace =
      switch token {
      case .json: .bearer
      case .header(let name): .header(name)
      case .cookie(let name): .cookie(name)
      }
    return Authentication(.token(TokenSource(.login(login), url: url), place ?? usual))
  }
}
