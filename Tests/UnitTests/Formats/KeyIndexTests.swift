import TestSupport
import Testing

@testable import SyncEngine

/// The keys of a run, against a dictionary.
@Suite(.once)
struct KeyIndexTests {
  private func bytes(_ parts: StoredValue...) -> [UInt8] {
    var key = KeyBytes()
    for part in parts { key.append(part) }
    return key.withBytes { Array($0) }
  }

  @Test(
    "insertions and look-ups agree with a dictionary, keys of every length", arguments: [1, 2, 3] as [UInt64])
  func dictionary(_ seed: UInt64) {
    var random = SeededBytes(seed)
    var index = KeyIndex()
    var model: [[UInt8]: (ordinal: Int, walk: UInt8)] = [:]
    var walk: UInt8 = 0
    for ordinal in 0..<30_000 {
      if ordinal % 10_000 == 9_999 { walk += 1 }
      let length = random.below(20)
      let key = (0..<length).map { _ in UInt8(random.below(length < 4 ? 256 : 3)) }
      let expected: KeyIndex.Insertion =
        model[key].map { $0.walk == walk ? .duplicate(of: $0.ordinal) : .seenBefore(at: $0.ordinal) } ?? .new
      let actual = key.withUnsafeBufferPointer { index.insert($0, ordinal: ordinal, walk: walk) }
      if actual != expected { Issue.record("\(key) at \(ordinal): \(actual), not \(expected)") }
      model[key] = (ordinal, walk)
    }
    #expect(index.count == model.count)
    for (key, value) in model where key.withUnsafeBufferPointer({ index.ordinal(of: $0) }) != value.ordinal {
      Issue.record("\(key) is lost")
    }
    for _ in 0..<5000 {
      let key = (0..<random.below(14)).map { _ in UInt8(random.below(4)) }
      if key.withUnsafeBufferPointer({ index.contains($0) }) != (model[key] != nil) { Issue.record("\(key)") }
    }
  }

  /// Integers of one direction are held in another way than others, and what breaks the order changes that midway.
  @Test(
    "integers that rise, fall, repeat and stray agree with a dictionary",
    arguments: [0, 1, 2, 3, 4, 5] as [UInt64])
  func order(_ seed: UInt64) {
    var random = SeededBytes(seed)
    var index = KeyIndex()
    var model: [[UInt8]: (ordinal: Int, walk: UInt8, part: UInt32)] = [:]
    var keys: [[UInt8]] = []
    var (value, ordinal) = (Int64(-5000), 0)
    let direction: Int64 = seed % 2 == 0 ? 1 : -1
    // Seed 0 and 1 go one way all the time.
    let strays = seed < 2 ? 0 : 40
    for walk in 0..<2 as Range<UInt8> {
      for step in 0..<4000 {
        let part = UInt32(seed < 4 ? 1 : step / 1000)
        var key: [UInt8]
        if walk == 1, step < keys.count, seed != 3 {
          key = keys[step]
        } else if strays > 0, random.below(strays) == 0, !keys.isEmpty {
          key = random.below(2) == 0 ? keys[random.below(keys.count)] : bytes(.text("k\(random.below(50))"))
        } else {
          value += direction * Int64(1 + random.below(3))
          key = bytes(.integer(value))
        }
        let expected: KeyIndex.Insertion =
          model[key].map {
            $0.walk != walk
              ? .seenBefore(at: $0.ordinal)
              : $0.part == part ? .duplicate(of: $0.ordinal) : .duplicateOfOtherPart(of: $0.ordinal)
          } ?? .new
        let actual = key.withUnsafeBufferPointer {
          index.insert($0, ordinal: ordinal, walk: walk, part: part)
        }
        if actual != expected { Issue.record("step \(step) of walk \(walk): \(actual), not \(expected)") }
        if expected == .new { keys.append(key) }
        model[key] = (ordinal, walk, part)
        ordinal += 1 + random.below(strays > 0 ? 2 : 1)
      }
      #expect(index.count == model.count)
    }
    #expect(index.count(lastSeenIn: 1) == model.values.count { $0.walk == 1 })
    #expect(index.ordinals == keys.map { model[$0]?.ordinal })
    var hint = 0
    for key in keys
    where key.withUnsafeBufferPointer({ index.ordinal(of: $0, hint: &hint) }) != model[key]?.ordinal {
      Issue.record("\(key) is lost in its order")
    }
    for key in keys.reversed()
    where key.withUnsafeBufferPointer({ index.ordinal(of: $0, hint: &hint) }) != model[key]?.ordinal {
      Issue.record("\(key) is lost the other way round")
    }
    for other in [bytes(.integer(1 << 40)), bytes(.integer(-1 << 40)), bytes(.text("")), bytes(.null)] {
      #expect(other.withUnsafeBufferPointer { $0.isAbsent(in: &index) })
    }
    var held: [[UInt8]] = []
    index.forEach { key, _ in held.append(Array(key)) }
    #expect(held == keys)
  }

