import Foundation
import TestSupport
import Testing

@testable import SyncEngine

/// The same declarations over both stores: the same lines, and the same values when they are read back.
@Suite("Two stores, one contract", .timeLimit(.minutes(15)), .fewAtATime)
struct ComparisonTests {
  enum Genre: String, ColumnValue { case drama = "Drama", myth = "Mŷth 'x'" }
  enum Level: Int, ColumnValue { case low = -1, high = 9_007_199_254_740_993 }
  struct Detail: Codable, ColumnValue, Equatable { var a: Int?; var b: [String]? }

  struct Every: Entity {
    var id = 0
    var int: Int?
    var small: Int8?
    var unsigned: UInt64?
    var real: Double?
    var float: Float?
    var flag: Bool?
    var text: String?
    var decimal: Decimal?
    var instant: Date?
    var day: Day?
    var span: Duration?
    var uid: UUID?
    var bytes: Data?
    var link: URL?
    var genre: Genre?
    var level: Level?
    var list: [String]?
    var map: [String: Double]?
    var detail: Detail?
    var json: JSONText?
    var fixed = 1.25
    static let table = "every"
    static let source = Source(.place, "items", paging: .none, resume: .never)
    static var mapping: Mapping<Every> {
      Key(\.id)
      Field(\.int)
      Field(\.small)
      Field(\.unsigned)
      Field(\.real)
      Field(\.float)
      Field(\.flag)
      Field(\.text)
      Field(\.decimal)
      Field(\.instant)
      Field(\.day)
      Field(\.span)
      Field(\.uid)
      Field(\.bytes)
      Field(\.link)
      Field(\.genre)
      Field(\.level)
      Field(\.list)
      Field(\.map)
      Field(\.detail)
      Field(\.json)
      Field(\.fixed)
    }
    static let deletion = Deletion<Every>.missing(atMost: 1)
  }

