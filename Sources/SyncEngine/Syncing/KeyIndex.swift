#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The keys of a run's rows: finds duplicates, and tells what a complete walk did not see.
///
/// Keys compare as databases compare them: integers by value, text by bytes.
///
/// It costs what the keys ask for. As long as they come in one direction, as they do from most sources, each differs from
/// all before, and no hash table is held; rising integers take eight bytes each.
public struct KeyIndex: Sendable {
  enum Insertion: Equatable {
    case new
    /// The key was there already, in this part of this walk, at this position.
    case duplicate(of: Int)
    /// The key was there already, in another part of this walk, at this position.
    case duplicateOfOtherPart(of: Int)
    /// The key was there already, from an earlier walk of the same run, at this position.
    case seenBefore(at: Int)
  }

  /// Where and when a key came.
  private struct Mark: Equatable {
    var walk: UInt8
    var part: UInt32
  }

  /// All keys, as long as each is one integer that is greater than the one before, its position is its number, and all came
  /// at ``mark``. Nothing else but ``count`` is kept of them then.
  private var rising: [Int64] = []
  /// All keys, one behind the other.
  private var bytes: [UInt8] = []
  public private(set) var count = 0
  /// Bytes of each key, where they have one length.
  private var width: Int?
  /// Where each key ends, where they have several.
  private var ends: [Int] = []
  /// The position that each key was given last; empty while it is the key's number.
  private var given: [UInt32] = []
  /// Where and when each key came; empty while that is ``mark`` for all.
  private var marks: [Mark] = []
  private var mark = Mark(walk: 0, part: 0)
  /// Whether keys are known to be ordered: 1 where each is greater than the one before, -1 where it is less, 0 where they
  /// are not. Nil while there are less than two.
  private var direction: Int?
  /// Open addressing: a key's number + 1, or 0 where free. The size is a power of two.
  private var table: [UInt32] = []
  /// Keys that stand in the table. Those behind them are known to differ from each other and from all before.
  private var indexed = 0
  /// The key behind the one that came again last.
  private var again = 0
  /// Whether all keys were appended, so that more may be.
  private(set) var isUnsearched = true
  private let seed = UInt64.random(in: .min ... .max)

  public init() {}

  /// Memory that it holds, in bytes.
  var memory: Int {
    rising.count * 8 + bytes.capacity + ends.capacity * 8 + given.capacity * 4 + marks.capacity * 8
      + table.capacity * 4
  }

  /// The position that each key was given last.
  var ordinals: [Int] { (0..<count).map { ordinal($0) } }

  private func ordinal(_ number: Int) -> Int { given.isEmpty ? number : Int(given[number]) }

  /// Calls `body` with each key and the position that it was given last.
  package func forEach(_ body: (UnsafeBufferPointer<UInt8>, _ ordinal: Int) throws -> Void) rethrows {
    if !rising.isEmpty {
      var key = KeyBytes()
      for (number, integer) in rising.enumerated() {
        key.removeAll()
        key.append(integer)
        try key.withBytes { try body($0, number) }
      }
      return
    }
    try bytes.withUnsafeBufferPointer { bytes in
      for number in 0..<count {
        try body(UnsafeBufferPointer(rebasing: bytes[range(number)]), ordinal(number))
      }
    }
  }

  /// Makes room for so many keys, if they are rising integers.
  mutating func reserve(_ count: Int) {
    if self.count == 0 { rising.reserveCapacity(count) }
  }

  /// Goes on as keys of any kind do.
  private mutating func spread() {
    if rising.isEmpty {
      // Room that was made for what did not come.
      if rising.capacity > 0 { rising = [] }
      return
    }
    let integers = rising
    rising = []
    (count, direction) = (0, integers.count > 1 ? 1 : nil)
    bytes.reserveCapacity(integers.count * KeyBytes.integerLength)
    var key = KeyBytes()
    for integer in integers {
      key.removeAll()
      key.append(integer)
      key.withBytes { store($0, count, mark) }
    }
  }

