extension Authentication {
  /// A certificate that the client shows in the TLS handshake (RFC 8446 §4.4.2). All files are in PEM form; the server
  /// of another origin never sees them.
  ///
  /// - Parameters:
  ///   - certificate: the client's certificate, with those between it and its authority behind it.
  ///   - key: the private key; nil where it stands in the same file.
  ///   - password: of an encrypted key.
  ///   - authority: the authorities that may vouch for the server, in place of the system's.
  public static func clientCertificate(
    _ certificate: String, key: String? = nil, password: Secret? = nil, authority: String? = nil
  ) -> Authentication {
    Authentication(.tls(certificate: certificate, key: key, password: password, authority: authority))
  }

  /// A file of the authorities that may vouch for the API's server, in place of the system's, in PEM form.
  public static func authority(_ file: String) -> Authentication {
    Authentication(.tls(certificate: nil, key: nil, password: nil, authority: file))
  }
}
