#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The keys of a run's rows: finds duplicates, and tells what a complete walk did not see.
///
/// Keys compare as databases compare them: integers by value, text by bytes.
public struct KeyIndex: Sendable {
  private struct Entry {
    var start: Int
    var hash: UInt32
    var ordinal: UInt32
    var part: UInt32
    var walk: UInt8
  }

  enum Insertion: Equatable {
    case new
    /// The key was there already, in this part of this walk, at this position.
    case duplicate(of: Int)
    /// The key was there already, in another part of this walk, at this position.
    case duplicateOfOtherPart(of: Int)
    /// The key was there already, from an earlier walk of the same run, at this position.
    case seenBefore(at: Int)
  }

  private var bytes: [UInt8] = []
  private var entries: [Entry] = []
  /// Open addressing: entry number + 1, or 0 where free. The size is a power of two.
  private var table: [UInt32]
  /// Entries that stand in the table. Those behind them are known to differ from each other and from all before.
  private var indexed = 0
  private let seed = UInt64.random(in: .min ... .max)

  public init() { table = Array(repeating: 0, count: 1024) }

  public var count: Int { entries.count }

  /// The position that each key was given last.
  var ordinals: [Int] { entries.map { Int($0.ordinal) } }

  /// Calls `body` with each key and the position that it was given last.
  package func forEach(_ body: (UnsafeBufferPointer<UInt8>, _ ordinal: Int) throws -> Void) rethrows {
    try bytes.withUnsafeBufferPointer { bytes in
      for position in entries.indices {
        let key = UnsafeBufferPointer(rebasing: bytes[entries[position].start..<end(position)])
        try body(key, Int(entries[position].ordinal))
      }
    }
  }

  /// Whether no key was looked for yet, so that more may be appended.
  var isUnsearched: Bool { indexed == 0 }

  /// Makes room for keys of so many bytes in all, none of which is shorter than `shortest`.
  mutating func reserve(bytes count: Int, shortest: Int) {
    guard entries.isEmpty else { return }
    bytes.reserveCapacity(count)
    entries.reserveCapacity(count / shortest)
  }

  /// Adds a key that is known to be a new one, which costs less than to find that out.
  mutating func append(new key: UnsafeBufferPointer<UInt8>, ordinal: Int, walk: UInt8 = 0, part: UInt32 = 0) {
    entries.append(
      Entry(
        start: bytes.count, hash: 0, ordinal: UInt32(truncatingIfNeeded: ordinal), part: part, walk: walk))
    bytes.append(contentsOf: key)
  }

  /// Puts all keys into the table. Only then ``ordinal(of:)`` finds them all.
  package mutating func index() {
    guard indexed < entries.count else { return }
    if entries.count * 2 > table.count {
      table = Array(repeating: 0, count: (entries.count * 2).nextPowerOfTwo)
      indexed = 0
    }
    for position in indexed..<entries.count {
      let hash = hash(at: position)
      entries[position].hash = UInt32(truncatingIfNeeded: hash >> 32)
      place(position, hash)
    }
    indexed = entries.count
  }

  private mutating func place(_ position: Int, _ hash: UInt64) {
    var slot = Int(truncatingIfNeeded: hash) & (table.count - 1)
    while table[slot] != 0 { slot = (slot + 1) & (table.count - 1) }
    table[slot] = UInt32(position + 1)
  }

  private func hash(at position: Int) -> UInt64 {
    bytes.withUnsafeBufferPointer {
      hash(UnsafeBufferPointer(rebasing: $0[entries[position].start..<end(position)]))
    }
  }

  /// Keys that were seen last in a walk.
  func count(lastSeenIn walk: UInt8) -> Int { entries.count { $0.walk == walk } }

