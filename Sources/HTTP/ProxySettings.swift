import CCurl

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The proxies that variables name, read as libcurl reads them (curl.se/libcurl/c/libcurl-env.html).
struct ProxySettings: Sendable {
  /// libcurl leaves HTTP_PROXY alone, since to a CGI program it is a header of the request it answers (httpoxy.org); one
  /// of those has REQUEST_METHOD. NO_PROXY goes before this too.
  let upperCase: String?
  private let http: String?
  private let https: String?
  private let exceptions: [Substring]

  static let environment = ProxySettings { name in getenv(name).map { String(cString: $0) } }

  /// - Parameter variable: a variable's value by its name.
  init(_ variable: (String) -> String?) {
    func first(_ names: String...) -> String? { names.lazy.compactMap(variable).first { !$0.isEmpty } }
    let isSafe = variable("http_proxy") == nil && variable("REQUEST_METHOD") == nil
    upperCase = isSafe ? first("HTTP_PROXY") : nil
    let all = first("all_proxy", "ALL_PROXY")
    http = first("http_proxy") ?? upperCase ?? all
    https = first("https_proxy", "HTTPS_PROXY") ?? all
    exceptions = (first("no_proxy", "NO_PROXY") ?? "").split { $0 == "," || $0 == " " || $0 == "\t" }
  }

  /// The proxy for an address; nil where its host is asked itself.
  func proxy(for url: HTTPURL) -> String? {
    guard let proxy = url.origin.scheme == "https" ? https : http, exceptions != ["*"] else { return nil }
    let host = url.plainHost
    let address = Self.address(host)
    let isException = exceptions.contains {
      address.isEmpty ? Self.names($0, host) : Self.holds($0, address)
    }
    return isException ? nil : proxy
  }

  /// Whether an exception names a host or a domain of it; dots at either end say nothing.
  private static func names(_ exception: Substring, _ host: String) -> Bool {
    let name = (exception.hasSuffix(".") ? exception.dropLast() : exception).lowercased()
    let domain = name.hasPrefix(".") ? String(name.dropFirst()) : name
    return !domain.isEmpty && (host == domain || host.hasSuffix(".\(domain)"))
  }

  /// Whether an exception is an address, or a network such as `10.0.0.0/8` with it.
  private static func holds(_ exception: Substring, _ address: [UInt8]) -> Bool {
    let parts = exception.split(separator: "/", maxSplits: 1)
    guard let first = parts.first else { return false }
    let network = Self.address(String(first))
    let bits = parts.count > 1 ? Int(parts[1]) ?? 0 : address.count * 8
    guard network.count == address.count, (0...address.count * 8).contains(bits) else { return false }
    // To libcurl no bits are all of them.
    let length = bits == 0 ? address.count * 8 : bits
    return address.indices.allSatisfy { index in
      let ignored = 8 - min(8, max(0, length - index * 8))
      return (address[index] ^ network[index]) >> UInt8(ignored) == 0
    }
  }

  /// The bytes of an address; none for a name.
  private static func address(_ text: String) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes[..<4]) }
    return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : []
  }
}

extension HTTPURL {
  /// The host as it is looked up, without brackets, zone and final dot.
  fileprivate var plainHost: String {
    let host = hostInASCII.drop { $0 == "[" }.prefix { $0 != "]" && $0 != "%" }
    return String(host.hasSuffix(".") ? host.dropLast() : host)
  }

  /// Whether the host may be at a public address, as far as the text tells: any name may but localhost (RFC 6761 §6.3).
  var mayBePublic: Bool {
    let host = plainHost
    // Where libcurl cannot make IDNA's form, nobody knows what the proxy makes of it.
    guard host.utf8.allSatisfy({ $0 < 0x80 }), host != "localhost", !host.hasSuffix(".localhost") else {
      return false
    }
    return ccurl_may_be_public(host) != 0
  }
}
