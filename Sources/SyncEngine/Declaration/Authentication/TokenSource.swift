/// Where tokens come from, as declared.
struct TokenSource: Sendable {
  enum Grant: Sendable {
    case clientCredentials
    case refreshToken(Secret)
    case assertion(JSONWebToken)
    case login(Login)
    /// The assertion is the token.
    case selfSigned(JSONWebToken)
  }

  struct Login: Sendable {
    let credentials: [(name: String, value: Secret)]
    let fixed: [(name: String, value: String)]
    let form: Authentication.LoginForm
    let token: Authentication.SessionToken
    let lifetime: Duration?
  }

  let grant: Grant
  let url: String
  var client: Secret?
  var clientSecret: Secret?
  var clientPlace = Authentication.ClientPlace.header
  var scope: String?
  var parameters: [(name: String, value: String)] = []

  init(_ grant: Grant, url: String) { (self.grant, self.url) = (grant, url) }

  /// All secrets, those of the grant first.
  var secrets: [Secret] {
    let own: [Secret] =
      switch grant {
      case .clientCredentials: []
      case .refreshToken(let token): [token]
      case .assertion(let token), .selfSigned(let token): [token.key]
      case .login(let login): login.credentials.map(\.value)
      }
    return own + [client, clientSecret].compactMap { $0 }
  }

  /// The secrets that a key can be made of for what is kept in the store. A person's password is not among them: who
  /// has the database could guess it.
  var keySecrets: [Secret] {
    switch grant {
    case .clientCredentials: [clientSecret].compactMap { $0 }
    case .refreshToken(let token): [token] + [clientSecret].compactMap { $0 }
    case .assertion(let token): [token.key]
    case .login, .selfSigned: []
    }
  }

  /// Whether an answer may void what the next request needs.
  var rotates: Bool { if case .refreshToken = grant { true } else { false } }

  /// Why the declaration cannot work.
  var fault: String? {
    if case .login(let login) = grant, case .json(let path) = login.token { return path.fault }
    return nil
  }
}
