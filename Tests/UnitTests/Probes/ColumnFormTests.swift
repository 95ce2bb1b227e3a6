import Foundation
import SyncEngine
import TestSupport
import Testing

/// Which JSON values fit which column, found by one run for each column.
@Suite("Forms that fit a column", .fewAtATime)
struct ColumnFormTests {
  enum Genre: String, ColumnValue { case drama = "Drama", myth = "Myth" }
  enum Level: Int, ColumnValue { case low = 1, high = 10 }
  struct Detail: Codable, ColumnValue { var a: Int? }

  struct Every: Entity {
    var id = 0
    var int: Int?
    var small: Int8?
    var unsigned: UInt64?
    var real: Double?
    var flag: Bool?
    var text: String?
    var instant: Date?
    var seconds: Date?
    var milliseconds: Date?
    var day: Date?
    var url: URL?
    var genre: Genre?
    var level: Level?
    var tags: [String]?
    var detail: Detail?
    static let source = Source(.probe, "things", paging: .none, badRecords: .quarantine(atMost: 1000))
    static var mapping: Mapping<Every> {
      Key(\.id)
      Field(\.int)
      Field(\.small)
      Field(\.unsigned)
      Field(\.real)
      Field(\.flag)
      Field(\.text)
      Field(\.instant)
      Field(\.seconds, .unixSeconds)
      Field(\.milliseconds, .unixMilliseconds)
      Field(\.day, .pattern("yyyyMMdd"))
      Field(\.url)
      Field(\.genre)
      Field(\.level)
      Field(\.tags)
      Field(\.detail)
    }
  }