  /// Values at the edges of each type, as JSON.
  static let edges: [(field: String, values: [String])] = [
    (
      "int",
      [
        "0", "-1", "9223372036854775807", "-9223372036854775808", "\"12\"", "1.2e1", "9007199254740993",
        "null",
      ]
    ),
    ("small", ["127", "-128"]), ("unsigned", ["0", "9223372036854775807"]),
    (
      "real",
      [
        "0.1", "0.30000000000000004", "-0.0", "0", "1e308", "1.7976931348623157e308",
        "-1.7976931348623157e308",
        "5e-324", "2.2250738585072014e-308", "9007199254740992", "1e22", "123456789.12345679", "-1e-7", "3",
      ]
    ),
    ("float", ["0.1", "3.4028234663852886e38", "1.1754943508222875e-38", "-0.0", "16777216"]),
    ("flag", ["true", "false", "\"1\"", "0"]),
    (
      "text",
      [
        #""""#, #"" ""#, #""a b ""#, #""é漢😀\u202e""#, #""e\u0301""#, #""it's \"q\" \\ \n\r\t\b\f""#,
        #""\u0001\u007f""#,
        #""\\x00 \\N NULL null""#, #""\ud83d\ude00""#, "1.10", "true", #""\ufeffb""#, #""\uffff""#,
      ]
    ),
    (
      "decimal",
      [
        "0", "1.10", "1.1", "\"1.100\"", "-0.05", "0.00", "100", "1e3", "1.5e-3",
        "12345678901234567890123456789012345678", "\"0.12345678901234567890123456789012345678\"",
        "\"12345678901234567890.123456789012345670\"", "-99999999999999999999999999999999999999", "0.0001",
        "10000",
        "123456789", "1000000000000", "0.1234", "0.12345", "-0.0",
      ]
    ),
    (
      "instant",
      [
        #""0001-01-01T00:00:00Z""#, #""0001-01-01T00:00:00.001Z""#, #""9999-12-31T23:59:59.999Z""#,
        #""1970-01-01T00:00:00Z""#, #""1969-12-31T23:59:59.999Z""#, #""2000-01-01T00:00:00Z""#,
        #""1999-12-31T23:59:59.999Z""#, #""2026-02-02T01:01:01.0019+02:00""#, #""1582-10-10T00:00:00Z""#,
        #""2024-02-29T12:00:00.5Z""#, #""1883-11-18T12:03:58Z""#,
      ]
    ),
    (
      "day",
      [
        #""0001-01-01""#, #""9999-12-31""#, #""1970-01-01""#, #""2000-01-01""#, #""1999-12-31""#,
        #""2024-02-29""#, #""1582-10-10""#,
      ]
    ),
    (
      "span",
      ["0", "1.5", "-1.5", "0.000001", "-0.000001", "9223372036854", "-9223372036854.775808", #""PT1H0.5S""#]
    ),
    (
      "uid",
      [
        #""00000000-0000-0000-0000-000000000000""#, #""FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF""#,
        #""aabbccddeeff00112233445566778899""#,
      ]
    ),
    ("bytes", [#""""#, #""AA==""#, #""AP8AJw==""#, #""XFxc""#]),
    ("link", [#""https://a.example/x?y=%20#z""#, #""HTTP://é/?a=%7e#""#, #""file:///a%20b'""#]),
    ("genre", [#""Drama""#, #""Mŷth 'x'""#]), ("level", ["-1", "9007199254740993"]),
    ("list", ["[]", #"["a","","é\"\\"]"#, #"["\u0001"]"#]),
    ("map", ["{}", #"{"b":1e2,"a":0.1,"":-0.0}"#, #"{"k":1e308,"é":5e-324}"#]),
    ("detail", ["{}", #"{"a":5,"b":["x"],"more":[1,{"y":null}]}"#, #"{"a":null}"#]),
    (
      "json",
      [
        "1", "-0", "1.10", "1e400", "12345678901234567890123456789012345678901234567890", "\"x\"", "true",
        "null", "[]",
        "{}", #"{"b":1,"a":2,"aa":{"z":[null,1.0,"é😀\u0001"]}}"#, #"[1,[2,[3,[4]]]]"#, #"{"k":1,"k":2}"#,
        #"" \u00e9 ""#,
        #"{"a b":" , : ","c":"{}[]"}"#,
      ]
    ),
    ("fixed", ["2", "0.5"]),
  ]

  // MARK: Both at once

  /// A store of each kind, and one server.
  private struct Both {
    let (sqlite, postgres): (Fixture, Fixture)
    let server: AnswerServer

    init() throws {
      (sqlite, postgres) = (try Fixture(.sqlite), try Fixture(.postgresql))
      server = try AnswerServer([])
    }

    /// One run over each: the same line and the same rows.
    ///
    /// - Returns: the line.
    func run(_ body: String, _ comment: String = "") async throws -> String {
      try server.serve([Route("/items", body: body)])
      let lines = [
        await outcome(of: sqlite.engine(server, apis: ["place"]), Every.self),
        await outcome(of: postgres.engine(server, apis: ["place"]), Every.self),
      ]
      #expect(lines[0] == lines[1], "\(comment)")
      guard lines[0].contains(" pages, ") else { return lines[0] }
      let rows = (try Self.rows(sqlite), try Self.rows(postgres))
      #expect(rows.0.count == rows.1.count, "\(comment)")
      for (one, other) in zip(rows.0, rows.1) where one != other {
        let differences = zip(one, other).filter { $0 != $1 }.map { "SQLite \($0), PostgreSQL \($1)" }
        Issue.record("\(comment), row \(one[0]): \(differences.joined(separator: "; "))")
      }
      // What `all` gives are values of Swift.
      let all = (try sqlite.store.all(Every.self), try postgres.store.all(Every.self))
      #expect(all.0.map(Self.plain) == all.1.map(Self.plain), "\(comment)")
      return lines[1]
    }

    /// The rows as the stores give them, value by value. JSON is compared by what it means: PostgreSQL has an order of
    /// members and one spelling of a text and a number, and keeps the last one of two members of one name.
    private static func rows(_ fixture: Fixture) throws -> [[String]] {
      let schema = try TableSchema(Every.self)
      guard try fixture.tables() != "" else { return [] }
      var found: [[StoredValue]] = []
      try fixture.store.rows(of: schema, columns: schema.columns, key: nil) { found.append($0) }
      let texts = found.map { row in
        zip(schema.columns, row).map { column, value in
          if column.type == .json, case .text(let text) = value { text } else { "" }
        }
      }
      let result = try Shell.result(["python3", "-c", meaning], input: JSONEncoder().encode(texts))
      #expect(result.status == 0, "\(result.errors)")
      let meanings = try JSONDecoder().decode([[String]].self, from: Data(result.output.utf8))
      return zip(found, meanings).map { row, meanings in
        zip(schema.columns, zip(row, meanings)).map { column, value in
          // A zero has no sign in SQLite.
          if case .real(let number) = value.0 { return "\(column.name) \(number == 0 ? 0 : number)" }
          return "\(column.name) \(value.1.isEmpty ? "\(value.0)" : value.1)"
        }
      }
    }

    /// Prints what each JSON text means.
    private static let meaning = """
      import decimal, json, sys
      def plain(v):
          if isinstance(v, dict): return {k: plain(x) for k, x in v.items()}
          if isinstance(v, list): return [plain(x) for x in v]
          if isinstance(v, decimal.Decimal): return "number " + str(v.normalize() if v else 0)
          return v
      decimal.getcontext().prec = 2000
      def meaning(text):
          if not text: return ""
          number = decimal.Decimal
          return json.dumps(plain(json.loads(text, parse_float=number, parse_int=number)), sort_keys=True)
      print(json.dumps([[meaning(text) for text in row] for row in json.load(sys.stdin)]))
      """

    /// What is not JSON, as text.
    private static func plain(_ row: Every) -> String {
      "\(row.id) \(row.int as Any) \(row.small as Any) \(row.unsigned as Any) \(row.float.map { $0 == 0 ? 0 : $0 } as Any) "
        + "\(row.flag as Any) \(row.text as Any) \(row.decimal as Any) \(row.instant as Any) \(row.day as Any) "
        + "\(row.span as Any) \(row.uid as Any) \(row.bytes as Any) \(row.link as Any) \(row.genre as Any) "
        + "\(row.level as Any) \(row.list as Any) \(row.detail as Any) \(row.fixed)"
    }
  }

  @Test("values at the edges of every type", arguments: edges.indices)
  func values(_ index: Int) async throws {
    let (field, values) = Self.edges[index]
    let both = try Both()
    let records = values.enumerated().map { #"{"id":\#($0 + 1),"\#(field)":\#($1)}"# }
    let body = "[\(records.joined(separator: ",\n"))]"
    let line = try await both.run(body, field)
    #expect(line.contains(" \(values.count) inserted"), "\(line)")
    let again = try await both.run(body, field)
    #expect(again.contains(" \(values.count) unchanged"), "\(again)")
    // Each value in the place of the one before it, so that every change is one.
    let turned = values.indices.map { #"{"id":\#($0 + 1),"\#(field)":\#(values[($0 + 1) % values.count])}"# }
    let changed = try await both.run("[\(turned.joined(separator: ","))]", field)
    #expect(changed.contains("0 inserted") && changed.contains("0 deleted, proven"), "\(changed)")
  }

  @Test("random records, run after run", arguments: [1, 2, 3])
  func random(_ seed: Int) async throws {
    let both = try Both()
    var random = SeededGenerator(UInt64(seed) &+ 99)
    for step in 1...6 {
      let records = (1...60).shuffled(using: &random).prefix(Int.random(in: 40...60, using: &random)).map {
        id in
        var members = [#""id":\#(id)"#]
        for (field, values) in Self.edges where Int.random(in: 0...2, using: &random) == 0 {
          members.append(#""\#(field)":\#(values.randomElement(using: &random) ?? "null")"#)
        }
        if Int.random(in: 0...3, using: &random) == 0 {
          members.append(
            #""real":\#(Double(bitPattern: .random(in: 0...0x7FE0_0000_0000_0000, using: &random)))"#)
          members.append(#""instant":"\#(Self.instant(&random))""#)
          members.append(#""decimal":"\#(Self.decimal(&random))""#)
        }
        return "{\(members.joined(separator: ","))}"
      }
      let line = try await both.run("[\(records.joined(separator: ","))]", "seed \(seed), step \(step)")
      #expect(line.hasSuffix(", proven"), "\(line)")
    }
  }

  private static func instant(_ random: inout SeededGenerator) -> String {
    let milliseconds = Int64.random(in: -62_135_596_800_000...253_402_300_799_999, using: &random)
    guard case .integer = Date(timeIntervalSince1970: Double(milliseconds) / 1000).stored else { return "" }
    return Timestamp.text(milliseconds)
  }

  private static func decimal(_ random: inout SeededGenerator) -> String {
    let digits = (0..<Int.random(in: 1...38, using: &random)).map { _ in
      String(Int.random(in: 0...9, using: &random))
    }
    let point = Int.random(in: 1...digits.count, using: &random)
    let whole = digits[..<point].joined().drop { $0 == "0" }
    let text = (whole.isEmpty ? "0" : whole) + (point < digits.count ? "." + digits[point...].joined() : "")
    return Bool.random(using: &random) ? "-" + text : String(text)
  }
}
