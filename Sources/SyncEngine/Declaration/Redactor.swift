import HTTP
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Removes secrets from everything that a person may read: by value, in whatever spelling a server or a standard
/// gives it.
public final class Redactor: Sendable {
  /// Values by their first three bytes. They compare as bytes: two that look the same are two secrets.
  private typealias Values = [Int: Set<[UInt8]>]

  private struct State {
    var lasting: Values = [:]
    /// Values of single requests, such as signatures, of which a program that runs for months makes no end: the latest
    /// and those before them.
    var passing: Values = [:]
    var passed: Values = [:]
    var passingCount = 0
  }

  private let state = Mutex(State())

  /// So many values of single requests are known at least, from the latest on.
  static let passingLimit = 4096

  public init() {}

  /// Text shorter than three characters is not looked for: it would blot out innocent words.
  ///
  /// - Parameter isPassing: whether the value belongs to one request; it is added again where another one has it.
  package func add(_ value: String, isPassing: Bool = false) {
    guard value.count >= 3 else { return }
    let bytes = Array(value.utf8)
    let start = Self.start(bytes[...])
    state.withLock { state in
      guard isPassing else {
        state.lasting[start, default: []].insert(bytes)
        return
      }
      guard state.lasting[start]?.contains(bytes) != true,
        state.passing[start, default: []].insert(bytes).inserted
      else { return }
      state.passingCount += 1
      if state.passingCount > Self.passingLimit {
        (state.passed, state.passing, state.passingCount) = (state.passing, [:], 0)
      }
    }
  }

  /// How many values are looked for.
  var count: Int {
    state.withLock { state in
      [state.lasting, state.passing, state.passed].reduce(0) { $0 + $1.values.reduce(0) { $0 + $1.count } }
    }
  }

  private static func start(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.prefix(3).reduce(0) { $0 << 8 | Int($1) }
  }

  /// The text without secrets, and without control characters but the line feed: a terminal would obey them.
  public func redact(_ text: String) -> String {
    withoutSecrets(Array(text.utf8)).escapingControls { $0 == "\n" }
  }

  /// A text of a source for a message: redacted, on one line, and only then cut to `limit` characters.
  ///
  /// - Parameter end: how many of the characters are taken from the end; what is between is left out.
  func excerpt(_ text: some BidirectionalCollection<UInt8>, limit: Int, keepingEnd end: Int = 0) -> String {
    // Far more than is shown: what is cut off here may be one half of a secret.
    let bound = 4000
    let bytes =
      text.count <= 2 * bound ? Array(text) : text.prefix(bound) + Array(text.suffix(end == 0 ? 0 : bound))
    let text = withoutSecrets(bytes).escapingControls { _ in false }
    if text.utf8.count <= limit { return text }
    let clean = text.unicodeScalars
    guard clean.count > limit else { return String(clean) }
    return "\(String(clean.prefix(limit - end)))…\(String(clean.suffix(end)))"
  }

  /// Whether a lasting secret stands in the bytes as it is, percent-encoded or as JSON writes it: a quick look at whole
  /// bodies, where ``withoutSecrets(_:)`` would undo each escape.
  func holdsLastingSecret(_ bytes: [UInt8]) -> Bool {
    let values = state.withLock { $0.lasting.values.flatMap { $0 } }
    return bytes.withUnsafeBytes { bytes in
      values.contains { value in
        let text = String(decoding: value, as: UTF8.self)
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let spellings = [text, percentEncoded(text), escaped, escaped.replacing("/", with: "\\/")]
        return Set(spellings).contains { Self.find(Array($0.utf8), in: bytes) }
      }
    }
  }

  private static func find(_ text: [UInt8], in bytes: UnsafeRawBufferPointer) -> Bool {
    guard let first = text.first, let base = bytes.baseAddress else { return false }
    var offset = 0
    while offset + text.count <= bytes.count,
      let next = memchr(base + offset, Int32(first), bytes.count - text.count + 1 - offset)
    {
      if memcmp(next, text, text.count) == 0 { return true }
      offset = UnsafeRawPointer(next) - base + 1
    }
    return false
  }

