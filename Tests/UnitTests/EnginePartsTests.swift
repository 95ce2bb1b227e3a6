import Foundation
import TestSupport
import Testing

@testable import SyncEngine

/// The small parts that the engine is made of.
@Suite("The parts of the engine")
struct EnginePartsTests {
  @Test("the key index agrees with a dictionary, over many random keys")
  func keyIndex() {
    var generator = SeededGenerator(42)
    var index = KeyIndex()
    var model: [String: (ordinal: Int, walk: UInt8)] = [:]
    for ordinal in 0..<20_000 {
      let key = String(Int.random(in: 0..<8_000, using: &generator), radix: 7)
      let walk = UInt8(ordinal / 10_000)
      var bytes = KeyBytes()
      bytes.append(StoredValue.text(key))
      let got = bytes.withBytes { index.insert($0, ordinal: ordinal, walk: walk) }
      switch model[key] {
      case nil: #expect(got == .new)
      case let known? where known.walk == walk: #expect(got == .duplicate(of: known.ordinal))
      case let known?: #expect(got == .seenBefore(at: known.ordinal))
      }
      model[key] = (ordinal, walk)
    }
    #expect(index.count == model.count)
    func contains(_ value: StoredValue) -> Bool {
      var bytes = KeyBytes()
      bytes.append(value)
      return bytes.withBytes { index.contains($0) }
    }
    #expect(model.keys.allSatisfy { contains(.text($0)) })
    #expect(!contains(.text("8")))
    #expect(!contains(.integer(3)))
    #expect(!contains(.null))
  }

  @Test("a ledger proves only without doubts and with every part at its end")
  func ledger() {
    var ledger = WalkLedger(mayShift: true)
    ledger.beginPart()
    guard case .unproven = ledger.outcome() else {
      return #expect(Bool(false), "an open part proves nothing")
    }
    ledger.endPart(.proven)
    guard case .proven(let first) = ledger.outcome() else {
      return #expect(Bool(false), "a proven end proves")
    }
    #expect(!first.armsDeletion, "pages that shift need two walks")
    guard case .proven(let both) = ledger.outcome(confirming: first) else { return #expect(Bool(false)) }
    #expect(both.armsDeletion)
    ledger.doubt("x")
    ledger.doubt("x")
    #expect(ledger.outcome(confirming: first).doubts.map(\.description) == ["x"])
    var steady = WalkLedger(mayShift: false)
    steady.beginPart()
    steady.endPart(.proven)
    guard case .proven(let one) = steady.outcome() else { return #expect(Bool(false)) }
    #expect(one.armsDeletion)
  }

  @Test("the guard's bounds")
  func deletionGuard() throws {
    let half = DeletionGuard(share: 0.5, allowEmpty: false)
    try half.check(deleting: 0, of: 0, isAnswerEmpty: true)
    try half.check(deleting: 5, of: 10, isAnswerEmpty: false)
    #expect(throws: GuardRefusal.self) { try half.check(deleting: 6, of: 10, isAnswerEmpty: false) }
    #expect(throws: GuardRefusal.self) { try half.check(deleting: 1, of: 3, isAnswerEmpty: true) }
    let open = DeletionGuard(share: 0, allowEmpty: true)
    try open.check(deleting: 3, of: 3, isAnswerEmpty: true)
    #expect(throws: GuardRefusal.self) { try open.check(deleting: 1, of: 3, isAnswerEmpty: false) }
  }

  @Test("secrets are removed by value, plain and percent-encoded, the longest first")
  func redactor() {
    let redactor = Redactor()
    for secret in ["s3cret/+", "s3cret/+longer", "ab"] { redactor.add(secret) }
    redactor.add("0123456789abcdefghij")
    #expect(redactor.redact("cut: 0123456789abc… and 0123456 stays") == "cut: ***… and 0123456 stays")
    #expect(redactor.redact("a=s3cret/+longer&b=s3cret/+ c=s3cret%2F%2B ab") == "a=***&b=*** c=*** ab")
  }

  @Test("a secret ends before its line breaks, wherever it comes from")
  func secretValues() throws {
    setenv("SYNCD_TEST_TOKEN", "token 1\r\n\n", 1)
    setenv("SYNCD_TEST_BLANK", "\n", 1)
    let folder = try TemporaryFolder()
    try Data("token\n2\r\n".utf8).write(to: URL(fileURLWithPath: folder.path + "/token"))
    #expect(try Secret.environment("SYNCD_TEST_TOKEN").resolve() == "token 1")
    #expect(try Secret.file(folder.path + "/token").resolve() == "token\n2")
    #expect(throws: DeclarationError.self) { try Secret.environment("SYNCD_TEST_BLANK").resolve() }
  }

  @Test(
    "names in snake case",
    arguments: [
      ("id", "id"), ("wordCount", "word_count"), ("innerID", "inner_id"), ("HTTPRoute", "http_route"),
      ("webURL", "web_url"),
      ("a1B", "a1_b"), ("Book", "book"), ("DRFBook", "drf_book"),
    ])
  func snakeCase(_ name: String, _ expected: String) { #expect(snakeCased(name) == expected) }

  @Test("paths and templates")
  func paths() {
    #expect(
      JSONPath(parsing: "a.b[0][2].c").components == [.key("a"), .key("b"), .index(0), .index(2), .key("c")])
    #expect(JSONPath(parsing: "[1].x").components == [.index(1), .key("x")])
    #expect(JSONPath(parsing: "").components.isEmpty)
    #expect(JSONPath.key("a.b").components == [.key("a.b")])
    for bad in ["a..b", ".a", "a.", "a[x]", "a[", "a[-1]"] {
      #expect(JSONPath(parsing: bad).fault != nil, "\(bad)")
    }
    #expect(Template("{a.b}.{c}").parts == [.path("a.b"), .literal("."), .path("c")])
    #expect(Template("{{x}} {y}").parts == [.literal("{x} "), .path("y")])
    for bad in ["{", "}", "a{b", "{}", "{a..b}"] { #expect(Template(bad).fault != nil, "\(bad)") }
  }
}
