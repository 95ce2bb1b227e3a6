import CSimdJSON

/// The raw tape of a document: what the decoding loop runs over. Valid only inside ``JSONDocument/withTape(_:)``.
///
/// A node is named by its index. An object's members are pairs, the key at `i` and the value at `i + 1`; the next
/// pair stands at `next(i + 1)`.
package struct JSONTape {
  package let nodes: UnsafePointer<csj_node>
  package let bytes: UnsafePointer<UInt8>

  init(nodes: UnsafePointer<csj_node>, bytes: UnsafePointer<UInt8>) {
    (self.nodes, self.bytes) = (nodes, bytes)
  }

  @inlinable @inline(__always)
  package func kind(_ index: Int) -> JSONKind {
    // The parser writes only the eight kinds, whose raw values are those that the compiler numbers them by.
    unsafeBitCast(nodes[index].kind, to: JSONKind.self)
  }

  /// The index behind the node and all that it contains.
  @inlinable @inline(__always)
  package func next(_ index: Int) -> Int { Int(nodes[index].next) }

  /// The bytes of the node: a string without its quotes, a container with its brackets.
  @inlinable @inline(__always)
  package func raw(_ index: Int) -> UnsafeBufferPointer<UInt8> {
    let node = nodes[index]
    return UnsafeBufferPointer(start: bytes + Int(node.offset), count: Int(node.length))
  }

  @inlinable @inline(__always)
  package func hasEscape(_ index: Int) -> Bool { nodes[index].flags & UInt8(CSJ_HAS_ESCAPE) != 0 }

  /// Whether the string holds half a surrogate pair, which no text can hold.
  @inline(__always)
  package func hasLoneSurrogate(_ index: Int) -> Bool {
    nodes[index].flags & UInt8(CSJ_LONE_SURROGATE) != 0
  }

  /// Writes the text of a string node to `into`, which has room for as many bytes as the raw string, and returns
  /// the number of bytes written. Escapes are undone (RFC 8259 §7); the string must not hold a lone surrogate.
  package func unescape(_ index: Int, into: UnsafeMutablePointer<UInt8>) -> Int {
    let raw = raw(index)
    var read = 0
    var written = 0
    while read < raw.count {
      let byte = raw[read]
      guard byte == UInt8(ascii: "\\") else {
        into[written] = byte
        written += 1
        read += 1
        continue
      }
      let escape = raw[read + 1]
      read += 2
      switch escape {
      case UInt8(ascii: "b"): into[written] = 0x08
      case UInt8(ascii: "f"): into[written] = 0x0C
      case UInt8(ascii: "n"): into[written] = 0x0A
      case UInt8(ascii: "r"): into[written] = 0x0D
      case UInt8(ascii: "t"): into[written] = 0x09
      case UInt8(ascii: "u"):
        var scalar = Self.codeUnit(raw, read)
        read += 4
        if scalar & 0xFC00 == 0xD800, read + 6 <= raw.count {
          scalar = 0x10000 + (scalar & 0x3FF) << 10 + Self.codeUnit(raw, read + 2) & 0x3FF
          read += 6
        }
        let text = UTF8.encode(Unicode.Scalar(scalar) ?? "\u{FFFD}")
        for unit in text ?? UTF8.encodedReplacementCharacter {
          into[written] = unit
          written += 1
        }
        continue
      default: into[written] = escape
      }
      written += 1
    }
    return written
  }

  private static func codeUnit(_ raw: UnsafeBufferPointer<UInt8>, _ start: Int) -> UInt32 {
    var value: UInt32 = 0
    for byte in raw[start..<start + 4] {
      let digit = byte < 0x40 ? byte & 0x0F : (byte & 0x0F) + 9
      value = value << 4 | UInt32(digit)
    }
    return value
  }

  /// Whether a string node reads as `text`.
  @inlinable @inline(__always)
  package func string(_ index: Int, equals text: UnsafeBufferPointer<UInt8>) -> Bool {
    let raw = raw(index)
    if !hasEscape(index) {
      return raw.count == text.count && equal(raw, text)
    }
    return escapedString(index, equals: text)
  }

  @usableFromInline @inline(never)
  package func escapedString(_ index: Int, equals text: UnsafeBufferPointer<UInt8>) -> Bool {
    if hasLoneSurrogate(index) { return false }
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: raw(index).count) { buffer in
      guard let base = buffer.baseAddress else { return text.isEmpty }
      let count = unescape(index, into: base)
      return count == text.count && equal(UnsafeBufferPointer(start: base, count: count), text)
    }
  }

  @inlinable @inline(__always)
  package func equal(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Bool {
    let (one, two) = (UnsafeRawBufferPointer(a), UnsafeRawBufferPointer(b))
    var i = 0
    while i + 8 <= one.count {
      if one.loadUnaligned(fromByteOffset: i, as: UInt64.self)
        != two.loadUnaligned(fromByteOffset: i, as: UInt64.self)
      {
        return false
      }
      i += 8
    }
    while i < one.count {
      if one[i] != two[i] { return false }
      i += 1
    }
    return true
  }

  /// The text of a string node; nil where it holds a lone surrogate.
  package func string(_ index: Int) -> String? {
    let raw = raw(index)
    if !hasEscape(index) { return String(decoding: raw, as: UTF8.self) }
    if hasLoneSurrogate(index) { return nil }
    return String(unsafeUninitializedCapacity: raw.count) { buffer in
      buffer.baseAddress.map { unescape(index, into: $0) } ?? 0
    }
  }

  /// The value behind `key` in an object, and how often the key stands there. The last one counts.
  package func member(_ key: String, of object: Int) -> (value: Int, count: Int)? {
    var key = key
    return key.withUTF8 { text in
      var found: (value: Int, count: Int)?
      var index = object + 1
      let end = next(object)
      while index < end {
        if string(index, equals: text) { found = (index + 1, (found?.count ?? 0) + 1) }
        index = next(index + 1)
      }
      return found
    }
  }
}

/// The double nearest to a JSON number token; nil where it is out of a double's range (`1e400`, `1e-400`).
package func nearestDouble(_ token: UnsafeBufferPointer<UInt8>) -> Double? {
  var value = 0.0
  guard let base = token.baseAddress, csj_double(base, token.count, &value) == 1 else { return nil }
  return value
}

/// Copies legal JSON without its insignificant white space; `into` has room for all of `json`.
package func minify(_ json: UnsafeBufferPointer<UInt8>, into: UnsafeMutablePointer<UInt8>) -> Int {
  guard let base = json.baseAddress else { return 0 }
  return csj_minify(base, json.count, into)
}