  /// Whether these are all keys, in their order.
  package func isEqual(to integers: [Int64]) -> Bool { rising == integers && count > 0 }

  /// Adds a key that is known to be a new one, which costs less than to find that out.
  mutating func append(new key: UnsafeBufferPointer<UInt8>, ordinal: Int, walk: UInt8 = 0, part: UInt32 = 0) {
    if let integer = KeyBytes.integer(UnsafeRawBufferPointer(key)),
      append(rising: integer, ordinal: ordinal, walk: walk, part: part)
    {
      return
    }
    spread()
    if !follow(key) { direction = 0 }
    store(key, ordinal, Mark(walk: walk, part: part))
  }

  /// Keys that were seen last in a walk.
  func count(lastSeenIn walk: UInt8) -> Int {
    marks.isEmpty ? (mark.walk == walk ? count : 0) : marks.count { $0.walk == walk }
  }

  /// - Parameters:
  ///   - ordinal: position of the row in the run.
  ///   - part: the walk's part, one for each parent.
  @discardableResult
  mutating func insert(
    _ key: UnsafeBufferPointer<UInt8>, ordinal: Int, walk: UInt8 = 0, part: UInt32 = 0
  ) -> Insertion {
    let mark = Mark(walk: walk, part: part)
    isUnsearched = false
    if let integer = KeyBytes.integer(UnsafeRawBufferPointer(key)),
      append(rising: integer, ordinal: ordinal, walk: walk, part: part)
    {
      return .new
    }
    spread()
    if direction != 0, follow(key) {
      store(key, ordinal, mark)
      return .new
    }
    // Keys that come again mostly come in the order in which they came.
    if again < count, isEqual(again, key) { return note(again, ordinal, mark) }
    if let direction, direction != 0 {
      if let number = search(key, direction) { return note(number, ordinal, mark) }
      self.direction = 0
    }
    index()
    if (count + 1) * 2 > table.count { grow() }
    let (slot, found) = probe(key)
    if let found { return note(found, ordinal, mark) }
    store(key, ordinal, mark)
    table[slot] = UInt32(count)
    indexed = count
    return .new
  }

  /// Says that keys which follow may not be new.
  mutating func close() { isUnsearched = false }

  /// Adds a key of one integer that is greater than all before, and tells whether it is: the usual case, at the least cost.
  @inline(__always)
  mutating func append(rising key: Int64, ordinal: Int, walk: UInt8, part: UInt32) -> Bool {
    let mark = Mark(walk: walk, part: part)
    guard ordinal == count, rising.count == count else { return false }
    if let last = rising.last {
      guard key > last, mark == self.mark else { return false }
    } else {
      self.mark = mark
    }
    rising.append(key)
    count += 1
    return true
  }

  /// Whether a key goes on in the direction of those before, so that it is a new one.
  private mutating func follow(_ key: UnsafeBufferPointer<UInt8>) -> Bool {
    if count == 0 { return true }
    let order = compare(key, count - 1)
    // Two keys make a direction.
    if direction == nil, order != 0 { direction = order }
    return order != 0 && order == direction
  }

  private mutating func store(_ key: UnsafeBufferPointer<UInt8>, _ ordinal: Int, _ mark: Mark) {
    if count == 0 {
      (width, self.mark) = (key.count, mark)
    } else if let width, width != key.count {
      ends = (1...count).map { $0 * width }
      self.width = nil
    }
    if !given.isEmpty || ordinal != count {
      if given.isEmpty { given = (0..<UInt32(count)).map { $0 } }
      given.append(UInt32(truncatingIfNeeded: ordinal))
    }
    if !marks.isEmpty || mark != self.mark {
      if marks.isEmpty { marks = Array(repeating: self.mark, count: count) }
      marks.append(mark)
    }
    bytes.append(contentsOf: key)
    count += 1
    if width == nil { ends.append(bytes.count) }
  }