  /// The text without secrets, otherwise as it is.
  func withoutSecrets(_ text: some Collection<UInt8>) -> String {
    let state = state.withLock { $0 }
    let known = [state.lasting, state.passing, state.passed].filter { !$0.isEmpty }
    guard !known.isEmpty else { return String(decoding: text, as: UTF8.self) }
    let text = Array(text)
    var found: [Range<Int>] = []
    for spelling in Spelling.all(of: text) {
      for start in spelling.bytes.indices.dropLast(2) {
        let key = Self.start(spelling.bytes[start...])
        for value in known.lazy.compactMap({ $0[key] }).joined() {
          let length = zip(spelling.bytes[start...], value).prefix { $0 == $1 }.count
          // An excerpt may have cut a secret short: its beginning alone is removed as well.
          guard length == value.count || (value.count >= 12 && length >= 8) else { continue }
          found.append(spelling.starts[start]..<spelling.starts[start + length])
        }
      }
    }
    var out: [UInt8] = []
    var end = 0
    for range in found.sorted(by: { ($0.lowerBound, $1.upperBound) < ($1.lowerBound, $0.upperBound) })
    where range.upperBound > end {
      if range.lowerBound >= end {
        out += text[end..<range.lowerBound]
        out += "***".utf8
      }
      end = range.upperBound
    }
    return String(decoding: out + text[end...], as: UTF8.self)
  }
}

/// A text with some of its escapes undone.
private struct Spelling {
  var bytes: [UInt8] = []
  /// Where in the text each byte begins, and the text's end.
  var starts: [Int] = []

  /// The text as it is, and with percent encodings, form encodings and the escapes of JSON undone, up to three of
  /// them one inside of the other.
  static func all(of text: [UInt8]) -> [Spelling] {
    var all = [Spelling(bytes: text, starts: Array(0...text.count))]
    guard text.contains(where: { "%+\\".utf8.contains($0) }) else { return all }
    var known: Set<[UInt8]> = [text]
    var latest = all
    for _ in 0..<3 {
      latest = latest.flatMap { spelling in
        [percentEscape, formEscape, jsonEscape].map { spelling.undoing($0) }
          .filter { known.insert($0.bytes).inserted }
      }
      all += latest
    }
    return all
  }

  /// Reads an escape at the beginning: its length, and the bytes that it stands for.
  private typealias Escape = (ArraySlice<UInt8>) -> (length: Int, bytes: [UInt8])?

  private func undoing(_ escape: Escape) -> Spelling {
    var made = Spelling()
    var index = 0
    while index < bytes.count {
      let (length, meant) = escape(bytes[index...]) ?? (1, [bytes[index]])
      made.bytes += meant
      made.starts += meant.map { _ in starts[index] }
      index += length
    }
    made.starts.append(starts[index])
    return made
  }

  /// RFC 3986 §2.1.
  private static func percentEscape(_ text: ArraySlice<UInt8>) -> (length: Int, bytes: [UInt8])? {
    guard text.first == UInt8(ascii: "%"), let value = number(text.dropFirst().prefix(2), digits: 2) else {
      return nil
    }
    return (3, [UInt8(value)])
  }

  /// As forms are encoded: a plus for a space (url.spec.whatwg.org §5.1).
  private static func formEscape(_ text: ArraySlice<UInt8>) -> (length: Int, bytes: [UInt8])? {
    text.first == UInt8(ascii: "+") ? (1, [UInt8(ascii: " ")]) : percentEscape(text)
  }

  /// RFC 8259 §7.
  private static func jsonEscape(_ text: ArraySlice<UInt8>) -> (length: Int, bytes: [UInt8])? {
    guard text.first == UInt8(ascii: "\\"), let letter = text.dropFirst().first else { return nil }
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return (2, [letter])
    case UInt8(ascii: "b"): return (2, [0x08])
    case UInt8(ascii: "f"): return (2, [0x0C])
    case UInt8(ascii: "n"): return (2, [0x0A])
    case UInt8(ascii: "r"): return (2, [0x0D])
    case UInt8(ascii: "t"): return (2, [0x09])
    case UInt8(ascii: "u"):
      guard let unit = number(text.dropFirst(2).prefix(4), digits: 4) else { return nil }
      if let scalar = Unicode.Scalar(unit) { return (6, Array(String(scalar).utf8)) }
      let rest = text.dropFirst(6)
      guard unit < 0xDC00, rest.starts(with: #"\u"#.utf8),
        let low = number(rest.dropFirst(2).prefix(4), digits: 4), (0xDC00...0xDFFF).contains(low),
        let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
      else { return nil }
      return (12, Array(String(scalar).utf8))
    default: return nil
    }
  }

  private static func number(_ text: ArraySlice<UInt8>, digits: Int) -> UInt32? {
    guard text.count == digits, text.first != UInt8(ascii: "+"), text.first != UInt8(ascii: "-") else {
      return nil
    }
    return UInt32(String(decoding: text, as: UTF8.self), radix: 16)
  }
}

extension String {
  /// Control characters, line separators and bidirectional controls as `\u{1b}`.
  fileprivate func escapingControls(but isKept: (Unicode.Scalar) -> Bool) -> String {
    if utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return self }
    var out = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      let properties = scalar.properties
      let isControl =
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: properties.isBidiControl
        }
      if isControl && !isKept(scalar) {
        out.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
      } else {
        out.append(scalar)
      }
    }
    return String(out)
  }
}
