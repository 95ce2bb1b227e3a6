import HTTP

extension Authentication {
  /// A key in a query parameter, as in `?api-key=…`.
  public static func query(_ name: String, _ secret: Secret) -> Authentication {
    Authentication(.additions([secret]) { [.query(name, $0.secrets[0])] })
  }

  /// A key in a header field, behind an optional prefix such as `"Token "`.
  public static func header(_ name: String, _ secret: Secret, prefix: String = "") -> Authentication {
    Authentication(.additions([secret]) { [.header(name, prefix + $0.secrets[0])] })
  }

  /// A key in a cookie (RFC 6265 §4.2), beside those that are there.
  public static func cookie(_ name: String, _ secret: Secret) -> Authentication {
    Authentication(.additions([secret]) { [.cookie(name, $0.secrets[0])] })
  }

  /// A key in the path, in the place of `{name}` in the API's URL or the source's path; it is percent-encoded.
  ///
  /// ```swift
  /// API("telegram", url: "https://api.telegram.org/bot{token}/", auth: .path("token", .environment("TOKEN")))
  /// ```
  public static func path(_ name: String, _ secret: Secret) -> Authentication {
    Authentication(.additions([secret]) { [.path(name, $0.secrets[0])] }, pathNames: [name])
  }

  /// A bearer token (RFC 6750 §2.1).
  public static func bearer(_ secret: Secret) -> Authentication {
    header("Authorization", secret, prefix: "Bearer ")
  }

  /// User name and password (RFC 7617).
  public static func basic(user: Secret, password: Secret) -> Authentication {
    Authentication(
      .additions([user, password]) { [.header("Authorization", basic($0.secrets[0], $0.secrets[1]))] })
  }

  /// User name and password (RFC 7617) as a netrc file has them for the API's host (gnu.org/software/inetutils,
  /// "The .netrc file"), or else as its `default`.
  ///
  /// - Parameter file: by default the one that `$NETRC` names, or else `~/.netrc`.
  public static func netrc(file: String? = nil) -> Authentication { Authentication(.netrc(file: file)) }

  static func basic(_ user: String, _ password: String) -> String {
    "Basic " + Digest.base64(Array("\(user):\(password)".utf8))
  }

  /// What stands in an address for a key of the path until a request is sent. No value of a record or a parameter is
  /// encoded like this: theirs have upper-case digits.
  static func placeholder(_ name: String) -> String { "%7b\(percentEncoded(name))%7d" }
}

extension API {
  /// The URL, with placeholders for keys in its path.
  func address() throws(HTTPURL.Invalid) -> HTTPURL {
    var text = url
    for name in auth.flatMap(\.pathNames) {
      text = text.replacing("{\(name)}", with: Authentication.placeholder(name))
    }
    return try HTTPURL(text)
  }
}