  /// A key came again.
  private mutating func note(_ number: Int, _ ordinal: Int, _ mark: Mark) -> Insertion {
    again = number + 1
    let earlier = self.ordinal(number)
    if given.isEmpty { given = (0..<UInt32(count)).map { $0 } }
    given[number] = UInt32(truncatingIfNeeded: ordinal)
    let known = marks.isEmpty ? self.mark : marks[number]
    if known != mark {
      if marks.isEmpty { marks = Array(repeating: self.mark, count: count) }
      marks[number] = mark
    }
    if known.walk != mark.walk { return .seenBefore(at: earlier) }
    return known.part == mark.part ? .duplicate(of: earlier) : .duplicateOfOtherPart(of: earlier)
  }

  // MARK: Looking up

  package mutating func contains(_ key: UnsafeBufferPointer<UInt8>) -> Bool { number(of: key) != nil }

  /// The position that a key was given last; nil for one that is not there.
  package mutating func ordinal(of key: UnsafeBufferPointer<UInt8>) -> Int? {
    number(of: key).map { ordinal($0) }
  }

  private mutating func number(of key: UnsafeBufferPointer<UInt8>) -> Int? {
    if !rising.isEmpty { return KeyBytes.integer(UnsafeRawBufferPointer(key)).flatMap(search) }
    if let direction, direction != 0 { return search(key, direction) }
    index()
    return table.isEmpty ? nil : probe(key).number
  }

  /// Where in the table a key stands, and its number; or where it would stand.
  @inline(__always)
  private func probe(_ key: UnsafeBufferPointer<UInt8>) -> (slot: Int, number: Int?) {
    var slot = Int(truncatingIfNeeded: hash(key)) & (table.count - 1)
    while table[slot] != 0 {
      let number = Int(table[slot]) - 1
      if isEqual(number, key) { return (slot, number) }
      slot = (slot + 1) & (table.count - 1)
    }
    return (slot, nil)
  }

  private func search(_ key: Int64) -> Int? {
    var rest = 0..<count
    while !rest.isEmpty {
      let middle = rest.lowerBound + rest.count / 2
      if rising[middle] == key { return middle }
      rest = rising[middle] < key ? middle + 1..<rest.upperBound : rest.lowerBound..<middle
    }
    return nil
  }

  /// Halves the ordered keys until one is left.
  private func search(_ key: UnsafeBufferPointer<UInt8>, _ direction: Int) -> Int? {
    var rest = 0..<count
    while !rest.isEmpty {
      let middle = rest.lowerBound + rest.count / 2
      let order = compare(key, middle)
      if order == 0 { return middle }
      rest = order == direction ? middle + 1..<rest.upperBound : rest.lowerBound..<middle
    }
    return nil
  }

  /// The same for keys that are looked for in the order in which they came, or the other way round, more or less: a table's
  /// order and that of the pages are often the same.
  ///
  /// - Parameter hint: where the key may be; it is set to where the next one may be.
  package mutating func ordinal(of key: UnsafeBufferPointer<UInt8>, hint: inout Int) -> Int? {
    if !rising.isEmpty {
      return KeyBytes.integer(UnsafeRawBufferPointer(key)).flatMap { ordinal(of: $0, hint: &hint) }
    }
    if hint < count, isEqual(hint, key) {
      hint += 1
      return ordinal(hint - 1)
    }
    // `hint` is behind the one that was found last.
    if hint >= 2, isEqual(hint - 2, key) {
      hint -= 1
      return ordinal(hint - 1)
    }
    guard let number = number(of: key) else { return nil }
    hint = number + 1
    return ordinal(number)
  }