  /// Each form with what is stored for it, as SQL writes it, or `refused`.
  private func judge(_ column: String, _ forms: [String]) async throws -> String {
    let scene = try Scene()
    let records = forms.enumerated().map { #"{"id":\#($0 + 1),"\#(column)":\#($1)}"# }
    let line = try await scene.run(Every.self, "[\(records.joined(separator: ","))]")
    #expect(line.contains("\(forms.count) records"), "\(line)")
    let stored = try scene.rows("SELECT id, typeof(\"\(column)\"), \"\(column)\" FROM every")
    var values: [Int: String] = [:]
    for row in stored.split(separator: "\n") {
      let parts = row.split(separator: " | ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 3, let id = Int(parts[0]) else { continue }
      values[id] =
        switch parts[1] {
        case "null": "NULL"
        case "text": "'\(parts[2].replacingOccurrences(of: "'", with: "''"))'"
        default: parts[2]
        }
    }
    return forms.enumerated().map { "\($1) → \(values[$0 + 1] ?? "refused")" }.joined(separator: "\n")
  }

  private func check(_ column: String, _ table: [(String, String)]) async throws {
    expect(
      try await judge(column, table.map(\.0)),
      is: table.map { "\($0.0) → \($0.1)" }.joined(separator: "\n"))
  }

  @Test("integers: whole numbers in any notation, as number or text; nothing else")
  func integers() async throws {
    try await check(
      "int",
      [
        ("12", "12"), ("\"12\"", "12"), ("12.0", "12"), ("1.2e1", "12"), ("120e-1", "12"), ("-0", "0"),
        ("\"-7\"", "-7"), ("\"1.2E+1\"", "12"), ("0.0", "0"), ("0e99999999999999999999", "0"),
        ("9223372036854775807", "9223372036854775807"), ("-9223372036854775808", "-9223372036854775808"),
        ("9223372036854775807.0", "9223372036854775807"), ("9007199254740993", "9007199254740993"),
        ("9223372036854775808", "refused"), ("-9223372036854775809", "refused"), ("1e19", "refused"),
        ("12.5", "refused"), ("1e-1", "refused"), ("\"\"", "refused"), ("\" 12 \"", "refused"),
        ("\"12abc\"", "refused"), ("\"+12\"", "refused"), ("\"012\"", "refused"), ("\"0x10\"", "refused"),
        ("\"-\"", "refused"), ("\"12.\"", "refused"), ("true", "refused"), ("[]", "refused"),
        ("[12]", "refused"), ("{}", "refused"), ("\"NaN\"", "refused"), ("\"1_000\"", "refused"),
        ("\"1,000\"", "refused"), ("\"１２\"", "refused"), ("null", "NULL"),
      ])
  }

  @Test("integers of other widths keep their own bounds")
  func widths() async throws {
    try await check(
      "small",
      [("127", "127"), ("-128", "-128"), ("128", "refused"), ("-129", "refused"), ("\"1e2\"", "100")])
    try await check(
      "unsigned",
      [
        ("0", "0"), ("-1", "refused"), ("-0", "0"), ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "refused"), ("18446744073709551615", "refused"),
      ])
  }

  @Test("doubles: finite numbers within range, as number or text")
  func doubles() async throws {
    try await check(
      "real",
      [
        ("1.5", "1.5"), ("\"1.5\"", "1.5"), ("2", "2.0"), ("-0.0", "0.0"), ("1e-7", "1.0e-07"),
        ("9007199254740992", "9.00719925474099e+15"), ("1e22", "1.0e+22"), ("1e400", "refused"),
        ("-1e400", "refused"), ("1e-400", "refused"), ("\"NaN\"", "refused"), ("\"Infinity\"", "refused"),
        ("\"\"", "refused"), ("\" 1\"", "refused"), ("true", "refused"), ("[]", "refused"),
        ("\"0x1p3\"", "refused"), ("\"1.\"", "refused"), ("null", "NULL"),
      ])
  }

  @Test("whole numbers that no double holds are refused, never rounded")
  func roundedDoubles() async throws {
    for form in [
      "9223372036854775807", "-9223372036854775807", "9007199254740995", "9007199254740993",
      "-9007199254740993",
      "9007199254740993.0", "\"9007199254740993\"",
    ] {
      expect(try await judge("real", [form]), is: "\(form) → refused")
    }
    for form in ["18446744073709551617", "100000000000000000000000001"] {
      expect(try await judge("real", [form]), is: "\(form) → refused")
    }
  }

  @Test("booleans: true, false, 0 and 1, also as text in any case")
  func booleans() async throws {
    try await check(
      "flag",
      [
        ("true", "1"), ("false", "0"), ("0", "0"), ("1", "1"), ("\"0\"", "0"), ("\"1\"", "1"),
        ("\"TRUE\"", "1"), ("\"true\"", "1"), ("\"False\"", "0"), ("2", "refused"), ("-1", "refused"),
        ("\"yes\"", "refused"), ("\"t\"", "refused"), ("\"\"", "refused"), ("\" true\"", "refused"),
        ("\"t\\u0052ue\"", "1"), ("[]", "refused"), ("{}", "refused"), ("null", "NULL"),
      ])
  }

  @Test("texts keep every character and every digit; containers and half surrogates are refused")
  func texts() async throws {
    try await check(
      "text",
      [
        ("\"a\"", "'a'"), ("\"\"", "''"), ("1.10", "'1.10'"), ("1E400", "'1E400'"), ("-0", "'-0'"),
        ("18446744073709551616", "'18446744073709551616'"), ("true", "'true'"), ("false", "'false'"),
        ("\"\\u00e9\\ud83d\\ude00\"", "'é😀'"), ("\"it's\"", "'it''s'"), ("\" a \"", "' a '"),
        ("\"\\ud800\"", "refused"), ("\"\\udc00\\ud800\"", "refused"), ("{\"a\":1}", "refused"),
        ("[1]", "refused"), ("[]", "refused"), ("\"null\"", "'null'"), ("null", "NULL"),
      ])
  }

  @Test("instants: RFC 3339 with a zone; seconds, milliseconds and patterns only where declared")
  func instants() async throws {
    try await check(
      "instant",
      [
        ("\"2024-02-29T12:00:00.5+02:00\"", "'2024-02-29T10:00:00.500Z'"),
        ("\"1969-12-31T23:59:59.9999Z\"", "'1969-12-31T23:59:59.999Z'"),
        ("\"2023-02-29T00:00:00Z\"", "refused"), ("\"2024-01-01T00:00:00\"", "refused"),
        ("\"2024-01-01\"", "refused"), ("1700000000", "refused"), ("\"\"", "refused"), ("true", "refused"),
        ("\"0000-01-01T00:00:00Z\"", "refused"), ("\"10000-01-01T00:00:00Z\"", "refused"),
      ])
    try await check(
      "seconds",
      [
        ("0", "'1970-01-01T00:00:00.000Z'"), ("-0.0001", "'1969-12-31T23:59:59.999Z'"),
        ("1.9999", "'1970-01-01T00:00:01.999Z'"), ("\"1.5\"", "'1970-01-01T00:00:01.500Z'"),
        ("1e3", "'1970-01-01T00:16:40.000Z'"), ("253402300799", "'9999-12-31T23:59:59.000Z'"),
        ("253402300800", "refused"), ("-62135596800", "'0001-01-01T00:00:00.000Z'"),
        ("-62135596800.001", "refused"), ("1e30", "refused"), ("\"\"", "refused"), ("true", "refused"),
      ])
    try await check(
      "milliseconds",
      [
        ("1500", "'1970-01-01T00:00:01.500Z'"), ("-1", "'1969-12-31T23:59:59.999Z'"),
        ("-0.5", "'1969-12-31T23:59:59.999Z'"), ("1.9", "'1970-01-01T00:00:00.001Z'"),
        ("\"2024-01-01T00:00:00Z\"", "refused"),
      ])
    try await check(
      "day",
      [
        ("\"20240229\"", "'2024-02-29T00:00:00.000Z'"), ("20240229", "'2024-02-29T00:00:00.000Z'"),
        ("\"20230229\"", "refused"), ("20240229.0", "refused"), ("\"2024-02-29\"", "refused"),
        ("2024022", "refused"),
      ])
  }

  @Test("enumerations take their declared cases alone")
  func enumerations() async throws {
    try await check(
      "genre",
      [
        ("\"Drama\"", "'Drama'"), ("\"Myth\"", "'Myth'"), ("\"drama\"", "refused"), ("\"\"", "refused"),
        ("\"Drama \"", "refused"), ("1", "refused"), ("\"Dram\\u0061\"", "'Drama'"), ("null", "NULL"),
      ])
    try await check(
      "level",
      [
        ("1", "1"), ("\"10\"", "10"), ("1e1", "10"), ("2", "refused"), ("1.5", "refused"),
        ("true", "refused"),
      ])
  }

  @Test("JSON is kept without insignificant white space, in SQLite every token as it was written")
  func json() async throws {
    try await check(
      "tags",
      [
        ("[ \"a b\" ,\n \"c\" ]", "'[\"a b\",\"c\"]'"), ("[]", "'[]'"), ("\"x\"", "refused"),
        ("null", "NULL"), ("[1]", "refused"), ("[null]", "refused"), ("{}", "refused"),
      ])
    try await check(
      "detail",
      [
        ("{ \"a\" : 1 , \"b\" : [ null , true ] }", "'{\"a\":1,\"b\":[null,true]}'"),
        (
          "{\"a\":\"\\u00e9 \\\" x\"}",
          StoreKind.words(sqlite: "'{\"a\":\"\\u00e9 \\\" x\"}'", postgresql: "'{\"a\":\"é \\\" x\"}'")
        ), ("{\"a\": null}", "'{\"a\":null}'"),
      ])
  }

  @Test("URLs: absolute addresses are kept byte for byte")
  func urls() async throws {
    try await check(
      "url",
      [
        ("\"https://a.example/x?y=1#z\"", "'https://a.example/x?y=1#z'"),
        ("\"https://a.example/%7E%2f\"", "'https://a.example/%7E%2f'"), ("\"\"", "refused"), ("1", "refused"),
        ("{}", "refused"), ("\"http://[::1\"", "refused"), ("null", "NULL"),
      ])
  }

  struct Moment: Entity {
    var at = Date(timeIntervalSince1970: 0)
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Moment> { Key(\.at, .unixMilliseconds) }
  }

  @Test("an instant that was read back finds its own row, to the millisecond")
  func readBackInstants() async throws {
    var generator = SeededGenerator(11)
    let instants = (0..<200).map { _ in
      Int64.random(in: -2_000_000_000_000...4_000_000_000_000, using: &generator)
    }
    let scene = try Scene()
    let body = "[" + instants.map { #"{"at":\#($0)}"# }.joined(separator: ",") + "]"
    #expect(try await scene.run(Moment.self, body).contains("200 inserted"))
    let read = try scene.fixture.store.all(Moment.self)
    let found = try read.filter { try scene.fixture.store.first(Moment.self, key: $0.at) != nil }
    #expect(found.count == 200, "\(found.count) of 200 instants find their row")
  }
}
