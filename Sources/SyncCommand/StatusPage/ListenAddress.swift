#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Where a server listens: `127.0.0.1:9469`, `[::1]:9469` or `localhost:9469`.
struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
  /// An address, in IPv6 without brackets, or a name.
  let host: String
  /// 0 is any that is free.
  let port: Int

  /// - Throws: `UsageError` for what is not such a text.
  init(_ text: String) throws(UsageError) {
    func refuse(_ reason: String) -> UsageError {
      UsageError("\"\(text)\" is no address to listen on: \(reason)")
    }
    if text.contains("://") || text.contains("/") {
      throw refuse("neither a scheme nor a path belongs to it; write 127.0.0.1:9469")
    }
    guard let colon = text.lastIndex(of: ":") else {
      if text.isEmpty { throw refuse("write 127.0.0.1:9469") }
      throw refuse(
        Int(text) != nil
          ? "the address is missing; write 127.0.0.1:\(text)" : "the port is missing; write \(text):9469")
    }
    let digits = text[text.index(after: colon)...]
    guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), let port = Int(digits), port <= 65_535 else {
      throw refuse("the port has to be a number up to 65535, as in 127.0.0.1:9469")
    }
    let host = text[..<colon]
    if host.isEmpty { throw refuse("the address is missing; write 127.0.0.1:\(port)") }
    if host == "*" { throw refuse("write 0.0.0.0:\(port) or [::]:\(port) for all addresses of the machine") }
    if host.hasPrefix("["), host.hasSuffix("]") {
      let inner = String(host.dropFirst().dropLast())
      guard Self.isIPv6(inner) else { throw refuse("there is no IPv6 address between the brackets") }
      self.host = inner
    } else if host.contains(":") {
      throw refuse("an IPv6 address stands in brackets, as in [::1]:9469")
    } else {
      let isName = host.utf8.allSatisfy {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
          || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_")].contains($0)
      }
      guard isName, host.utf8.count <= 253 else {
        throw refuse("\"\(host)\" is neither an address nor a name")
      }
      self.host = String(host)
    }
    self.port = port
  }

  /// Whether only programs of this machine can reach it. A name other than `localhost` may lead anywhere (RFC 6761 §6.3).
  var isLoopback: Bool { Self.isLoopback(host: host) }

  /// - Parameter host: in IPv6 without brackets.
  static func isLoopback(host: String) -> Bool {
    if host.lowercased() == "localhost" { return true }
    var four = in_addr()
    // 127.0.0.0/8 (RFC 1122 §3.2.1.3).
    if inet_pton(AF_INET, host, &four) == 1 { return UInt32(bigEndian: four.s_addr) >> 24 == 127 }
    var six = in6_addr()
    guard inet_pton(AF_INET6, host, &six) == 1 else { return false }
    return withUnsafeBytes(of: six) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
  }

  /// Whether it is an address of IPv6, perhaps with the interface that it is reached by (`fe80::1%eth0`).
  private static func isIPv6(_ text: String) -> Bool {
    let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
    var address = in6_addr()
    return inet_pton(AF_INET6, String(parts[0]), &address) == 1
      && parts.dropFirst().allSatisfy { !$0.isEmpty }
  }

  var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
