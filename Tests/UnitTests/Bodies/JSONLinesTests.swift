import JSON
import TestSupport
import Testing

@testable import SyncEngine

@Suite("JSON lines", .once)
struct JSONLinesTests {
  @Test(
    "each line is one value, empty lines are passed over",
    arguments: [
      ("{\"a\":1}\n{\"a\":2}\n", "[{\"a\":1},\n{\"a\":2}]"),
      ("{\"a\":1}\r\n{\"a\":2}\r\n", "[{\"a\":1},\n{\"a\":2}]"),
      ("{\"a\":1}\n{\"a\":2}", "[{\"a\":1},\n{\"a\":2}]"),
      ("\n \t\r\n{\"a\":1}\n\n\n", "[{\"a\":1}]"),
      ("  {\"a\" : [1, 2]}  \n", "[{\"a\" : [1, 2]}]"),
      ("\u{FEFF}{\"a\":1}\n", "[{\"a\":1}]"),
      ("1\n\"x\"\n\"\"\nnull\n[]\n", "[1,\n\"x\",\n\"\",\nnull,\n[]]"),
      ("", "[]"), ("\n\n", "[]"),
    ])
  func good(body: String, text: String) throws { #expect(try read(body, .ndjson) == text) }

  @Test(
    "a bad line is named, with the reason",
    arguments: [
      ("{\"a\":1}\n{\"a\":}\n", "line 2: a value, key, comma or bracket stands where it may not"),
      ("{\"a\":1}\n{\"a\":2}{\"a\":3}\n", "line 2: something follows the end of the document"),
      ("{\"a\":1},{\"a\":2}\n", "line 1: something follows the end of the document"),
      ("{\"a\":1},\n", "line 1: something follows the end of the document"),
      ("[{\"a\":1},\n{\"a\":2}]\n", "line 1: the document ends too early"),
      ("{\"a\":\n1}\n", "line 1: the document ends too early"),
      ("\"a\n\n b\"\n", "line 1: the document ends too early"),
      ("]\n[\n", "line 1: a value, key, comma or bracket stands where it may not"),
      ("{\"a\":1}\r{\"a\":2}\n", "line 1: something follows the end of the document"),
      ("{\"a\":1}\n\r\n\n{\"a\":2", "line 4: the document ends too early"),
      ("{\"a\":1}\n\u{1E}{\"a\":2}\n", "line 2: a word is neither true, false nor null"),
    ])
  func bad(body: String, reason: String) throws {
    let message = try read(body, .ndjson)
    #expect(message.contains(": \(reason); it begins with"), "\(message)")
    #expect(message.hasPrefix("the body is not JSON lines (HTTP 200): "), "\(message)")
  }

  @Test("bytes that are not UTF-8 are named by their line")
  func notUTF8() throws {
    let message = try read(Array("{\"a\":1}\n{\"a\":\"".utf8) + [0xE9] + Array("\"}\n".utf8), .ndjson)
    #expect(message == "the body is not JSON lines (HTTP 200): line 2: the body is not UTF-8", "\(message)")
  }

  @Test("cut at any byte, whole lines are read or the line is named; no line is ever part of a record")
  func truncations() throws {
    let body = Array("{\"id\":1,\"n\":\"a\\n\"}\r\n\r\n{\"id\":22,\"n\":[1,{}]}\n{\"id\":3,\"n\":\"é\"}".utf8)
    let whole = ["{\"id\":1,\"n\":\"a\\n\"}", "{\"id\":22,\"n\":[1,{}]}", "{\"id\":3,\"n\":\"é\"}"]
    var silent: [Int] = []
    for end in 0..<body.count {
      let text = try read(Array(body[..<end]), .ndjson)
      if text.hasPrefix("[") {
        let count = (0..<3).first { text == "[" + whole[..<$0].joined(separator: ",\n") + "]" }
        #expect(count != nil, "cut at \(end): \(text)")
        silent.append(end)
      } else {
        #expect(text.contains(": line "), "cut at \(end): \(text)")
      }
    }
    // Only behind a whole line: there no reader can tell, and an answer without a length proves nothing.
    let first = whole[0].utf8.count
    let second = first + 4 + whole[1].utf8.count
    #expect(silent == [0, first, first + 1, first + 2, first + 3, first + 4, second, second + 1])
  }

  @Test("the nesting of a line may be as deep as that of a document, but for the list around it")
  func depth() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(try read(nested(1023), .ndjson).hasPrefix("[[["))
    #expect(
      try read(nested(1025), .ndjson).contains("line 1: the document is nested more than 1,024 levels deep"))
  }

  @Test("a hundred thousand lines, and a line of a megabyte")
  func large() throws {
    let many = String(repeating: "{\"a\":1}\n", count: 100_000)
    #expect(try JSONDocument.parse(Array(read(many, .ndjson).utf8)).root.count == 100_000)
    let long = "{\"a\":\"\(String(repeating: "x", count: 1 << 20))\"}\n"
    #expect(try read(long + long, .ndjson).utf8.count == 2 * long.utf8.count + 2)
  }
}