  /// - Parameters:
  ///   - ordinal: position of the row in the run.
  ///   - part: the walk's part, one for each parent.
  @discardableResult
  mutating func insert(
    _ key: UnsafeBufferPointer<UInt8>, ordinal: Int, walk: UInt8 = 0, part: UInt32 = 0
  ) -> Insertion {
    if indexed < entries.count { index() }
    let hash = hash(key)
    var slot = Int(truncatingIfNeeded: hash) & (table.count - 1)
    while table[slot] != 0 {
      let position = Int(table[slot]) - 1
      if matches(position, hash, key) {
        let earlier = Int(entries[position].ordinal)
        let known = entries[position]
        entries[position].ordinal = UInt32(truncatingIfNeeded: ordinal)
        (entries[position].walk, entries[position].part) = (walk, part)
        if known.walk != walk { return .seenBefore(at: earlier) }
        return known.part == part ? .duplicate(of: earlier) : .duplicateOfOtherPart(of: earlier)
      }
      slot = (slot + 1) & (table.count - 1)
    }
    entries.append(
      Entry(
        start: bytes.count, hash: UInt32(truncatingIfNeeded: hash >> 32),
        ordinal: UInt32(truncatingIfNeeded: ordinal), part: part, walk: walk))
    bytes.append(contentsOf: key)
    table[slot] = UInt32(entries.count)
    indexed = entries.count
    if entries.count * 2 > table.count { grow() }
    return .new
  }

  package func contains(_ key: UnsafeBufferPointer<UInt8>) -> Bool { ordinal(of: key) != nil }

  /// The position that a key was given last; nil for one that is not there.
  package func ordinal(of key: UnsafeBufferPointer<UInt8>) -> Int? {
    position(of: key).map { Int(entries[$0].ordinal) }
  }

  private func position(of key: UnsafeBufferPointer<UInt8>) -> Int? {
    precondition(indexed == entries.count)
    let hash = hash(key)
    var slot = Int(truncatingIfNeeded: hash) & (table.count - 1)
    while table[slot] != 0 {
      let position = Int(table[slot]) - 1
      if matches(position, hash, key) { return position }
      slot = (slot + 1) & (table.count - 1)
    }
    return nil
  }

  /// The same for keys that are looked for in the order in which they came, more or less: a table's order and that of the
  /// pages are often the same.
  ///
  /// - Parameter hint: where the key may be; it is set to where the next one may be.
  package mutating func ordinal(of key: UnsafeBufferPointer<UInt8>, hint: inout Int) -> Int? {
    if hint < entries.count, isEqual(hint, key) {
      hint += 1
      return Int(entries[hint - 1].ordinal)
    }
    index()
    guard let position = position(of: key) else { return nil }
    hint = position + 1
    return Int(entries[position].ordinal)
  }

  /// The same for a key that is one integer.
  package mutating func ordinal(of key: Int64, hint: inout Int) -> Int? {
    if hint < entries.count {
      let start = entries[hint].start
      if end(hint) - start == KeyBytes.integerLength,
        bytes.withUnsafeBytes({
          $0[start] == KeyBytes.integerTag
            && $0.loadUnaligned(fromByteOffset: start + 1, as: Int64.self) == key.littleEndian
        })
      {
        hint += 1
        return Int(entries[hint - 1].ordinal)
      }
    }
    var bytes = KeyBytes()
    bytes.append(key)
    return bytes.withBytes { ordinal(of: $0, hint: &hint) }
  }

  private func end(_ position: Int) -> Int {
    position + 1 < entries.count ? entries[position + 1].start : bytes.count
  }

  private func matches(_ position: Int, _ hash: UInt64, _ key: UnsafeBufferPointer<UInt8>) -> Bool {
    entries[position].hash == UInt32(truncatingIfNeeded: hash >> 32) && isEqual(position, key)
  }

  private func isEqual(_ position: Int, _ key: UnsafeBufferPointer<UInt8>) -> Bool {
    let start = entries[position].start
    guard end(position) - start == key.count else { return false }
    guard let base = key.baseAddress else { return true }
    return bytes.withUnsafeBufferPointer { bytes in
      bytes.baseAddress.map { memcmp($0 + start, base, key.count) == 0 } ?? false
    }
  }