  /// The same for a key that is one integer.
  package mutating func ordinal(of key: Int64, hint: inout Int) -> Int? {
    guard !rising.isEmpty else {
      var bytes = KeyBytes()
      bytes.append(key)
      return bytes.withBytes { ordinal(of: $0, hint: &hint) }
    }
    if hint < count, rising[hint] == key {
      hint += 1
      return hint - 1
    }
    if hint >= 2, rising[hint - 2] == key {
      hint -= 1
      return hint - 1
    }
    guard let number = search(key) else { return nil }
    hint = number + 1
    return number
  }

  // MARK: Comparing

  @inline(__always)
  private func range(_ number: Int) -> Range<Int> {
    if let width { return number * width..<(number + 1) * width }
    return (number == 0 ? 0 : ends[number - 1])..<ends[number]
  }

  private func isEqual(_ number: Int, _ key: UnsafeBufferPointer<UInt8>) -> Bool {
    let range = range(number)
    guard range.count == key.count else { return false }
    guard let base = key.baseAddress else { return true }
    return bytes.withUnsafeBufferPointer { bytes in
      bytes.baseAddress.map { memcmp($0 + range.lowerBound, base, key.count) == 0 } ?? false
    }
  }

  /// 1 where the key is greater than that with a number, -1 where it is less, 0 where it is the same. Keys of one integer are
  /// ordered by their values and stand before all others, which are ordered by their bytes.
  private func compare(_ key: UnsafeBufferPointer<UInt8>, _ number: Int) -> Int {
    let range = range(number)
    return bytes.withUnsafeBytes {
      Self.compare(UnsafeRawBufferPointer(key), UnsafeRawBufferPointer(rebasing: $0[range]))
    }
  }

  @inline(__always)
  private static func compare(_ one: UnsafeRawBufferPointer, _ two: UnsafeRawBufferPointer) -> Int {
    switch (KeyBytes.integer(one), KeyBytes.integer(two)) {
    case (let one?, let two?): return one == two ? 0 : one > two ? 1 : -1
    case (nil, .some): return 1
    case (.some, nil): return -1
    case (nil, nil):
      var order = 0
      if let a = one.baseAddress, let b = two.baseAddress {
        order = Int(memcmp(a, b, min(one.count, two.count)))
      }
      return (order == 0 ? one.count - two.count : order).signum()
    }
  }

  // MARK: The table

  /// Puts all keys into the table.
  private mutating func index() {
    guard indexed < count else { return }
    if count * 2 > table.count {
      table = Array(repeating: 0, count: max(1024, (count * 2).nextPowerOfTwo))
      indexed = 0
    }
    for number in indexed..<count { place(number) }
    indexed = count
  }

  private mutating func grow() {
    table = Array(repeating: 0, count: max(1024, table.count * 2))
    for number in 0..<count { place(number) }
  }

  private mutating func place(_ number: Int) {
    let range = range(number)
    let hash = bytes.withUnsafeBufferPointer { self.hash(UnsafeBufferPointer(rebasing: $0[range])) }
    var slot = Int(truncatingIfNeeded: hash) & (table.count - 1)
    while table[slot] != 0 { slot = (slot + 1) & (table.count - 1) }
    table[slot] = UInt32(number + 1)
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

  /// The value of a key that is one integer; nil for another one.
  @inline(__always)
  static func integer(_ key: UnsafeRawBufferPointer) -> Int64? {
    guard key.count == integerLength, key[0] == integerTag else { return nil }
    return Int64(littleEndian: key.loadUnaligned(fromByteOffset: 1, as: Int64.self))
  }

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
  mutating func append(_ cell: Cell, of memory: RowMemory) {
    switch cell.kind {
    case .integer: append(cell.integer)
    case .text, .blob: append(memory.text(cell))
    case .real: append(cell.real)
    case .null, .missing: appendNull()
    }
  }

  package func withBytes<R>(_ body: (UnsafeBufferPointer<UInt8>) throws -> R) rethrows -> R {
    try bytes.withUnsafeBufferPointer(body)
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
