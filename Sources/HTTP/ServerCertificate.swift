import CCurl
import Dispatch

/// The certificate that a server shows in the TLS handshake.
public struct ServerCertificate: Sendable, Hashable {
  /// `CN = api.shop.example`
  public var subject: String
  public var issuer: String
  /// From and until when it is valid, in milliseconds since 1970; nil where that cannot be read.
  public var begins: Int64?
  public var ends: Int64?

  /// Connects to a server, looks at its certificate and hangs up. Nothing is sent, so the certificate may be one that no
  /// request would be made with.
  ///
  /// - Parameter tls: the client's certificate, where a server hangs up on those who show none.
  /// - Returns: nil where the TLS library does not tell.
  /// - Throws: ``HTTPError`` where there is no connection within ten seconds.
  public static func of(_ url: HTTPURL, tls: TLSFiles?) async throws -> ServerCertificate? {
    // libcurl is asked to block: this is not worth a loop of its own.
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: Result { try look(url, tls) }) }
    }
  }

  private static func look(_ url: HTTPURL, _ tls: TLSFiles?) throws -> ServerCertificate? {
    guard let easy = curl_easy_init() else { throw HTTPError(.permanent, "libcurl has no memory") }
    defer { curl_easy_cleanup(easy) }
    ccurl_set_string(easy, CURLOPT_URL, url.string)
    ccurl_set_string(easy, CURLOPT_PROTOCOLS_STR, "https")
    ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1)
    ccurl_leave_lookups(easy)
    ccurl_set_long(easy, CURLOPT_CONNECT_ONLY, 1)
    ccurl_set_long(easy, CURLOPT_CERTINFO, 1)
    // One that is expired is what is looked for.
    ccurl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 0)
    ccurl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 0)
    ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, 10_000)
    ccurl_set_long(easy, CURLOPT_TIMEOUT_MS, 10_000)
    if let certificate = tls?.certificate {
      ccurl_set_string(easy, CURLOPT_SSLCERT, certificate)
      ccurl_set_string(easy, CURLOPT_SSLKEY, tls?.key ?? certificate)
      ccurl_set_string(easy, CURLOPT_KEYPASSWD, tls?.keyPassword ?? "")
    }
    let code = curl_easy_perform(easy)
    guard code == CURLE_OK else {
      throw HTTPError(.connection, String(cString: curl_easy_strerror(code)).lowercasedFirst)
    }
    var information: UnsafeMutablePointer<curl_certinfo>?
    guard ccurl_get_certificates(easy, &information) == CURLE_OK, let information,
      information.pointee.num_of_certs > 0
    else { return nil }
    // The first is the server's own; whether those behind it hold is for whoever verifies them.
    var fields: [String: String] = [:]
    var entry = information.pointee.certinfo[0]
    while let item = entry {
      let parts = String(cString: item.pointee.data).split(
        separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { fields[String(parts[0])] = String(parts[1]) }
      entry = item.pointee.next
    }
    func time(_ name: String) -> Int64? {
      guard let seconds = fields[name].map({ curl_getdate($0, nil) }), seconds >= 0 else { return nil }
      return Int64(seconds) * 1000
    }
    return ServerCertificate(
      subject: fields["Subject"] ?? "", issuer: fields["Issuer"] ?? "", begins: time("Start date"),
      ends: time("Expire date"))
  }
}
