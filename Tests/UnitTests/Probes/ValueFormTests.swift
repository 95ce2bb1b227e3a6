import Foundation
import SyncEngine
import TestSupport
import Testing

/// Values that look like what they are not.
@Suite("Values that do not fit", .fewAtATime)
struct ValueFormTests {
  struct Linked: Entity {
    var id = 0
    var url: URL?
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Linked> {
      Key(\.id)
      Field(\.url)
    }
  }

  @Test(
    "a text with a blank or a control character is no URL (RFC 3986 §2)",
    arguments: [
      "not a url", "http://a.example/a b", #"http://a.example/\n"#, "http://a.example/%zz", #"a\u0000b"#,
    ])
  func blankURLs(_ text: String) async throws {
    let line = try await Scene().run(Linked.self, #"[{"id":1,"url":"\#(text)"}]"#)
    #expect(line.contains("1 bad record"), "\(line)")
  }

  @Test("a URL that is stored is read back as it was sent")
  func urlsAsSent() async throws {
    let scene = try Scene()
    for text in [
      "https://a.example/%7E%2f?q=a+b#c", "/relative", "mailto:a@b.example",
    ] {
      let line = try await scene.run(Linked.self, #"[{"id":1,"url":"\#(text)"}]"#)
      guard !line.contains("bad record") else { continue }
      let read = try scene.fixture.store.first(Linked.self, key: 1)?.url?.absoluteString
      #expect(read == text)
    }
  }

  // RFC 3987 §3.1: where IDNA refuses a host, the IRI cannot be resolved, but it is one. These tests link Foundation,
  // which asks IDNA; `syncd` does not.
  @Test(
    "a URL beyond ASCII is stored as it was sent and read percent-encoded, whatever IDNA says of its host",
    arguments: [
      ("https://a.e\u{78A}mple?q=1", "https://a.e%DE%8Ample?q=1"),
      ("https://\u{E9}.example:8/\u{E9}", "https://%C3%A9.example:8/%C3%A9"),
      ("//\u{FF11}/p", "//%EF%BC%91/p"), ("x://xn--\u{E9}/", "x://xn--%C3%A9/"),
      (
        "https://a.example/%C3%A9\u{E9}?%20\u{E9}#%20\u{E9}",
        "https://a.example/%C3%A9%C3%A9?%20%C3%A9#%20%C3%A9"
      ),
      ("https://[::1]/[\u{E9}]?a[]=%20#b#[%20]", "https://[::1]/%5B%C3%A9%5D?a%5B%5D=%20#b%23%5B%20%5D"),
      ("a://b://[c]", "a://b://%5Bc%5D"), ("?[//]", "?%5B//%5D"),
    ])
  func beyondASCII(_ text: String, _ read: String) async throws {
    let scene = try Scene()
    _ = try await scene.run(Linked.self, #"[{"id":1,"url":"\#(text)"}]"#)
    expect(try scene.rows("SELECT url FROM thing"), is: text)
    #expect(try scene.fixture.store.first(Linked.self, key: 1)?.url?.absoluteString == read)
  }

  @Test(
    "brackets hold an address in a host and nothing else (RFC 3986 §3.2.2)",
    arguments: [
      "http://[::1", "http://::1]/", "http://a[b]/", "http://[\u{E9}]/", "http://[::1]\u{E9}/", "//[/",
    ])
  func brackets(_ text: String) async throws {
    let line = try await Scene().run(Linked.self, #"[{"id":1,"url":"\#(text)"}]"#)
    #expect(line.contains("1 bad record"), "\(line)")
  }
}
