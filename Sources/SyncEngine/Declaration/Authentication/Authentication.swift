/// How requests to an API are authorised. What it adds is bound to the API's origin (scheme, host and port) and is
/// computed anew for each attempt.
///
/// An ``API`` takes several; they are applied in their order, an AWS signature last.
///
/// ## Topics
///
/// ### Keys and passwords
/// - ``query(_:_:)``
/// - ``header(_:_:prefix:)``
/// - ``cookie(_:_:)``
/// - ``path(_:_:)``
/// - ``bearer(_:)``
/// - ``basic(user:password:)``
/// - ``netrc(file:)``
///
/// ### Tokens
/// - ``clientCredentials(_:client:secret:sentIn:scope:parameters:)``
/// - ``refreshToken(_:at:client:secret:sentIn:scope:parameters:)``
/// - ``assertion(_:at:scope:parameters:)``
/// - ``assertion(_:)``
/// - ``login(_:_:as:adding:token:sentIn:validFor:)``
///
/// ### Signatures
/// - ``signed(using:additions:)``
/// - ``awsSignature(accessKey:secretKey:sessionToken:region:service:)``
///
/// ### TLS
/// - ``clientCertificate(_:key:password:authority:)``
/// - ``authority(_:)``
public struct Authentication: Sendable {
  /// What is added to a request.
  public enum Addition: Sendable, Hashable {
    case query(String, String)
    case header(String, String)
    /// Joins the cookies that are there (RFC 6265 §4.2).
    case cookie(String, String)
    /// Stands for `{name}` in the path.
    case path(String, String)
  }

  enum Kind: Sendable {
    case additions([Secret], @Sendable (Signing) -> [Addition])
    case netrc(file: String?)
    case token(TokenSource, TokenPlace)
    case awsSignature(AWSSignature)
    case tls(certificate: String?, key: String?, password: Secret?, authority: String?)
  }

  let kind: Kind
  /// Names that stand in braces in a path, for what this adds.
  let pathNames: [String]

  init(_ kind: Kind, pathNames: [String] = []) { (self.kind, self.pathNames) = (kind, pathNames) }
}
