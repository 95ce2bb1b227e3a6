import CCurl

/// An absolute http or https address, read by libcurl's own parser so that what is checked is what is asked for.
///
/// ```swift
/// let base = try HTTPURL("https://api.example/v1")
/// base.appending(path: "items").appending(query: [("q", "a b")]).string
/// // https://api.example/v1/items?q=a%20b
/// ```
public struct HTTPURL: Sendable, Hashable, CustomStringConvertible {
  /// The address as it was written; a request carries it byte for byte.
  public let string: String
  public let origin: Origin

  /// Scheme, host and port: what a credential is bound to (RFC 6454 §4).
  public struct Origin: Sendable, Hashable, CustomStringConvertible {
    public let scheme: String
    public let host: String
    public let port: Int

    public var description: String {
      let host = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
      let isDefault = port == (scheme == "https" ? 443 : 80)
      return isDefault ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)"
    }
  }

  /// Why text is not an address that can be asked.
  public struct Invalid: Error, CustomStringConvertible {
    /// The text without user name and password.
    public let text: String
    public let reason: String
    public var description: String { "\"\(text)\" is not a usable address: \(reason)" }

    init(_ text: String, _ reason: String) { (self.text, self.reason) = (HTTPURL.withoutUser(text), reason) }
  }

  /// - Throws: ``Invalid`` unless the text is an absolute http or https address without user name and password.
  public init(_ string: String) throws(Invalid) {
    // libcurl takes other schemes, and one or three slashes.
    guard let scheme = Self.scheme(of: string), scheme == "http" || scheme == "https",
      string.utf8.dropFirst(scheme.count).starts(with: "://".utf8),
      string.utf8.dropFirst(scheme.count + 3).first != UInt8(ascii: "/")
    else {
      throw Invalid(string, "it has to begin with http:// or https://")
    }
    let parsed = try CurlURL()
    try parsed.set(string, flags: CURLU_PATH_AS_IS)
    if parsed.get(CURLUPART_USER) != nil || parsed.get(CURLUPART_PASSWORD) != nil {
      throw Invalid(string, "declare credentials as authentication, not in the address")
    }
    guard let host = parsed.get(CURLUPART_HOST)?.lowercased(), !host.isEmpty else {
      throw Invalid(string, "it names no host")
    }
    let port = parsed.get(CURLUPART_PORT, flags: CURLU_DEFAULT_PORT).flatMap { Int($0) }
    self.string = string
    origin = Origin(scheme: scheme, host: host, port: port ?? (scheme == "https" ? 443 : 80))
  }

  /// The address that a reference found in an answer of this address names (RFC 3986 §5). An absolute reference
  /// is kept byte for byte; one that is empty but for a fragment names this address.
  public func resolving(_ reference: String) throws(Invalid) -> HTTPURL {
    // Servers write addresses with blanks, which no parser takes.
    let reference = reference.replacing(" ", with: "%20")
    if reference.isEmpty || reference.utf8.first == UInt8(ascii: "#") { return self }
    if Self.scheme(of: reference) != nil { return try HTTPURL(reference) }
    let handle = try CurlURL()
    try handle.set(string, flags: CURLU_PATH_AS_IS)
    // Without the flag libcurl takes out the dots (RFC 3986 §5.2.4).
    try handle.set(reference, flags: 0)
    guard let joined = handle.get(CURLUPART_URL) else {
      throw Invalid(reference, "it cannot be joined to \(string)")
    }
    return try HTTPURL(joined)
  }

  /// The scheme at the beginning in lower case (RFC 3986 §3.1); nil for a relative reference.
  private static func scheme(of text: String) -> String? {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex else { return nil }
    let isSchemeByte: (UInt8) -> Bool = { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      default: "+-.".utf8.contains(byte)
      }
    }
    return text.utf8[..<colon].allSatisfy(isSchemeByte) ? text[..<colon].lowercased() : nil
  }

  /// An address for a message, whether or not it can be read: what may be a user name and a password is left out,
  /// which is all from the scheme to the last `@`, encoded or not (RFC 3986 §7.5).
  public static func withoutUser(_ text: String) -> String {
    let bytes = text.utf8
    guard
      let at = bytes.indices.last(where: { index in
        ["@", "%40"].contains { bytes[index...].starts(with: $0.utf8) }
      })
    else { return text }
    let front = scheme(of: text).map { "\($0)://" } ?? ""
    return (text.lowercased().hasPrefix(front) ? front : "") + "…" + text[at...]
  }

  /// Adds to the path; a base path is kept whether or not it ends with a slash. The text is already encoded.
  public func appending(path: String) -> HTTPURL {
    let (front, query) = splitQuery()
    let trimmed = path.drop { $0 == "/" }
    guard !trimmed.isEmpty else { return self }
    let slash = front.hasSuffix("/") ? "" : "/"
    return HTTPURL(string: front + slash + trimmed + query, origin: origin)
  }

  /// Adds query items behind those that are there, percent-encoded (RFC 3986 §2.3: all but unreserved characters).
  public func appending(query items: [(name: String, value: String)]) -> HTTPURL {
    let encoded = items.map { "\(percentEncoded($0.name))=\(percentEncoded($0.value))" }
    return appending(encodedQuery: encoded.joined(separator: "&"))
  }

  /// Adds a query item in the place of those of its name.
  public func setting(query name: String, _ value: String) -> HTTPURL {
    let (front, query) = splitQuery()
    let encoded = percentEncoded(name)
    let items = query.dropFirst().split(separator: "&", omittingEmptySubsequences: false)
    let others = items.filter { !$0.hasPrefix("\(encoded)=") && $0 != encoded }
    let kept =
      others.count == items.count
      ? self
      : HTTPURL(string: front + (others.isEmpty ? "" : "?\(others.joined(separator: "&"))"), origin: origin)
    return kept.appending(query: [(name, value)])
  }

  /// Adds a query, already encoded, behind the one that is there.
  public func appending(encodedQuery added: String) -> HTTPURL {
    guard !added.isEmpty else { return self }
    let (front, query) = splitQuery()
    let separator = query.isEmpty ? "?" : query == "?" || query.hasSuffix("&") ? "" : "&"
    return HTTPURL(string: front + query + separator + added, origin: origin)
  }

  /// Replaces text of the path; both are encoded already.
  public func replacingInPath(_ text: String, with new: String) -> HTTPURL {
    let (front, query) = splitQuery()
    return HTTPURL(string: front.replacing(text, with: new) + query, origin: origin)
  }

  private init(string: String, origin: Origin) { (self.string, self.origin) = (string, origin) }

  /// The address up to the query, and the query with its question mark; a fragment is dropped.
  private func splitQuery() -> (front: String, query: String) {
    let whole = string.utf8.prefix { $0 != UInt8(ascii: "#") }
    let front = whole.prefix { $0 != UInt8(ascii: "?") }
    return (String(Substring(front)), String(Substring(whole[front.endIndex...])))
  }

  /// The host as it is looked up: in IDNA's form, of which digits of other scripts become plain ones (RFC 5891). Where
  /// libcurl cannot make it, as in a locale without UTF-8, the host as it was written.
  var hostInASCII: String {
    do throws(Invalid) {
      let parsed = try CurlURL()
      try parsed.set(string, flags: CURLU_PATH_AS_IS)
      return parsed.get(CURLUPART_HOST, flags: ccurl_punycode)?.lowercased() ?? origin.host
    } catch { return origin.host }
  }

  public var description: String { string }

  public static func == (a: HTTPURL, b: HTTPURL) -> Bool { a.string == b.string }
  public func hash(into hasher: inout Hasher) { hasher.combine(string) }
}

