import CCurl

/// What a server can tell a changed answer by (RFC 9110 §8.8): its entity tag, or else the time of its last change.
public struct HTTPValidator: Sendable, Hashable {
  /// As it came: `"abc"`, `W/"abc"` or a date.
  public let text: String

  private var isTag: Bool { text.hasPrefix("\"") || text.hasPrefix("W/\"") }

  /// - Parameter text: as ``text`` gave it.
  public init(_ text: String) { self.text = text }

  /// The validator of an answer; nil where it has none that can be relied on.
  ///
  /// What changed just before it was answered may have changed again in the same second, and have the same date
  /// (RFC 9110 §8.8.2.2), or a tag that is made of it. A date alone is taken only if it lies a minute before the answer's,
  /// a tag if the date beside it lies two seconds before.
  public init?(of headers: HTTPHeaders) {
    let changed = headers["Last-Modified"]
    let age = changed.map { changed -> Int in
      let (then, now) = (curl_getdate(changed, nil), headers["Date"].map { curl_getdate($0, nil) } ?? -1)
      return then < 0 || now < 0 ? -1 : now - then
    }
    if let tag = headers["ETag"], Self.isTag(tag) {
      if let age, headers["Date"] != nil, age < 2 { return nil }
      text = tag
    } else if let changed, let age, age >= 60 {
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

  /// Whether a 304 is about the same answer: it may leave the tag or the date out, but not name another one.
  public func agrees(with headers: HTTPHeaders) -> Bool {
    guard isTag else { return headers["Last-Modified"].map { $0 == text } ?? true }
    guard let tag = headers["ETag"] else { return true }
    func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
    return opaque(tag) == opaque(text)
  }
}