  private mutating func grow() {
    table = Array(repeating: 0, count: table.count * 4)
    for position in entries.indices { place(position, hash(at: position)) }
  }

  /// Eight bytes at a time through a multiplication; seeded, so that no source can prepare colliding keys.
  private func hash(_ key: UnsafeBufferPointer<UInt8>) -> UInt64 {
    var hash = seed ^ UInt64(truncatingIfNeeded: key.count)
    let raw = UnsafeRawBufferPointer(key)
    var offset = 0
    while offset + 8 <= raw.count {
      hash = Self.mix(hash ^ raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset += 8
    }
    var rest: UInt64 = 0
    while offset < raw.count {
      rest = rest << 8 | UInt64(raw[offset])
      offset += 1
    }
    return Self.mix(hash ^ rest)
  }

  @inline(__always)
  private static func mix(_ value: UInt64) -> UInt64 {
    let product = value.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    return product.high ^ product.low
  }
}

extension Int {
  fileprivate var nextPowerOfTwo: Int { 1 << (Int.bitWidth - Swift.max(0, self - 1).leadingZeroBitCount) }
}

/// The canonical bytes of a key, built part by part.
package struct KeyBytes {
  private var bytes: [UInt8] = []

  static let integerTag: UInt8 = 1
  /// Bytes of a key that is one integer.
  package static let integerLength = 9

  package init() {}

  package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  package mutating func append(_ value: Int64) {
    bytes.append(Self.integerTag)
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  /// Text, with its length in front, so that the parts of a composite key cannot run into each other.
  package mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
    bytes.append(2)
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: text.count).littleEndian) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: text)
  }

  package mutating func append(_ value: Double) {
    bytes.append(3)
    // The two zeros are one value.
    withUnsafeBytes(of: (value == 0 ? 0 : value).bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
  }

  package mutating func appendNull() { bytes.append(0) }

  mutating func append(_ value: StoredValue) {
    switch value {
    case .null: appendNull()
    case .integer(let value): append(value)
    case .real(let value): append(value)
    case .text(var text): text.withUTF8 { append($0) }
    case .blob(let bytes): bytes.withUnsafeBufferPointer { append($0) }
    }
  }

  @inline(__always)
  mutating func append(_ cell: Cell, of batch: RowBatch) {
    switch cell.kind {
    case .integer: append(cell.integer)
    case .text, .blob: append(batch.text(cell))
    case .real: append(cell.real)
    case .null, .missing: appendNull()
    }
  }

  package func withBytes<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
    bytes.withUnsafeBufferPointer(body)
  }
}

/// The parts of a key out of its canonical bytes.
package enum KeyPart {
  case null
  case integer(Int64)
  case real(Double)
  /// A text, or bytes.
  case text(UnsafeBufferPointer<UInt8>)

  /// Calls `body` with each part and its position.
  @inline(__always)
  package static func forEach(
    of key: UnsafeBufferPointer<UInt8>, _ body: (Int, KeyPart) throws -> Void
  ) rethrows {
    let raw = UnsafeRawBufferPointer(key)
    var (offset, position) = (0, 0)
    while offset < raw.count {
      let tag = raw[offset]
      offset += 1
      switch tag {
      case KeyBytes.integerTag:
        let value = raw.loadUnaligned(fromByteOffset: offset, as: Int64.self)
        try body(position, .integer(Int64(littleEndian: value)))
        offset += 8
      case 2:
        let count = raw.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        let start = offset + 4
        offset = start + Int(UInt32(littleEndian: count))
        try body(position, .text(UnsafeBufferPointer(rebasing: key[start..<offset])))
      case 3:
        let bits = raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        try body(position, .real(Double(bitPattern: UInt64(littleEndian: bits))))
        offset += 8
      default: try body(position, .null)
      }
      position += 1
    }
  }
}
