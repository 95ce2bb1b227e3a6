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
}
