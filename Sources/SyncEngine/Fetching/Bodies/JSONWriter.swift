/// JSON text in the making.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []

  init(capacity: Int) { bytes.reserveCapacity(capacity) }

  mutating func raw(_ byte: UInt8) { bytes.append(byte) }
  mutating func raw(_ text: some Collection<UInt8>) { bytes.append(contentsOf: text) }
  mutating func raw(_ text: StaticString) {
    bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// A string with its quotes (RFC 8259 §7).
  mutating func string(_ text: some Collection<UInt8>) {
    raw(UInt8(ascii: "\""))
    content(text)
    raw(UInt8(ascii: "\""))
  }

  /// A part of a string.
  mutating func content(_ text: some Collection<UInt8>) {
    let isPlain = text.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    if isPlain { return raw(text) }
    for byte in text {
      switch byte {
      case UInt8(ascii: "\""): raw("\\\"")
      case UInt8(ascii: "\\"): raw("\\\\")
      case 0..<0x20:
        raw("\\u00")
        raw(Self.digits[Int(byte >> 4)])
        raw(Self.digits[Int(byte & 15)])
      default: raw(byte)
      }
    }
  }

  private static let digits = Array("0123456789abcdef".utf8)
}
