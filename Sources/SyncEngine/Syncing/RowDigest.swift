/// What the digests of one run have in them that nobody else knows, so that no source can make two rows with one digest.
package struct DigestSecret: Sendable {
  @usableFromInline let words: (UInt64, UInt64, UInt64, UInt64)

  package init() {
    func word() -> UInt64 { .random(in: .min ... .max) }
    words = (word(), word(), word(), word())
  }
}

/// A digest of 128 bits of a row under way, field by field: two chains of 64 × 64 → 128-bit products, each of which takes
/// sixteen bytes.
package struct RowDigest: Sendable, Equatable {
  @usableFromInline var low: UInt64
  @usableFromInline var high: UInt64

  @inlinable
  package init(_ secret: DigestSecret) { (low, high) = (secret.words.2, secret.words.3) }

  /// Where a table of digests begins to look for it.
  @inlinable @inline(__always)
  package var hash: Int { Int(truncatingIfNeeded: low) }

  /// - Parameter kind: tells apart fields of the same bytes.
  @inlinable @inline(__always)
  package mutating func add(_ bytes: UnsafeRawBufferPointer, kind: UInt8 = 0, _ secret: DigestSecret) {
    let count = bytes.count
    // The length tells where the field ends.
    let tag = (UInt64(truncatingIfNeeded: count) << 8 | UInt64(kind)) &* 0x9E37_79B9_7F4A_7C15
    low ^= tag
    high = high &+ tag
    if count > 16 {
      var offset = 0
      while offset + 16 < count {
        add(Self.word(bytes, offset), Self.word(bytes, offset + 8), secret)
        offset += 16
      }
      // The last sixteen, some of which were there before.
      add(Self.word(bytes, count - 16), Self.word(bytes, count - 8), secret)
    } else if count >= 8 {
      add(Self.word(bytes, 0), Self.word(bytes, count - 8), secret)
    } else {
      var rest: UInt64 = 0
      if count >= 4 {
        rest = Self.half(bytes, 0) << 32 | Self.half(bytes, count - 4)
      } else if count > 0 {
        rest = UInt64(bytes[0]) << 16 | UInt64(bytes[count / 2]) << 8 | UInt64(bytes[count - 1])
      }
      add(rest, tag, secret)
    }
  }

  @inlinable @inline(__always)
  package mutating func add(_ one: UInt64, _ two: UInt64, _ secret: DigestSecret) {
    let a = (one ^ low).multipliedFullWidth(by: two ^ secret.words.0)
    let b = (two ^ high).multipliedFullWidth(by: one ^ secret.words.1)
    low = a.high ^ a.low
    high = b.high ^ b.low &+ one
  }

  @inlinable @inline(__always)
  static func half(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    UInt64(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  @inlinable @inline(__always)
  static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }
}

/// The digests of a table's rows, in the table's order, which is often that of the pages too.
package struct DigestList: Sendable {
  private var digests: [RowDigest] = []
  /// Open addressing: a digest's number + 1, or 0 where free. The size is a power of two.
  private var table: [UInt32] = []

  package init() {}

  package var count: Int { digests.count }

  package mutating func append(_ digest: RowDigest) { digests.append(digest) }

  /// - Parameter hint: where the digest may be; it is set to where the next one may be.
  package mutating func contains(_ digest: RowDigest, hint: inout Int) -> Bool {
    if hint < digests.count, digests[hint] == digest {
      hint += 1
      return true
    }
    if hint + 1 < digests.count, digests[hint + 1] == digest {
      hint += 2
      return true
    }
    if table.isEmpty { index() }
    var slot = digest.hash & (table.count - 1)
    while table[slot] != 0 {
      let number = Int(table[slot]) - 1
      if digests[number] == digest {
        hint = number + 1
        return true
      }
      slot = (slot + 1) & (table.count - 1)
    }
    // In its place stands another row, most likely the one that it was.
    hint += 1
    return false
  }

  private mutating func index() {
    var size = 1024
    while size < digests.count * 2 { size *= 2 }
    table = Array(repeating: 0, count: size)
    for number in digests.indices {
      var slot = digests[number].hash & (size - 1)
      while table[slot] != 0 { slot = (slot + 1) & (size - 1) }
      table[slot] = UInt32(number + 1)
    }
  }
}