/// Encodes all bytes but RFC 3986's unreserved ones, so that a value stays one value in a path or a query.
public func percentEncoded(_ text: String) -> String {
  var text = text
  return text.withUTF8 { bytes in
    guard !bytes.isEmpty, let encoded = curl_easy_escape(nil, bytes.baseAddress, Int32(bytes.count)) else {
      return ""
    }
    defer { curl_free(encoded) }
    return String(cString: encoded)
  }
}

/// libcurl's URL handle (curl.se/libcurl/c/libcurl-url.html).
private struct CurlURL: ~Copyable {
  private let handle: OpaquePointer

  init() throws(HTTPURL.Invalid) {
    guard let handle = curl_url() else { throw HTTPURL.Invalid("", "out of memory") }
    self.handle = handle
  }

  deinit { curl_url_cleanup(handle) }

  /// Reads an address, or joins a reference to the one that is there.
  func set(_ text: String, flags: Int32) throws(HTTPURL.Invalid) {
    guard !text.utf8.contains(0) else { throw HTTPURL.Invalid(text, "it has a zero byte") }
    let code = curl_url_set(handle, CURLUPART_URL, text, UInt32(flags))
    guard code == CURLUE_OK else {
      throw HTTPURL.Invalid(text, String(cString: curl_url_strerror(code)).lowercasedFirst)
    }
  }

  func get(_ part: CURLUPart, flags: Int32 = 0) -> String? {
    var value: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, part, &value, UInt32(flags)) == CURLUE_OK, let value else { return nil }
    defer { curl_free(value) }
    return String(cString: value)
  }
}

extension String {
  /// For the middle of a sentence; an acronym such as SSL stays.
  var lowercasedFirst: String {
    dropFirst().first?.isUppercase == true ? self : prefix(1).lowercased() + dropFirst()
  }
}
