import FoundationEssentials

extension URL {
  /// A URI reference (RFC 3986 §4.1), or the one that an IRI reference stands for: what is beyond ASCII is
  /// percent-encoded (RFC 3987 §3.1), and so are brackets outside of the authority and further number signs, which
  /// many write bare.
  ///
  /// Nothing is left for Foundation to encode: it would encode each "%" beside such a character again, and a program
  /// that links ICU would ask IDNA about the host.
  init?(reference text: some Collection<UInt8>) {
    // Most have nothing to encode.
    guard text.contains(where: Self.mayNeedEncoding) else {
      self.init(string: String(decoding: text, as: UTF8.self), encodingInvalidCharacters: false)
      return
    }
    let bytes = Array(text)
    let authority = Self.authority(of: bytes)
    var encoded: [UInt8] = []
    encoded.reserveCapacity(bytes.count)
    var isFragment = false
    for (index, byte) in bytes.enumerated() {
      let isPlain =
        switch byte {
        case UInt8(ascii: "["), UInt8(ascii: "]"): authority.contains(index)
        case UInt8(ascii: "#"): !isFragment
        default: byte < 0x80
        }
      if byte == UInt8(ascii: "#") { isFragment = true }
      if isPlain {
        encoded.append(byte)
      } else {
        encoded.append(UInt8(ascii: "%"))
        encoded.append(Self.hexDigit(byte >> 4))
        encoded.append(Self.hexDigit(byte & 15))
      }
    }
    self.init(string: String(decoding: encoded, as: UTF8.self), encodingInvalidCharacters: false)
  }

  private static func mayNeedEncoding(_ byte: UInt8) -> Bool {
    byte >= 0x80 || byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]") || byte == UInt8(ascii: "#")
  }

  /// Where the authority stands: behind `//`, in front of which there is nothing or a scheme.
  private static func authority(of bytes: [UInt8]) -> Range<Int> {
    let start = bytes.firstIndex(where: endsAuthority) ?? bytes.count
    let scheme = bytes[..<start]
    guard bytes[start...].starts(with: "//".utf8),
      scheme.isEmpty || scheme.firstIndex(of: UInt8(ascii: ":")) == start - 1
    else { return 0..<0 }
    let rest = bytes[(start + 2)...]
    return rest.startIndex..<(rest.firstIndex(where: endsAuthority) ?? bytes.count)
  }

  private static func endsAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }
}
