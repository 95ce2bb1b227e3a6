import Foundation
import JSON
import TestSupport
import Testing

@testable import SyncEngine

/// The table of accepted forms in the documentation, row by row: every form that stands there is tried.
@Suite("Documented forms", .once)
struct DocumentedFormsTests {
  private enum Genre: String, ColumnValue { case drama, myth }

  /// The optional property of each row of the table, and how it is read.
  private struct Forms: Record {
    var id = 0
    var integer: Int?, double: Double?, float: Float?, decimal: Decimal?, bool: Bool?, string: String?
    var iso: Date?, zoned: Date?, seconds: Date?, milliseconds: Date?, pattern: Date?, http: Date?
    var day: Day?, duration: Duration?, durationMilliseconds: Duration?, uuid: UUID?, url: URL?
    var base64: Data?, hex: Data?, genre: Genre?, json: JSONText?, integers: [Int]?, object: [String: Int]?
    static var mapping: Mapping<Forms> {
      Key(\.id)
      Field(\.integer)
      Field(\.double)
      Field(\.float)
      Field(\.decimal)
      Field(\.bool)
      Field(\.string)
      Field(\.iso)
      Field(\.zoned, .iso8601(zone: .named("Europe/Oslo")))
      Field(\.seconds, .unixSeconds)
      Field(\.milliseconds, .unixMilliseconds)
      Field(\.pattern, .pattern("yyyyMMdd"))
      Field(\.http, .http)
      Field(\.day)
      Field(\.duration)
      Field(\.durationMilliseconds, .milliseconds)
      Field(\.uuid)
      Field(\.url)
      Field(\.base64)
      Field(\.hex, .hex)
      Field(\.genre)
      Field(\.json)
      Field(\.integers)
      Field(\.object)
    }
  }

  /// The rows of the table, in their order.
  private static let columns = [
    "integer", "double", "float", "decimal", "bool", "string", "iso", "zoned", "seconds", "milliseconds",
    "pattern", "http", "day", "duration", "duration_milliseconds", "uuid", "url", "base64", "hex", "genre",
    "json",
    "integers", "object",
  ]

  /// The texts between backquotes that are JSON values.
  private static func forms(_ cell: some StringProtocol) -> [String] {
    cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
      .map { String($0.element) }.filter { (try? JSONDocument.parse(Array($0.utf8))) != nil }
  }

  private static func rows() throws -> [(property: String, accepted: [String], refused: [String])] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../..")
    let text = try String(
      contentsOf: root.appending(path: "Sources/SyncEngine/SyncEngine.docc/Values.md"), encoding: .utf8)
    let lines = text.split(separator: "\n").drop { !$0.hasPrefix("| property |") }.dropFirst(2)
    return lines.prefix { $0.hasPrefix("|") }.map { line in
      let cells = line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
      return (String(cells[0]), forms(cells[1]), forms(cells[2]))
    }
  }

  @Test("every form in the table is accepted or refused as it says")
  func table() throws {
    let rows = try Self.rows()
    #expect(rows.count == Self.columns.count)
    let schema = try TableSchema(Forms.self)
    let decoder = RecordDecoder(try DecodingPlan(Forms.self, schema: schema))
    var wrong: [String] = []
    var count = 0
    for (row, column) in zip(rows, Self.columns) {
      #expect(!row.accepted.isEmpty, "\(row.property)")
      for (form, fits) in row.accepted.map({ ($0, true) }) + row.refused.map({ ($0, false) }) {
        count += 1
        let body = #"[{"id":1,"\#(column)":\#(form)}]"#
        var bad: [BadRecord] = []
        let batch = decoder.decode(
          try JSONDocument.parse(Array(body.utf8)).root, of: RecordSource(rows: .list(.root)), page: 1,
          context: RecordContext()
        ) { bad.append($0) }.batch
        let position = try #require(schema.columns.firstIndex { $0.name == column })
        let value = batch.rowCount == 1 ? try batch.value(row: 0, column: position) : nil
        if fits != (value != nil) {
          wrong.append("\(column) \(form): \(value.map { "\($0)" } ?? bad.first?.reason ?? "missing")")
        }
      }
    }
    #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    #expect(count > 120, "\(count) forms were found")
  }
}
