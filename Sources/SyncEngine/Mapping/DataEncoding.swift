import FoundationEssentials

/// How bytes are written in a text.
package enum DataEncoding: Sendable {
  case base64, hex

  /// Nil for text that is not in the encoding, or holds bits that belong to no byte.
  package func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    switch self {
    case .hex:
      guard text.count % 2 == 0 else { return nil }
      var bytes: [UInt8] = []
      for index in stride(from: 0, to: text.count, by: 2) {
        guard let high = Self.hexDigit(text[index]), let low = Self.hexDigit(text[index + 1]) else {
          return nil
        }
        bytes.append(high << 4 | low)
      }
      return bytes
    case .base64:
      // The two alphabets in one; padding is made whole (RFC 4648 §4, §5).
      var standard = text.map {
        $0 == UInt8(ascii: "-") ? UInt8(ascii: "+") : $0 == UInt8(ascii: "_") ? UInt8(ascii: "/") : $0
      }
      if !text.contains(UInt8(ascii: "=")) {
        standard += Array(repeating: UInt8(ascii: "="), count: (4 - standard.count % 4) % 4)
      }
      guard let data = Data(base64Encoded: Data(standard)), data.base64EncodedData().elementsEqual(standard)
      else {
        return nil
      }
      return Array(data)
    }
  }

  static func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
  }

  package func string(_ bytes: [UInt8]) -> String {
    switch self {
    case .base64: Digest.base64(bytes)
    case .hex: Digest.hex(bytes)
    }
  }
}
