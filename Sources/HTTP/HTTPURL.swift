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
    public var text: String
    public var reason: String
    public var description: String { "\"\(text)\" is not a usable address: \(reason)" }
  }

  /// - Throws: ``Invalid`` unless the text is an absolute http or https address without user name and password.
  public init(_ string: String) throws(Invalid) {
    let handle = try CurlURL()
    try handle.set(CURLUPART_URL, string, of: string)
    try self.init(string, parsed: handle)
  }

  private init(_ string: String, parsed: borrowing CurlURL) throws(Invalid) {
    guard let scheme = parsed.get(CURLUPART_SCHEME)?.lowercased(), scheme == "http" || scheme == "https"
    else {
      throw Invalid(text: string, reason: "it has to begin with http:// or https://")
    }
    guard let host = parsed.get(CURLUPART_HOST)?.lowercased(), !host.isEmpty else {
      throw Invalid(text: string, reason: "it names no host")
    }
    if parsed.get(CURLUPART_USER) != nil || parsed.get(CURLUPART_PASSWORD) != nil {
      throw Invalid(
        text: "\(scheme)://…@\(host)", reason: "declare credentials as authentication, not in the address")
    }
    let port = parsed.get(CURLUPART_PORT, flags: CURLU_DEFAULT_PORT).flatMap { Int($0) }
    self.string = string
    origin = Origin(scheme: scheme, host: host, port: port ?? (scheme == "https" ? 443 : 80))
  }

  /// The address that a reference found in an answer of this address names (RFC 3986 §5). An absolute reference
  /// is kept byte for byte.
  public func resolving(_ reference: String) throws(Invalid) -> HTTPURL {
    let lowered = reference.prefix(8).lowercased()
    if lowered.hasPrefix("http://") || lowered.hasPrefix("https://") { return try HTTPURL(reference) }
    if let colon = reference.firstIndex(of: ":"),
      reference[..<colon].allSatisfy({ $0.isLetter || $0.isNumber }),
      reference[reference.index(after: colon)...].hasPrefix("//")
    {
      throw Invalid(text: reference, reason: "it has to begin with http:// or https://")
    }
    let handle = try CurlURL()
    try handle.set(CURLUPART_URL, string, of: string)
    try handle.set(CURLUPART_URL, reference, of: reference)
    guard let joined = handle.get(CURLUPART_URL) else {
      throw Invalid(text: reference, reason: "it cannot be joined to \(string)")
    }
    return try HTTPURL(joined, parsed: handle)
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
    guard !items.isEmpty else { return self }
    let (front, query) = splitQuery()
    let added = items.map { "\(percentEncoded($0.name))=\(percentEncoded($0.value))" }.joined(separator: "&")
    let separator = query.isEmpty ? "?" : query == "?" || query.hasSuffix("&") ? "" : "&"
    return HTTPURL(string: front + query + separator + added, origin: origin)
  }

  private init(string: String, origin: Origin) { (self.string, self.origin) = (string, origin) }

  /// The address up to the query, and the query with its question mark; a fragment is dropped.
  private func splitQuery() -> (front: String, query: String) {
    let whole = string.prefix { $0 != "#" }
    let front = whole.prefix { $0 != "?" }
    return (String(front), String(whole[front.endIndex...]))
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
    guard let handle = curl_url() else { throw HTTPURL.Invalid(text: "", reason: "out of memory") }
    self.handle = handle
  }

  deinit { curl_url_cleanup(handle) }

  func set(_ part: CURLUPart, _ value: String, of text: String) throws(HTTPURL.Invalid) {
    let code = curl_url_set(handle, part, value, UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS))
    guard code == CURLUE_OK else {
      throw HTTPURL.Invalid(text: text, reason: String(cString: curl_url_strerror(code)).lowercasedFirst)
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
  var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
}
