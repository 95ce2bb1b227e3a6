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
    for key in model.keys where !key.withUnsafeBufferPointer({ index.contains($0) }) {
      Issue.record("\(key) is lost")
    }
    for _ in 0..<5000 {
      let key = (0..<random.below(14)).map { _ in UInt8(random.below(4)) }
      if key.withUnsafeBufferPointer({ index.contains($0) }) != (model[key] != nil) { Issue.record("\(key)") }
    }
  }

  @Test("an empty index has nothing, the empty key is a key")
  func empty() {
    var index = KeyIndex()
    let none = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
    #expect(!index.contains(none))
    #expect(index.insert(none, ordinal: 0, walk: 0) == .new)
    #expect(index.contains(none))
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
