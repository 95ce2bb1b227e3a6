import FoundationEssentials
import SyncEngine
import WebServer

/// Who may look: on loopback everyone who is on the machine, elsewhere who has the token.
struct SiteAccess: Sendable {
  /// Characters; as many as 80 bits have in hexadecimal digits, at least.
  static let shortestToken = 20

  /// Of the token; nil where none is asked for.
  private let digest: String?

  var asksForToken: Bool { digest != nil }

  /// - Throws: `UsageError` where the address may be reached from elsewhere and there is no token, or for a token that
  ///   cannot be sent or is guessed too easily.
  init(_ address: ListenAddress, token: String?) throws(UsageError) {
    guard let token else {
      guard address.isLoopback else {
        throw UsageError(
          "\(address) may be reached by other machines, so a token is needed: set \"http_token\" in the configuration, or listen on 127.0.0.1:\(address.port)"
        )
      }
      digest = nil
      return
    }
    guard token.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
      throw UsageError(
        "\"http_token\" may have visible ASCII characters alone: others cannot be sent in a header")
    }
    guard token.utf8.count >= Self.shortestToken else {
      throw UsageError(
        "\"http_token\" is too short to keep anyone out: \(Self.shortestToken) characters are the least, such as 'openssl rand -hex 16' prints"
      )
    }
    digest = Digest.sha256(token)
  }

  /// What a request is answered that may not look; nil for one that may.
  func refusal(of request: WebRequest) -> WebResponse? {
    if let digest {
      let isKnown = Self.tokens(of: request).contains { Self.equals(Digest.sha256($0), digest) }
      if isKnown { return nil }
      return .text(
        "a token is needed: as Authorization: Bearer, or as the password of any user", status: 401,
        headers: [
          ("WWW-Authenticate", #"Basic realm="syncd", charset="UTF-8""#),
          ("WWW-Authenticate", #"Bearer realm="syncd""#),
        ])
    }
    // A page from elsewhere whose name leads to this machine has the browser send that name (DNS rebinding).
    if let host = request.header("Host"), !Self.isLocal(host) {
      return .text(
        "this server answers for localhost, not for \(host); ask for http://127.0.0.1", status: 421)
    }
    return nil
  }

  /// RFC 6750 §2.1 and RFC 7617.
  private static func tokens(of request: WebRequest) -> [String] {
    guard let text = request.header("Authorization") else { return [] }
    let words = text.split(separator: " ", maxSplits: 1).map { String($0) }
    guard words.count == 2 else { return [] }
    switch words[0].lowercased() {
    case "bearer": return [words[1]]
    case "basic":
      guard let data = Data(base64Encoded: words[1]) else { return [] }
      let pair = String(decoding: data, as: UTF8.self)
      return pair.firstIndex(of: ":").map { [String(pair[pair.index(after: $0)...])] } ?? []
    default: return []
    }
  }

  /// Takes as long for digests that differ early as for ones that differ late.
  private static func equals(_ a: String, _ b: String) -> Bool {
    zip(a.utf8, b.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  /// - Parameter host: `localhost:9469`, `[::1]`
  private static func isLocal(_ host: String) -> Bool {
    if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
      return isPort(host[host.index(after: end)...])
        && ListenAddress.isLoopback(host: String(host[host.index(after: host.startIndex)..<end]))
    }
    let colon = host.firstIndex(of: ":") ?? host.endIndex
    return isPort(host[colon...]) && ListenAddress.isLoopback(host: String(host[..<colon]))
  }

  /// Nothing, or a colon with digits.
  private static func isPort(_ text: Substring) -> Bool {
    text.isEmpty || text.first == ":" && text.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
  }
}
