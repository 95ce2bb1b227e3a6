import JSON
import TestSupport
import Testing

@testable import SyncEngine

/// Random tables and trees, written as people write them and read back, and the same with bytes changed.
@Suite("Bodies at random", .fewAtATime, .once)
struct BodyDamageTests {
  private static let words = [
    "", "a", "b c", "é日", "x,y", "\"", "\"\"", "1\n2", "\r\n", " ", "\\", "\t", "#N/A", ";",
  ]

  private static func csv(_ rows: [[String]], _ random: inout SeededGenerator) -> String {
    rows.map { row in
      let fields = row.map { text -> String in
        let needsQuotes =
          text.utf8.contains { "\",\r\n".utf8.contains($0) } || (row.count == 1 && text.isEmpty)
        guard needsQuotes || Bool.random(using: &random) else { return text }
        return "\"\(text.replacing("\"", with: "\"\""))\""
      }
      return fields.joined(separator: ",") + (Bool.random(using: &random) ? "\n" : "\r\n")
    }.joined()
  }

  @Test("a table in CSV reads back as it is", arguments: 0..<8)
  func csv(seed: Int) throws {
    var random = SeededGenerator(UInt64(seed))
    for _ in 0..<50 {
      let names = (0..<Int.random(in: 1...6, using: &random)).map { "c\($0)" }
      let rows = (0..<Int.random(in: 0...6, using: &random)).map { _ in
        names.map { _ in Self.words.randomElement(using: &random) ?? "" }
      }
      let text = try read(Self.csv([names] + rows, &random), .csv())
      let root = try JSONDocument.parse(Array(text.utf8)).root
      let back = (0..<root.count).map { row in names.map { root[row]?[$0]?.string ?? "?" } }
      #expect(back.map { $0.map { Array($0.utf8) } } == rows.map { $0.map { Array($0.utf8) } })
    }
  }

  @Test("a changed body is read or refused with a reason, and never ends the program", arguments: 0..<8)
  func damage(seed: Int) throws {
    var random = SeededGenerator(UInt64(seed))
    let bodies: [(String, BodyFormat, SyncEngine.Rows)] = [
      ("id,n\r\n1,\"a\"\"b\"\r\n2,\"x\ny\"\r\n", .csv(), .list(.root)),
      ("{\"id\":1,\"n\":[1,\"x\"]}\r\n\r\n{\"id\":2,\"n\":\"\\u00e9\"}\n", .ndjson, .list(.root)),
      (
        "<?xml version=\"1.0\"?><!DOCTYPE f [<!ELEMENT f ANY>]><f xmlns:x=\"u\"><e x:k='1'>&lt;é</e><e><![CDATA[]]></e><!-- c --></f>",
        .xml(lists: ["k"], keyed: ["l": "r"]), "f.e"
      ),
    ]
    for (body, format, rows) in bodies {
      for _ in 0..<300 {
        var bytes = Array(body.utf8)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          let place = Int.random(in: 0..<bytes.count, using: &random)
          switch Int.random(in: 0..<3, using: &random) {
          case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
          case 1: bytes.remove(at: place)
          default: bytes.insert(contentsOf: bytes[place...].prefix(5), at: place)
          }
        }
        let type = ["text/plain", "text/plain; charset=latin1", "text/plain; charset=utf-16"]
          .randomElement(using: &random)
        let text = try read(bytes, format, rows: rows, type: type, headers: withoutLength)
        #expect(text.hasPrefix("[") || text.hasPrefix("{") || text.hasPrefix("the body is "), "\(text)")
      }
    }
  }
}
