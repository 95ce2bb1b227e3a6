import Foundation
import JSON
import SQLiteStore
import TestSupport
import Testing

@testable import SyncEngine

/// What the table's rows and those of the source are told apart by.
@Suite("Digests of rows", .once)
struct RowDigestTests {
  struct Forms: Entity {
    var id = 0
    var small: Int8?
    var ratio: Double?
    var whole: Double?
    var flag = false
    var at: Date?
    var day: Day?
    var price: Decimal?
    var text = ""
    var link: URL?
    var uuid: UUID?
    var bytes: Data?
    var list: [Int]?
    static let source = Source(
      API("digests", url: "https://test.example.invalid/"), "forms", rows: "data", paging: .none)
    static var mapping: Mapping<Forms> {
      Key(\.id)
      Field(\.small)
      Field(\.ratio)
      Field(\.whole)
      Field(\.flag)
      Field(\.at)
      Field(\.day)
      Field(\.price)
      Field(\.text)
      Field(\.link)
      Field(\.uuid)
      Field(\.bytes)
      Field(\.list)
    }
  }

  static let records = [
    #"""
    {"id":1,"small":-128,"ratio":0.1,"whole":3,"flag":true,"at":"2026-01-02T03:04:05.678Z","day":"2026-02-28",
     "price":"12.50","text":"","link":"https://h.example/a?b=c","uuid":"6BA7B810-9DAD-11D1-80B4-00C04FD430C8",
     "bytes":"AAEC/w==","list":[ 1, 2 ]}
    """#,
    #"""
    {"id":2,"small":null,"ratio":-0.0,"whole":1e300,"flag":false,"at":"1969-12-31T23:59:59.999Z","day":null,
     "price":"-0.000001","text":"a\u0000b \u00fc \ud83d\ude00","link":null,"uuid":null,"bytes":"","list":[]}
    """#,
    #"""
    {"id":9007199254740993,"small":127,"ratio":5e-324,"whole":-2,"flag":false,"at":null,"day":"0001-01-01",
     "price":null,"text":"sixteen letters!","link":null,"uuid":null,"bytes":null,"list":null}
    """#,
  ]

  private func batch(_ records: [String]) throws -> RowBatch {
    let schema = try TableSchema(Forms.self)
    let document = try JSONDocument.parse(Array("[\(records.joined(separator: ","))]".utf8))
    return RecordDecoder(try DecodingPlan(Forms.self, schema: schema)).decode(
      document.root, of: RecordSource(rows: .list(.root)), page: 1, context: RecordContext()
    ) { Issue.record("\($0)") }.batch
  }

  /// Whether a survey of the table finds each record as it stands there.
  private func held(_ records: [String], _ fixture: Fixture) async throws -> [Bool] {
    let survey = try #require(
      fixture.store.survey(try TableSchema(Forms.self), for: .rows, rows: nil))
    let batches = try records.map { try batch([$0]) }
    for batch in batches { survey.compare(batch) }
    await survey.finish()
    return batches.map { survey.holds($0) }
  }

  @Test("a row that the table has as it came is found, whatever its types; one that differs anywhere is not")
  func held() async throws {
    let fixture = try Fixture(.sqlite)
    let server = try fixture.server()
    try server.serve([Route("/forms", body: "{\"data\":[\(Self.records.joined(separator: ","))]}")])
    let line = await outcome(of: fixture.engine(server, apis: ["digests"]), Forms.self)
    #expect(line == "forms: 1 pages, 3 records, 3 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    #expect(try await held(Self.records, fixture) == [true, true, true])
    try fixture.execute("CREATE TABLE saved AS SELECT * FROM forms")
    let edits = [
      "small = 5", "ratio = 0.2", "whole = 4", "flag = 0", "at = '2026-01-02T03:04:05.679Z'",
      "day = '2026-02-27'", "price = '12.5'", "text = ' '", "link = 'https://h.example/a?b=d'",
      "uuid = '6ba7b810-9dad-11d1-80b4-00c04fd430c9'", "bytes = x'000102fe'", "list = '[1,3]'", "list = NULL",
      "link = NULL, text = link", "id = 7",
    ]
    for edit in edits {
      try fixture.execute("UPDATE forms SET \(edit) WHERE id = 1")
      #expect(try await held(Self.records, fixture) == [false, true, true], "\(edit)")
      try fixture.execute("DELETE FROM forms")
      try fixture.execute("INSERT INTO forms SELECT * FROM saved")
    }
  }

  @Test("fields do not run into each other, and digests differ from run to run")
  func injective() {
    let secret = DigestSecret()
    func digest(_ fields: [String], _ secret: DigestSecret) -> RowDigest {
      var digest = RowDigest(secret)
      for field in fields {
        var field = field
        field.withUTF8 { digest.add(UnsafeRawBufferPointer($0), kind: 3, secret) }
      }
      return digest
    }
    var seen: [Int: [String]] = [:]
    let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    for length in 0...letters.count {
      let text = String(letters.prefix(length))
      let cuts = (0...length).map { [String(text.prefix($0)), String(text.dropFirst($0))] }
      for fields in cuts + [[text], [text + "\0"], ["\0" + text], [text, "", ""]] {
        if let other = seen.updateValue(fields, forKey: digest(fields, secret).hash), other != fields {
          Issue.record("\(fields) has the digest of \(other)")
        }
      }
    }
    #expect(digest(["a"], secret) == digest(["a"], secret))
    #expect(digest(["a"], secret) != digest(["a"], DigestSecret()))
  }

  @Test("a list of digests finds each in any order, and none that is not there")
  func list() {
    let secret = DigestSecret()
    func digest(_ number: Int) -> RowDigest {
      var digest = RowDigest(secret)
      digest.add(UInt64(number), 1, secret)
      return digest
    }
    var list = DigestList()
    for number in 0..<5000 { list.append(digest(number)) }
    let orders = [
      Array(0..<5000), Array((0..<5000).reversed()), Array(0..<5000).filter { $0 % 7 != 0 },
      (0..<5000).map { $0 * 2039 % 5000 },
    ]
    for order in orders {
      var hint = 0
      let found = order.count { list.contains(digest($0), hint: &hint) }
      #expect(found == order.count)
    }
    var hint = 0
    #expect((5000..<6000).allSatisfy { !list.contains(digest($0), hint: &hint) })
  }
}
