/// What a server can tell a changed answer by (RFC 9110 §8.8): its entity tag, or else the time of its last change.
public struct HTTPValidator: Sendable, Hashable {
  /// As it came: `"abc"`, `W/"abc"` or a date.
  public let text: String

  private var isTag: Bool { text.hasPrefix("\"") || text.hasPrefix("W/\"") }

  /// - Parameter text: as ``text`` gave it.
  public init(_ text: String) { self.text = text }

  /// The validator of an answer; nil where it has none that can be relied on.
  ///
  /// What changed in the very second in which it was answered may have changed again in that second, and have the same
  /// date, or a tag made of it (RFC 9110 §8.8.2.2). A date alone is taken only where the answer says when it was given.
  public init?(of headers: HTTPHeaders) {
    let (changed, given) = (headers["Last-Modified"], headers["Date"])
    if let changed, changed == given { return nil }
    if let tag = headers["ETag"], Self.isTag(tag) {
      text = tag
    } else if let changed, given != nil {
      text = changed
    } else {
      return nil
    }
  }

  /// RFC 9110 §8.8.3.
  private static func isTag(_ text: String) -> Bool {
    let opaque = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
    return opaque.utf8.count >= 2 && opaque.hasPrefix("\"") && opaque.hasSuffix("\"")
      && !opaque.dropFirst().dropLast().utf8.contains(UInt8(ascii: "\""))
  }

  /// Asks for an answer only if it has changed since; the other answer is status 304, without a body.
  public func condition(_ request: inout HTTPRequest) {
    request.headers[isTag ? "If-None-Match" : "If-Modified-Since"] = text
  }

  /// Whether a 304 is about the same answer: it may leave the tag out, but not name another one.
  public func agrees(with headers: HTTPHeaders) -> Bool {
    guard isTag, let tag = headers["ETag"] else { return true }
    func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
    return opaque(tag) == opaque(text)
  }
}
