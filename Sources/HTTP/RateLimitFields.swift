/// What a server says about the requests that are left to a client.
///
/// Read are `RateLimit: limit=100, remaining=0, reset=30` and `RateLimit: "default";r=0;t=30`
/// (draft-ietf-httpapi-ratelimit-headers, versions 7 and 10), and the pairs `RateLimit-Remaining`, `RateLimit-Reset` and
/// `X-RateLimit-Remaining`, `X-RateLimit-Reset`, the last of which some servers give as seconds since 1970.
enum RateLimitFields {
  /// The time until requests are left again; nil where some are, or where nothing usable is said.
  ///
  /// - Parameter now: seconds since 1970.
  static func wait(_ headers: HTTPHeaders, now: Int) -> Duration? {
    var waits: [Int] = []
    if let field = headers["RateLimit"] { waits += structured(field) }
    for prefix in ["RateLimit-", "X-RateLimit-", "X-Rate-Limit-"] {
      guard headers[prefix + "Remaining"].flatMap(number) == 0,
        let reset = headers[prefix + "Reset"].flatMap(number)
      else { continue }
      waits.append(seconds(untilReset: reset, now: now))
    }
    return waits.max().map { .seconds($0) }
  }

  /// A reset in seconds from now; numbers that would be decades are points in time, in seconds or milliseconds.
  private static func seconds(untilReset reset: Int, now: Int) -> Int {
    switch reset {
    case ..<1_000_000_000: reset
    case ..<100_000_000_000: max(0, reset - now)
    default: max(0, (reset + 999) / 1000 - now)
    }
  }

  /// The resets of the policies of a `RateLimit` field that have nothing left.
  private static func structured(_ field: String) -> [Int] {
    var waits: [Int] = []
    // Version 7 is one dictionary, version 10 a list of policies with parameters.
    var remaining: Int?
    var reset: Int?
    func close() {
      if remaining == 0, let reset { waits.append(reset) }
      (remaining, reset) = (nil, nil)
    }
    for member in split(field, at: ",") {
      let parts = split(member, at: ";")
      let isPolicy = parts.dropFirst().contains { part in ["r", "t"].contains(pair(part)?.name) }
      for part in isPolicy ? Array(parts.dropFirst()) : Array(parts.prefix(1)) {
        guard let (name, value) = pair(part) else { continue }
        switch name {
        case "remaining", "r": remaining = number(value)
        case "reset", "t": reset = number(value)
        default: break
        }
      }
      if isPolicy { close() }
    }
    close()
    return waits
  }

  private static func pair(_ text: Substring) -> (name: String, value: String)? {
    guard let equals = text.firstIndex(of: "=") else { return nil }
    return (
      text[..<equals].trimmingBlanks.lowercased(), String(text[text.index(after: equals)...].trimmingBlanks)
    )
  }

  /// Splits outside of quoted strings (RFC 9651 §3.3.3).
  private static func split(_ text: some StringProtocol, at separator: Character) -> [Substring] {
    var parts: [Substring] = []
    let text = Substring(text)
    var start = text.startIndex
    var isQuoted = false
    var isEscaped = false
    for index in text.indices {
      let character = text[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted && character == "\\" {
        isEscaped = true
      } else if character == "\"" {
        isQuoted.toggle()
      } else if character == separator && !isQuoted {
        parts.append(text[start..<index])
        start = text.index(after: index)
      }
    }
    return parts + [text[start...]]
  }

  /// A whole number that is not negative; a fraction of a second counts as a second.
  private static func number(_ text: String) -> Int? {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { 0x30...0x39 ~= $0 } }) else { return nil }
    let whole = min(Int(parts[0]) ?? .max, 1 << 50)
    let hasFraction = parts.count == 2 && parts[1].contains { $0 != "0" }
    return whole + (hasFraction ? 1 : 0)
  }
}
