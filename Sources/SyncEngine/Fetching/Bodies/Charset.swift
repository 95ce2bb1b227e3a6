#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Character encodings that are not UTF-8, undone by iconv.
enum Charset {
  /// The charset parameter of a Content-Type field (RFC 9110 §8.3.1); nil if there is none.
  static func declared(by contentType: String?) -> String? {
    for parameter in (contentType ?? "").utf8.split(separator: UInt8(ascii: ";")).dropFirst() {
      let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1)
      guard parts.count == 2, let name = String(parts[0]), name.withoutBlanks.lowercased() == "charset",
        let value = String(parts[1])
      else { continue }
      // The field may have come twice, joined by a comma.
      let first = value.prefix { $0 != "," }
      let unquoted = String(first).withoutBlanks.filter { $0 != "\"" && $0 != "'" }
      return unquoted.isEmpty ? nil : unquoted
    }
    return nil
  }

  /// Whether the bytes can be taken as they are.
  static func isUTF8(_ name: String) -> Bool { ["utf-8", "utf8"].contains(name.lowercased()) }

  /// The bytes as UTF-8, without a byte order mark where there was one.
  ///
  /// - Throws: ``BodyError`` for a charset that is not known, and for bytes that are none of its characters.
  static func utf8(_ body: [UInt8], from name: String) throws(BodyError) -> [UInt8] {
    // A mark of UTF-8 says more than a header that a server adds to everything.
    if isUTF8(name) || body.starts(with: mark) { return body }
    let (source, skipped) = exact(name, body)
    // A name is a word: iconv reads more into a slash.
    guard source.utf8.allSatisfy({ isNameByte($0) }), let converter = iconv_open("UTF-8", source),
      converter != UnsafeMutableRawPointer(bitPattern: -1)
    else { throw BodyError("the charset \"\(name)\" is unknown") }
    defer { iconv_close(converter) }

    var out: [UInt8] = []
    out.reserveCapacity(body.count + body.count / 4)
    var input = Array(body[skipped...])
    let failure = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64 << 10) { chunk -> Int? in
      input.withUnsafeMutableBytes { bytes -> Int? in
        var next = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        var left = bytes.count
        var isFlushing = false
        while true {
          var end = chunk.baseAddress
          var room = chunk.count
          let result =
            isFlushing ? iconv(converter, nil, nil, &end, &room) : iconv(converter, &next, &left, &end, &room)
          let code = errno
          out.append(
            contentsOf: UnsafeRawBufferPointer(
              rebasing: UnsafeRawBufferPointer(chunk)[..<(chunk.count - room)]))
          if result != -1 {
            if isFlushing { return nil }
            isFlushing = true
          } else if code != E2BIG {
            return bytes.count - left
          }
        }
      }
    }
    if let failure {
      throw BodyError("the body is not in its charset \"\(name)\" (at byte \(failure + skipped))")
    }
    return out.starts(with: mark) ? Array(out.dropFirst(3)) : out
  }

  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// UTF-16 and UTF-32 with their byte order, and the length of their mark. Without one the zeros of an ASCII
  /// character at the beginning tell it; else it is big-endian (RFC 2781 §4.3).
  private static func exact(_ name: String, _ body: [UInt8]) -> (String, skipped: Int) {
    func starts(_ bytes: UInt8...) -> Bool { body.starts(with: bytes) }
    switch name.uppercased() {
    case "UTF-16", "UTF16":
      if starts(0xFE, 0xFF) { return ("UTF-16BE", 2) }
      if starts(0xFF, 0xFE) { return ("UTF-16LE", 2) }
      return (body.count > 1 && body[0] != 0 && body[1] == 0 ? "UTF-16LE" : "UTF-16BE", 0)
    case "UTF-32", "UTF32":
      if starts(0, 0, 0xFE, 0xFF) { return ("UTF-32BE", 4) }
      if starts(0xFF, 0xFE, 0, 0) { return ("UTF-32LE", 4) }
      return (body.count > 1 && body[0] != 0 && body[1] == 0 ? "UTF-32LE" : "UTF-32BE", 0)
    default: return (name, 0)
    }
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "-_.:+".utf8.contains(byte)
    }
  }

  /// The charset that an XML document names itself: by a byte order mark, by its zeros, or in its declaration
  /// (XML 1.0, appendix F).
  static func declaredByXML(_ body: [UInt8]) -> String? {
    func starts(_ bytes: UInt8...) -> Bool { body.starts(with: bytes) }
    if starts(0xEF, 0xBB, 0xBF) { return "UTF-8" }
    if starts(0, 0, 0xFE, 0xFF) || starts(0xFF, 0xFE, 0, 0) || starts(0, 0, 0, 0x3C) || starts(0x3C, 0, 0, 0)
    {
      return "UTF-32"
    }
    if starts(0xFE, 0xFF) || starts(0xFF, 0xFE) || starts(0, 0x3C) || starts(0x3C, 0) { return "UTF-16" }
    guard body.starts(with: "<?xml".utf8), let end = body.prefix(1000).firstIndex(of: UInt8(ascii: ">"))
    else {
      return nil
    }
    let declaration = String(decoding: body[..<end], as: UTF8.self)
    guard let match = declaration.firstRange(of: "encoding") else { return nil }
    let value = declaration[match.upperBound...].drop { $0 != "\"" && $0 != "'" }
    guard let quote = value.first else { return nil }
    let name = value.dropFirst().prefix { $0 != quote }
    return name.isEmpty ? nil : String(name)
  }
}

extension String {
  fileprivate var withoutBlanks: Substring {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    let front = drop(while: isBlank)
    return front.lastIndex { !isBlank($0) }.map { front[...$0] } ?? ""
  }
}
