import Foundation
import TestSupport
import Testing

@testable import SyncEngine

/// Secrets in texts that a person reads, digests, and names.
@Suite(.fewAtATime, .once)
struct RedactorTests {
  private func redact(_ text: String, _ secrets: String...) -> String {
    let redactor = Redactor()
    for secret in secrets { redactor.add(secret) }
    return redactor.redact(text)
  }

  @Test("secrets go wherever they stand")
  func places() {
    #expect(redact("key=abcdef&x abcdef", "abcdef") == "key=***&x ***")
    #expect(redact("abcdef", "abcdef") == "***")
    #expect(redact("abcabcd", "abcd") == "abc***")
    #expect(
      redact("cut: 0123456789abc… and 0123456 stays", "0123456789abcdefghij") == "cut: ***… and 0123456 stays"
    )
    #expect(redact("aaaaaaa", "aaa") == "***")
    #expect(redact("abcabc", "abc") == "******")
    #expect(redact("xabcdefx", "abcd", "cdef") == "x***x")
    #expect(redact("longer-secret long", "long", "longer-secret") == "*** ***")
    #expect(redact("nothing", "abc") == "nothing")
    #expect(redact("", "abc") == "")
    #expect(redact("a b", "a", "", " b") == "a b")
    #expect(redact("ABC", "abc") == "ABC")
    #expect(redact("é😀é", "é😀é") == "***")
  }

  @Test(
    "a secret goes in every spelling of it: percent-encoded (RFC 3986), form-encoded, as JSON, and mixed",
    arguments: [
      "p/q=+ é\"\\😀", "p%2Fq%3D%2B%20%C3%A9%22%5C%F0%9F%98%80", "p%2fq%3d%2b%20%c3%a9%22%5c%f0%9f%98%80",
      "p/q=%2B%20é\"%5C😀", "%70/q=%2b+%C3%a9%22\\😀", #"p\/q=+ é\"\\😀"#,
      #"\u0070\u002fq\u003D\u002b\u0020\u00e9\u0022\u005C\ud83d\uDE00"#, #"p\/q=\u002b \u00E9\"\\😀"#,
      "p%252Fq%253D%252B%2520%25C3%25A9%2522%255C%25F0%259F%2598%2580",
      #"p\u00252fq=%2b%20%c3%a9%22%5c%f0%9f%98%80"#, #"p\\\/q=+ é\\\"\\\\😀"#,
    ])
  func spellings(_ text: String) {
    #expect(redact("k=\(text)&%zz\\u12", "p/q=+ é\"\\😀") == "k=***&%zz\\u12")
  }

  @Test("what only looks like an escape stays, and secrets that hold escapes are found as they are")
  func noEscapes() {
    for text in [
      "%", "%2", "%+1%-1", "\\", #"\u"#, #"\ud83d"#, #"\ud83d\u0041"#, #"\udc00\ud83d"#, "100%25 + 1",
    ] {
      #expect(redact(text, "absent") == text)
    }
    #expect(redact(#"a%2Fb c\/d"#, "a%2Fb", #"c\/d"#) == "*** ***")
    #expect(redact("a%252Fb", "a%2Fb") == "***")
  }

  @Test("two forms of one text are both secrets: they differ as bytes")
  func canonicalForms() {
    #expect(redact("caf\u{E9}1 cafe\u{301}1", "caf\u{E9}1", "cafe\u{301}1") == "*** ***")
  }

  @Test("control characters of a source reach no terminal")
  func controls() {
    let text = "a\u{1B}[2J\u{0}\r\t\u{7F}\u{9B}\u{2028}\u{2029}\u{202E}\u{2066}\u{200F}\nb👩‍👧"
    let escaped = #"a\u{1b}[2J\u{0}\u{d}\u{9}\u{7f}\u{9b}\u{2028}\u{2029}\u{202e}\u{2066}\u{200f}"#
    #expect(redact(text, "absent") == escaped + "\nb👩‍👧")
    #expect(Redactor().excerpt(text.utf8, limit: 200) == escaped + #"\u{a}b👩‍👧"#)
  }

  @Test("an excerpt is redacted before it is cut, wherever the cut would fall")
  func excerpts() {
    let secret = "hidden-1"
    let redactor = Redactor()
    redactor.add(secret)
    let text = String(repeating: "x", count: 50) + secret + String(repeating: "y", count: 9000)
    for limit in 1...60 {
      let excerpt = redactor.excerpt(text.utf8, limit: limit)
      #expect(excerpt.count == limit + 1 && excerpt.hasSuffix("…") && !excerpt.contains("h"), "\(excerpt)")
    }
    #expect(redactor.excerpt(("a" + secret + "b").utf8, limit: 5) == "a***b")
    #expect(redactor.excerpt(("a" + secret + "bc").utf8, limit: 5) == "a***b…")
    let middle = redactor.excerpt((text + secret + " is wrong").utf8, limit: 40, keepingEnd: 12)
    #expect(middle == String(repeating: "x", count: 28) + "…*** is wrong")
  }

  @Test("a secret ends before its line breaks, wherever it comes from")
  func secretValues() throws {
    TestEnvironment.prepare()
    let folder = try TemporaryFolder()
    try Data("token\n2\r\n".utf8).write(to: URL(fileURLWithPath: folder.path + "/token"))
    #expect(try Secret.environment("PROBE_TOKEN").resolve() == "token 1")
    #expect(try Secret.file(folder.path + "/token").resolve() == "token\n2")
    #expect(throws: DeclarationError.self) { try Secret.environment("PROBE_BLANK").resolve() }
  }

  @Test("of what belongs to single requests the latest is known, and no more than twice as much is kept")
  func passing() {
    let redactor = Redactor()
    redactor.add("a-declared-secret")
    for number in 0..<20_000 {
      redactor.add("signature-of-\(number)-", isPassing: true)
      // What each request carries stays known.
      redactor.add("token-in-use", isPassing: true)
    }
    #expect(redactor.count <= 2 * Redactor.passingLimit + 2)
    #expect(
      redactor.redact("a-declared-secret token-in-use signature-of-19999- signature-of-15905-")
        == "*** *** *** ***")
  }

  @Test("a lasting secret is found in a body as it is, percent-encoded and as JSON writes it")
  func holds() {
    let redactor = Redactor()
    redactor.add("k/e y\"7")
    redactor.add("signature", isPassing: true)
    func holds(_ text: String) -> Bool { redactor.holdsLastingSecret(Array(text.utf8)) }
    for text in [#"k/e y"7"#, #"{"a":"k/e y\"7"}"#, #"k\/e y\"7"#, "?k=k%2Fe%20y%227", #"kk/e k/e y"7"#] {
      #expect(holds(text), "\(text)")
    }
    for text in ["", "k", #"k/e y""#, "signature", "K/E Y\"7"] { #expect(!holds(text), "\(text)") }
  }

  @Test("digests of RFC 1321, FIPS 180 and RFC 4231")
  func digests() {
    #expect(Digest.md5("") == "d41d8cd98f00b204e9800998ecf8427e")
    #expect(Digest.md5("message digest") == "f96b697d7cb7938d525a2f31aaf161d0")
    #expect(Digest.sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(Digest.sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      Digest.hmacSHA256("what do ya want for nothing?", key: "Jefe")
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    #expect(
      Digest.hmacSHA256("", key: "") == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
  }

  @Test(
    "names in snake case",
    arguments: [
      ("id", "id"), ("wordCount", "word_count"), ("innerID", "inner_id"), ("HTTPRoute", "http_route"),
      ("webURL", "web_url"), ("Book", "book"), ("DRFBook", "drf_book"),
      ("ID", "id"),
      ("userIDs", "user_i_ds"), ("X", "x"), ("aB", "a_b"), ("aBC", "a_bc"), ("ABc", "a_bc"), ("a1B", "a1_b"),
      ("word_count", "word_count"), ("word2", "word2"), ("_id", "_id"), ("aURLB", "a_urlb"), ("", ""),
      ("größeÄnderung", "größe_änderung"),
    ])
  func snakeCase(_ name: String, _ expected: String) { #expect(snakeCased(name) == expected) }
}
