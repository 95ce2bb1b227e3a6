import Foundation
import SyncEngine
import TestSupport
import Testing

/// The table of accepted forms in the documentation, row by row, each through a whole run.
@Suite("Accepted forms", .fewAtATime)
struct CoercionTests {
  enum Genre: String, ColumnValue { case drama = "Drama", myth = "Myth" }
  enum Level: Int, ColumnValue { case low = 1, high = 3 }

  struct Everything: Entity {
    var id = 0
    var int: Int?
    var small: Int8?
    var unsigned: UInt64?
    var double: Double?
    var bool: Bool?
    var string: String?
    var iso: Date?
    var seconds: Date?
    var milliseconds: Date?
    var day: Date?
    var url: URL?
    var genre: Genre?
    var level: Level?
    var list: [String]?
    static let source = Source(.test, "items", paging: .none)
    static var mapping: Mapping<Everything> {
      Key(\.id)
      Field(\.int)
      Field(\.small)
      Field(\.unsigned)
      Field(\.double)
      Field(\.bool)
      Field(\.string)
      Field(\.iso)
      Field(\.seconds, .unixSeconds)
      Field(\.milliseconds, .unixMilliseconds)
      Field(\.day, .pattern("yyyyMMdd"))
      Field(\.url)
      Field(\.genre)
      Field(\.level)
      Field(\.list)
    }
  }

  static let accepted: [(field: String, json: String, stored: String)] = [
    ("int", "12", "12"), ("int", "-0", "0"), ("int", "12.0", "12"), ("int", "1.2e1", "12"),
    ("int", #""12""#, "12"),
    ("int", #""-9223372036854775808""#, "-9223372036854775808"),
    ("int", "9223372036854775807", "9223372036854775807"),
    ("int", "900719925474099300e-2", "9007199254740993"), ("int", "null", "∅"), ("small", "-128", "-128"),
    ("unsigned", "9223372036854775807", "9223372036854775807"), ("double", "0.1", "0.1"),
    ("double", "2", "2.0"),
    ("double", #""2.5""#, "2.5"), ("double", "9007199254740992", "9.00719925474099e+15"),
    ("double", "-1e-300", "-1.0e-300"),
    ("bool", "true", "1"), ("bool", "false", "0"), ("bool", "1", "1"), ("bool", "0", "0"),
    ("bool", #""1""#, "1"),
    ("bool", #""FALSE""#, "0"), ("bool", #""True""#, "1"), ("string", #""""#, ""), ("string", "1.10", "1.10"),
    ("string", "18446744073709551615", "18446744073709551615"), ("string", "true", "true"),
    ("string", #""n/a""#, "n/a"),
    ("iso", #""2014-04-29T14:18:17-0400""#, "2014-04-29T18:18:17.000Z"),
    ("iso", #""2024-05-02 00:00:00.9999Z""#, "2024-05-02T00:00:00.999Z"),
    ("iso", #""2024-05-02T10:00\u003a00Z""#, "2024-05-02T10:00:00.000Z"),
    ("seconds", "0", "1970-01-01T00:00:00.000Z"),
    ("seconds", "-0.0001", "1969-12-31T23:59:59.999Z"),
    ("seconds", #""1504224788.5""#, "2017-09-01T00:13:08.500Z"),
    ("milliseconds", "253402300799999", "9999-12-31T23:59:59.999Z"),
    ("milliseconds", "-1", "1969-12-31T23:59:59.999Z"),
    ("day", #""20240229""#, "2024-02-29T00:00:00.000Z"), ("day", "20240229", "2024-02-29T00:00:00.000Z"),
    ("url", #""https://a.example/x?y=%20#z""#, "https://a.example/x?y=%20#z"),
    ("url", #""http:\/\/a.example\/""#, "http://a.example/"),
    ("genre", #""Myth""#, "Myth"), ("level", "3", "3"), ("level", #""1""#, "1"),
    ("list", #"[ "a" , "b" ]"#, #"["a","b"]"#),
    ("list", "[]", "[]"),
  ]

  static let refused: [(field: String, json: String)] = [
    ("int", "12.5"), ("int", #""""#), ("int", #"" 12 ""#), ("int", #""012""#), ("int", #""0x1""#),
    ("int", "true"),
    ("int", "9223372036854775808"), ("int", "-9223372036854775809"), ("int", "1e400"), ("int", "[1]"),
    ("int", #""n/a""#),
    ("small", "128"), ("unsigned", "-1"), ("unsigned", "18446744073709551615"), ("double", "1e400"),
    ("double", "1e-400"),
    ("double", "9007199254740993"), ("double", "9007199254740993.0"), ("double", #""""#), ("double", "true"),
    ("double", #""NaN""#),
    ("bool", "2"),
    ("bool", #""yes""#), ("bool", #""""#), ("bool", "1.0"), ("string", #"{"a":1}"#), ("string", "[]"),
    ("string", #""\ud800""#),
    ("iso", #""2024-05-02T10:00:00""#), ("iso", #""2023-02-29T00:00:00Z""#), ("iso", "0"), ("iso", #""""#),
    ("seconds", #""soon""#), ("seconds", "253402300800"), ("milliseconds", "1e300"), ("day", #""20230229""#),
    ("day", "2024"),
    ("url", #""""#), ("url", "5"), ("url", #""http://[""#), ("genre", #""drama""#), ("genre", "1"),
    ("level", "2"),
    ("level", #""low""#),
  ]

  @Test("what fits is stored exactly, and read back as the same value")
  func fits() async throws {
    let fixture = try Fixture()
    let records = Self.accepted.enumerated().map { #"{"id":\#($0 + 1),"\#($1.field)":\#($1.json)}"# }
    let (line, _) = try await sync(Everything.self, "[\(records.joined(separator: ",\n"))]", in: fixture)
    #expect(line.contains(" \(records.count) inserted"), "\(line)")
    let stored = try Self.accepted.enumerated().map { index, row in
      "\(row.field) \(row.json) → "
        + (try fixture.rows("SELECT \"\(row.field)\" FROM everything WHERE id = \(index + 1)"))
    }
    expect(
      stored.joined(separator: "\n"),
      is: Self.accepted.map { "\($0.field) \($0.json) → \($0.stored)" }.joined(separator: "\n"))
    #expect(try fixture.store.all(Everything.self).count == records.count)
    #expect(try fixture.store.first(Everything.self, key: Self.accepted.count)?.list == [])
    #expect(try fixture.store.all(Everything.self).compactMap(\.genre) == [.myth])
  }

  @Test("what does not fit makes the record bad, with the field and the value in the message")
  func refuses() async throws {
    let fixture = try Fixture()
    for (field, json) in Self.refused {
      let (line, rows) = try await sync(Everything.self, #"[{"id":1,"\#(field)":\#(json)}]"#, in: fixture)
      #expect(
        line.hasPrefix(
          "everything: 1 bad record, nothing was written:\n  page 1, record 1 (id 1), field \"\(field)\": "),
        "\(field) \(json): \(line)")
      expect(rows, is: "no table")
    }
  }
}
