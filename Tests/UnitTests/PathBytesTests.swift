import JSON
import TestSupport
import Testing

@testable import SyncEngine

/// Paths whose keys are equal to Swift and different in JSON.
@Suite(.once)
struct PathBytesTests {
  struct Accents: Entity {
    var id = 0
    var composed: String?
    var decomposed: String?
    static let source = Source(API("test", url: "https://test.example.invalid/"), "accents", paging: .none)
    static var mapping: Mapping<Accents> {
      Key(\.id)
      Field(\.composed, "\u{E9}.v")
      Field(\.decomposed, "e\u{301}.v")
    }
  }

  @Test("keys written with other code points are other keys")
  func canonicallyEquivalent() throws {
    let body =
      "[{\"id\":1,\"e\u{301}\":{\"v\":\"two\"},\"\u{E9}\":{\"v\":\"one\"}},{\"id\":2,\"\u{E9}\":{\"v\":\"x\"}}]"
    let records = try JSONDocument.parse(Array(body.utf8)).root
    let plan = try EntityPlan(Accents.self, urls: [:]).decoding
    let batch = RecordDecoder(plan).decode(
      records, of: RecordSource(rows: .list(.root)), page: 1, context: RecordContext()
    ) { Issue.record("\($0)") }.batch
    #expect(try batch.value(row: 0, column: 1) == .text("one"))
    #expect(try batch.value(row: 0, column: 2) == .text("two"))
    #expect(try batch.value(row: 1, column: 1) == .text("x"))
    #expect(try batch.value(row: 1, column: 2) == nil)
  }
}
