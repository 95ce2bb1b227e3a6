import HTTP

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Authentication with its secrets read, for one API.
struct Authorizer: Sendable {
  private enum Part: Sendable {
    case additions([Secret], @Sendable (Authentication.Signing) -> [Authentication.Addition])
    case token(TokenKeeper)
    case awsSignature(AWSSignature)
  }

  private var parts: [Part] = []
  private var tls: TLSFiles?
  private let credentials: Credentials
  /// Who asks, for the fingerprint of a scope: never shown, only hashed.
  private(set) var principal: String

  /// - Parameter client: the API's, for token endpoints.
  /// - Throws: ``DeclarationError`` naming the API for a secret that is not set, a file that is not there, or an
  ///   address that cannot be asked.
  init(_ api: API, client: HTTPClient, credentials: Credentials) throws(DeclarationError) {
    self.credentials = credentials
    principal = ""
    do throws(DeclarationError) {
      let base: HTTPURL
      do { base = try api.address() } catch { throw DeclarationError("\(error)") }
      var principals: [String] = []
      tls = try Self.tls(api.auth, credentials, &principals)
      for authentication in api.auth {
        switch authentication.kind {
        case .additions(let secrets, let additions):
          principals += try Self.principals(secrets, credentials)
          parts.append(.additions(secrets, additions))
        case .netrc(let file):
          let (login, password) = try Self.netrc(file, host: base.origin.host)
          credentials.redactor.add(password)
          principals.append(login)
          parts.append(
            .additions([]) { _ in [.header("Authorization", Authentication.basic(login, password))] })
        case .token(let source, let place):
          principals += try Self.principals(source.secrets, credentials)
          parts.append(
            .token(
              try credentials.keeper(
                source, place: place, api: api.name, base: base, client: client, tls: tls)))
        case .awsSignature(let signature):
          principals += try Self.principals(Array(signature.secrets.prefix(1)), credentials)
          for secret in signature.secrets { _ = try credentials.value(of: secret) }
          parts.append(.awsSignature(signature))
        case .tls: break
        }
      }
      principal = principals.joined(separator: "\u{0}")
    } catch {
      throw DeclarationError("API \"\(api.name)\": \(error.message)")
    }
  }

  /// Another value may be another account, which sees other records.
  private static func principals(
    _ secrets: [Secret], _ credentials: Credentials
  ) throws(DeclarationError) -> [String] {
    var principals: [String] = []
    for secret in secrets { principals.append(try credentials.value(of: secret)) }
    return principals
  }

  private static func tls(
    _ authentications: [Authentication], _ credentials: Credentials, _ principals: inout [String]
  ) throws(DeclarationError) -> TLSFiles? {
    var files: TLSFiles?
    for authentication in authentications {
      guard case .tls(let certificate, let key, let password, let authority) = authentication.kind else {
        continue
      }
      var made = files ?? TLSFiles()
      for file in [certificate, key, authority].compactMap(\.self) where access(file, R_OK) != 0 {
        throw DeclarationError("the file \(file) cannot be read: \(String(cString: strerror(errno)))")
      }
      if let certificate {
        (made.certificate, made.key) = (certificate, key)
        principals.append(certificate)
      }
      if let password { made.keyPassword = try credentials.value(of: password) }
      made.authority = authority ?? made.authority
      files = made
    }
    return files
  }

  private static func netrc(
    _ file: String?, host: String
  ) throws(DeclarationError) -> (login: String, password: String) {
    func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
    let path = file ?? variable("NETRC") ?? variable("HOME").map { "\($0)/.netrc" } ?? ".netrc"
    guard let text = Secret.content(of: path) else {
      throw DeclarationError("there is no netrc file \(path)")
    }
    guard let found = Netrc.credentials(for: host, in: text) else {
      throw DeclarationError("the netrc file \(path) has no password for \(host)")
    }
    return found
  }

  // MARK: Requests

  /// - Throws: ``HTTPError`` if a token cannot be had.
  func authorize(_ request: inout HTTPRequest) async throws {
    let now = time(nil)
    request.tls = tls
    for part in parts {
      switch part {
      case .additions(let secrets, let additions):
        for addition in additions(try signing(request, secrets, at: now)) { apply(addition, to: &request) }
      case .token(let keeper): apply(try await keeper.addition(), to: &request)
      case .awsSignature: break
      }
    }
    for case .awsSignature(let signature) in parts {
      for (name, value) in signature.fields(
        for: request, values: try signing(request, signature.secrets, at: now).secrets, at: now)
      {
        if name == "Authorization" {
          credentials.redactor.add(value, isPassing: true)
          if let signature = value.split(separator: "=").last {
            credentials.redactor.add(String(signature), isPassing: true)
          }
        }
        request.headers[name] = value
      }
    }
  }

  /// Whether there are other credentials than the refused ones.
  ///
  /// - Throws: ``HTTPError`` if a token cannot be renewed.
  func renew(after refused: HTTPRequest) async throws -> Bool {
    var hasNew = false
    for part in parts {
      switch part {
      case .token(let keeper):
        try await keeper.renew(after: refused)
        hasNew = true
      case .additions(let secrets, let additions):
        guard try await reread(secrets) else { continue }
        let current = additions(try signing(refused, secrets, at: time(nil)))
        if !current.allSatisfy({ $0.isCarried(by: refused) }) { hasNew = true }
      case .awsSignature(let signature):
        if try await reread(signature.secrets) { hasNew = true }
      }
    }
    return hasNew
  }

  /// Reads secrets again that may have been replaced; false if there are none.
  private func reread(_ secrets: [Secret]) async throws -> Bool {
    for secret in secrets where secret.mayChange {
      do { try await credentials.read(secret) } catch {
        throw HTTPError(.credentials, "the credentials were refused, and \(error.message)")
      }
    }
    return secrets.contains(where: \.mayChange)
  }

  private func signing(
    _ request: HTTPRequest, _ secrets: [Secret], at now: Int
  ) throws -> Authentication.Signing {
    var values: [String] = []
    for secret in secrets {
      do { values.append(try credentials.value(of: secret)) } catch {
        throw HTTPError(.credentials, error.message)
      }
    }
    return Authentication.Signing(request, secrets: values, at: now)
  }

  private func apply(_ addition: Authentication.Addition, to request: inout HTTPRequest) {
    let redactor = credentials.redactor
    switch addition {
    case .query(let name, let value):
      // What is derived from a secret is secret too; a bare time stamp is not.
      if Int(value) == nil { redactor.add(value, isPassing: true) }
      // A next link may repeat what the request before was authorised by.
      request.url = request.url.setting(query: name, value)
    case .header(let name, let value):
      if Int(value) == nil { redactor.add(value, isPassing: true) }
      // The part behind a scheme's name, such as the base64 of a password.
      if let credential = value.split(separator: " ").last, Int(credential) == nil {
        redactor.add(String(credential), isPassing: true)
      }
      request.headers[name] = value
    case .path(let name, let value):
      redactor.add(value, isPassing: true)
      request.url = request.url.replacingInPath(Authentication.placeholder(name), with: percentEncoded(value))
    case .cookie(let name, let value):
      redactor.add(value, isPassing: true)
      request.headers["Cookie"] = [request.headers["Cookie"], "\(name)=\(value)"].compactMap(\.self)
        .joined(separator: "; ")
    }
  }
}
