#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif
import HTTP

/// How requests to an API are authorised. What it adds is bound to the API's origin and is computed anew for each
/// attempt.
public struct Authentication: Sendable {
  /// What a signature may use.
  public struct Signing: Sendable {
    /// Unix time in seconds, of this attempt.
    public let timestamp: Int
    /// The values of the declared secrets, in the order of the declaration.
    public let secrets: [String]
  }

  /// What is added to a request.
  public enum Addition: Sendable, Hashable {
    case query(String, String)
    case header(String, String)
  }

  let secrets: [Secret]
  let additions: @Sendable (Signing) -> [Addition]

  /// A key in a query parameter, as in `?api-key=…`.
  public static func query(_ name: String, _ secret: Secret) -> Authentication {
    Authentication(secrets: [secret]) { [.query(name, $0.secrets[0])] }
  }

  /// A key in a header field, behind an optional prefix such as `"Token "`.
  public static func header(_ name: String, _ secret: Secret, prefix: String = "") -> Authentication {
    Authentication(secrets: [secret]) { [.header(name, prefix + $0.secrets[0])] }
  }

  /// A bearer token (RFC 6750 §2.1).
  public static func bearer(_ secret: Secret) -> Authentication {
    header("Authorization", secret, prefix: "Bearer ")
  }

  /// User name and password (RFC 7617).
  public static func basic(user: Secret, password: Secret) -> Authentication {
    Authentication(secrets: [user, password]) {
      [.header("Authorization", "Basic " + base64("\($0.secrets[0]):\($0.secrets[1])"))]
    }
  }

  /// Whatever an API asks for, computed from the time and the secrets.
  ///
  /// ```swift
  /// .signed(using: .environment("MARVEL_PUBLIC_KEY"), .environment("MARVEL_PRIVATE_KEY")) { signing in
  ///   let (ts, open, hidden) = ("\(signing.timestamp)", signing.secrets[0], signing.secrets[1])
  ///   return [.query("ts", ts), .query("apikey", open), .query("hash", Digest.md5(ts + hidden + open))]
  /// }
  /// ```
  public static func signed(
    using secrets: Secret..., additions: @escaping @Sendable (Signing) -> [Addition]
  ) -> Authentication {
    Authentication(secrets: secrets, additions: additions)
  }
}

/// Authentication with its secrets read, for one API.
struct Authorizer: Sendable {
  private let parts:
    [(values: [String], additions: @Sendable (Authentication.Signing) -> [Authentication.Addition])]
  private let redactor: Redactor

  /// - Throws: ``DeclarationError`` naming the API if a secret is not set.
  init(_ authentications: [Authentication], api: String, redactor: Redactor) throws(DeclarationError) {
    self.redactor = redactor
    var parts: [([String], @Sendable (Authentication.Signing) -> [Authentication.Addition])] = []
    for authentication in authentications {
      var values: [String] = []
      for secret in authentication.secrets {
        do { values.append(try secret.resolve()) } catch {
          throw DeclarationError("API \"\(api)\": \(error.message)")
        }
      }
      for value in values { redactor.add(value) }
      parts.append((values, authentication.additions))
    }
    self.parts = parts
  }

  /// Who asks, for the fingerprint of a scope: never shown, only hashed.
  var principal: String { parts.flatMap(\.values).joined(separator: "\u{0}") }

  func authorize(_ request: inout HTTPRequest) {
    var items: [(name: String, value: String)] = []
    for part in parts {
      let signing = Authentication.Signing(timestamp: time(nil), secrets: part.values)
      for addition in part.additions(signing) {
        switch addition {
        case .query(let name, let value):
          // What is derived from a secret is secret too; a bare time stamp is not.
          if Int(value) == nil { redactor.add(value) }
          items.append((name, value))
        case .header(let name, let value):
          redactor.add(value)
          // The part behind a scheme's name, such as the base64 of a password.
          if let credential = value.split(separator: " ").last { redactor.add(String(credential)) }
          request.headers[name] = value
        }
      }
    }
    request.url = request.url.appending(query: items)
  }
}

/// Base64 with padding (RFC 4648 §4).
func base64(_ text: String) -> String {
  let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  let bytes = Array(text.utf8)
  var out: [UInt8] = []
  for start in stride(from: 0, to: bytes.count, by: 3) {
    let chunk = bytes[start..<min(start + 3, bytes.count)]
    let bits = chunk.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - chunk.count))
    for position in 0..<4 {
      out.append(position <= chunk.count ? alphabet[bits >> (18 - 6 * position) & 63] : UInt8(ascii: "="))
    }
  }
  return String(decoding: out, as: UTF8.self)
}