  @Test("keys of pages come back as they were kept, in a byte or two each")
  func pageKeys() {
    let keys: [(Int, StoredValue)] =
      [
        (0, .integer(.min)), (0, .integer(.max)), (0, .integer(0)), (2, .integer(-7)), (1, .text("a")),
        (1, .null),
      ]
      + (0..<1000).map { (0, .integer(1_000_000 + $0)) } + [(300, .text(String(repeating: "x", count: 400)))]
    var kept = PageKeys()
    for (table, value) in keys { bytes(value).withUnsafeBufferPointer { kept.append($0, table: table) } }
    var found: [(Int, [UInt8])] = []
    #expect(PageKeys.forEach(in: kept.bytes) { found.append(($0, Array($1))) })
    #expect(found.map(\.0) == keys.map(\.0))
    #expect(found.map(\.1) == keys.map { bytes($0.1) })
    var integers: [Int64] = []
    var others = 0
    #expect(
      PageKeys.forEach(in: kept.bytes) { _, integer in
        integers.append(integer)
        return true
      } _: { _, _ in
        others += 1
      })
    #expect(integers == keys.compactMap { if case .integer(let value) = $0.1 { value } else { nil } })
    #expect(others == keys.count - integers.count)
    #expect(kept.bytes.count < 2500, "\(kept.bytes.count)")
    for count in [1, 3, kept.bytes.count - 1] {
      #expect(!PageKeys.forEach(in: Array(kept.bytes.prefix(count))) { _, _ in })
    }
  }

  @Test("an empty index has nothing, the empty key is a key")
  func empty() {
    var index = KeyIndex()
    let none = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
    #expect(none.isAbsent(in: &index))
    #expect(index.insert(none, ordinal: 0, walk: 0) == .new)
    #expect(!none.isAbsent(in: &index))
    #expect(index.insert(none, ordinal: 5, walk: 0) == .duplicate(of: 0))
    #expect(index.insert(none, ordinal: 7, walk: 1) == .seenBefore(at: 5))
    #expect(index.count == 1)
  }

  @Test("parts of a composite key do not run into each other, and kinds differ")
  func composition() {
    let keys = [
      bytes(.text("a"), .text("b")), bytes(.text("ab"), .text("")), bytes(.text(""), .text("ab")),
      bytes(.text("ab")),
      bytes(.text("1")), bytes(.integer(1)), bytes(.null), bytes(.null, .null), bytes(.text("")),
      bytes(.integer(0)),
      bytes(.text("\0")), bytes(.text("\u{E9}")), bytes(.text("e\u{301}")), bytes(.text("A")),
      bytes(.text("a")),
      bytes(.integer(-1)), bytes(.integer(.min)), bytes(.integer(.max)), bytes(.real(0.5)),
      bytes(.text("a ")),
    ]
    #expect(Set(keys).count == keys.count)
    #expect(bytes(.integer(7), .text("x")) == bytes(.integer(7), .text("x")))
  }

  @Test("the two zeros are one key, as they are one value in a database")
  func zeros() {
    #expect(bytes(.real(0.0)) == bytes(.real(-0.0)))
  }
}

extension UnsafeBufferPointer<UInt8> {
  fileprivate func isAbsent(in index: inout KeyIndex) -> Bool { !index.contains(self) }
}
