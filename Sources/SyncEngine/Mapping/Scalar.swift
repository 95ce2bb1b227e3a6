import FoundationEssentials
import JSON

/// A JSON scalar whose text has no escapes left, or a container as it stands.
struct Scalar {
  var kind: JSONKind
  var bytes: UnsafeBufferPointer<UInt8>

  static var null: Scalar { Scalar(kind: .null, bytes: UnsafeBufferPointer(start: nil, count: 0)) }
}

/// The forms in which each type is accepted: those that lose nothing. Each function returns nil for all others.
extension Scalar {
  private var isNumberOrText: Bool { kind == .integer || kind == .decimal || kind == .string }

  var integer: Int64? {
    guard isNumberOrText else { return nil }
    if bytes.count <= 18, let value = Self.smallInteger(bytes) { return value }
    return NumberToken(bytes)?.integer
  }

  /// An integer of at most 18 digits without leading zeros.
  @inline(__always)
  static func smallInteger(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
    var index = 0
    let isNegative = bytes.first == UInt8(ascii: "-")
    if isNegative { index = 1 }
    guard index < bytes.count, bytes[index] != 0x30 || bytes.count == index + 1 else { return nil }
    var value: Int64 = 0
    while index < bytes.count {
      let digit = bytes[index] &- 0x30
      guard digit < 10 else { return nil }
      value = value &* 10 &+ Int64(digit)
      index += 1
    }
    return isNegative ? -value : value
  }

  /// The nearest double. A whole number has to be one exactly: it would lose digits otherwise.
  var real: Double? {
    guard isNumberOrText, kind != .string || NumberToken(bytes) != nil, let value = nearestDouble(bytes)
    else {
      return nil
    }
    guard abs(value) >= 0x1p53, let token = NumberToken(bytes), token.isExactInteger else { return value }
    return token.equals(value) ? value : nil
  }

  /// The double nearest to a number in the range of a single; whole numbers have to be one exactly.
  var float: Double? {
    guard let value = real, abs(value) <= Double(Float.greatestFiniteMagnitude),
      value == 0 || abs(value) >= Double(Float.leastNonzeroMagnitude)
    else { return nil }
    return value.rounded() == value && abs(value) >= 0x1p24 && Double(Float(value)) != value ? nil : value
  }

  var boolean: Bool? {
    switch kind {
    case .true: return true
    case .false: return false
    case .integer, .string:
      switch bytes.count {
      case 1: return bytes[0] == 0x31 ? true : bytes[0] == 0x30 ? false : nil
      case 4: return Self.equalsIgnoringCase(bytes, "true") ? true : nil
      case 5: return Self.equalsIgnoringCase(bytes, "false") ? false : nil
      default: return nil
      }
    default: return nil
    }
  }

  private static func equalsIgnoringCase(_ bytes: UnsafeBufferPointer<UInt8>, _ word: StaticString) -> Bool {
    word.withUTF8Buffer { word in zip(bytes, word).allSatisfy { $0 | 0x20 == $1 } }
  }

  /// The digits of a number, without an exponent.
  var decimal: String? { isNumberOrText ? NumberToken(bytes)?.decimal : nil }

  /// Milliseconds since 1970.
  func timestamp(_ format: TimestampFormat) -> Int64? {
    switch format {
    case .iso8601(let zone): return kind == .string ? Timestamp.parse(bytes, zone: zone) : nil
    case .http: return kind == .string ? HTTPDate.parse(bytes) : nil
    case .pattern(let pattern, let zone):
      // `20260102` may come as a number.
      return kind == .string || kind == .integer ? pattern.parse(bytes, in: zone) : nil
    case .unix(let perSecond):
      guard isNumberOrText, let value = NumberToken(bytes)?.floored(timesTenTo: perSecond == 1 ? 3 : 0),
        (Timestamp.first...Timestamp.last).contains(value)
      else { return nil }
      return value
    }
  }

  var day: Day? { kind == .string ? Day.parse(bytes) : nil }

  /// Microseconds.
  func duration(_ format: DurationFormat) -> Int64? { isNumberOrText ? format.parse(bytes) : nil }

  /// The text of a UUID in lower case; it may be written with or without hyphens (RFC 9562 §4).
  var uuid: [UInt8]? {
    let hyphens = [8, 13, 18, 23]
    guard kind == .string, bytes.count == 36 || bytes.count == 32 else { return nil }
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for byte in bytes {
      if hyphens.contains(text.count) {
        text.append(UInt8(ascii: "-"))
        if bytes.count == 36 {
          guard byte == UInt8(ascii: "-") else { return nil }
          continue
        }
      }
      guard DataEncoding.hexDigit(byte) != nil else { return nil }
      text.append(byte | 0x20)
    }
    return text
  }

  func data(_ encoding: DataEncoding) -> [UInt8]? { kind == .string ? encoding.decode(bytes) : nil }

  /// Whether the text is a URI reference (RFC 3986 §4.1), characters beyond ASCII allowed as in an IRI (RFC 3987).
  var isURL: Bool {
    kind == .string && (Self.isPlainURL(bytes) || Self.isReference(bytes))
  }

  private static func isReference(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard !bytes.isEmpty else { return false }
    for (index, byte) in bytes.enumerated() {
      switch byte {
      case 0...0x20, 0x7F: return false
      case UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "{"), UInt8(ascii: "}"),
        UInt8(ascii: "|"), UInt8(ascii: "\\"), UInt8(ascii: "^"), UInt8(ascii: "`"):
        return false
      // U+0080 to U+009F are control characters as well.
      case 0xC2 where index + 1 < bytes.count && bytes[index + 1] < 0xA0: return false
      case UInt8(ascii: "%"):
        guard index + 2 < bytes.count, DataEncoding.hexDigit(bytes[index + 1]) != nil,
          DataEncoding.hexDigit(bytes[index + 2]) != nil
        else { return false }
      default: break
      }
    }
    return URL(reference: bytes) != nil
  }

  /// An http address of host and path in plain characters, which needs no asking.
  static func isPlainURL(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var host = 0
    if begins(bytes, with: "https://") {
      host = 8
    } else if begins(bytes, with: "http://") {
      host = 7
    }
    guard host > 0 else { return false }
    var index = host
    while index < bytes.count, isHostByte(bytes[index]) { index += 1 }
    guard index > host, index == bytes.count || bytes[index] == UInt8(ascii: "/") else { return false }
    while index < bytes.count {
      let byte = bytes[index]
      guard isHostByte(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "_") else { return false }
      index += 1
    }
    return true
  }

  @inline(__always)
  private static func begins(_ bytes: UnsafeBufferPointer<UInt8>, with word: StaticString) -> Bool {
    guard bytes.count >= word.utf8CodeUnitCount else { return false }
    for index in 0..<word.utf8CodeUnitCount where bytes[index] != word.utf8Start[index] { return false }
    return true
  }

  @inline(__always)
  private static func isHostByte(_ byte: UInt8) -> Bool {
    (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A) || (byte >= 0x30 && byte <= 0x39) || byte == 0x2D
      || byte == 0x2E
  }
}
