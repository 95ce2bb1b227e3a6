import JSON
import TestSupport
import Testing

@testable import SyncEngine

@Suite("CSV", .once)
struct DelimitedTextTests {
  @Test(
    "rows become objects of texts",
    arguments: [
      ("a,b\n1,2\n", #"[{"a":"1","b":"2"}]"#),
      ("a,b\r\n1,2\r\n3,4\r\n", #"[{"a":"1","b":"2"},{"a":"3","b":"4"}]"#),
      ("a,b\n1,2", #"[{"a":"1","b":"2"}]"#),
      ("a,b\n1,", #"[{"a":"1","b":""}]"#),
      ("a,b\n,\n", #"[{"a":"","b":""}]"#),
      ("a,b\n", "[]"), ("a,b", "[]"),
      ("a\n\nx\n", #"[{"a":""},{"a":"x"}]"#),
      ("a,b\n\n1,2\n\r\n\n", #"[{"a":"1","b":"2"}]"#),
      ("a,b\n\"x,y\",\"say \"\"hi\"\"\"\n", #"[{"a":"x,y","b":"say \"hi\""}]"#),
      ("a,b\n\"1\r\n2\n\",\"\"\n", #"[{"a":"1\u000d\u000a2\u000a","b":""}]"#),
      ("a,b\n\"\"\"\",\" x \"\n", #"[{"a":"\"","b":" x "}]"#),
      ("\"a \"\"1\"\"\",\"b,c\"\nx, y \n", #"[{"a \"1\"":"x","b,c":" y "}]"#),
      ("\u{FEFF}a,b\n1,2\n", #"[{"a":"1","b":"2"}]"#),
      ("\u{FEFF}\"a\",b\n1,2\n", #"[{"a":"1","b":"2"}]"#),
      ("a,b\n\\n,\t\u{1}\n", #"[{"a":"\\n","b":"\u0009\u0001"}]"#),
      ("ä,b\n日本,é\n", #"[{"ä":"日本","b":"é"}]"#),
      ("a,,\n1,2,3\n", #"[{"a":"1"}]"#),
      ("a,\n1,2\n", #"[{"a":"1","":"2"}]"#),
    ])
  func rows(body: String, text: String) throws { #expect(try read(body, .csv()) == text) }

  @Test("another separator, and names that are given")
  func options() throws {
    #expect(try read("a;b\n1,5;2\n", .csv(separator: ";")) == #"[{"a":"1,5","b":"2"}]"#)
    #expect(try read("a\tb\n1\t\"x\ty\"\n", .csv(separator: "\t")) == #"[{"a":"1","b":"x\u0009y"}]"#)
    #expect(try read("1,2\n3,4\n", .csv(header: ["x", "y"])) == #"[{"x":"1","y":"2"},{"x":"3","y":"4"}]"#)
    #expect(try read("", .csv(header: ["x", "y"])) == "[]")
  }

  @Test(
    "what is no CSV is named by its line",
    arguments: [
      ("", "is empty"), ("\r\n\n", "is empty"),
      ("a,b\n1,2\n3\n", "line 3: it has 1 field, where there are 2 columns"),
      ("a,b\n1,2,3\n", "line 2: it has 3 fields, where there are 2 columns"),
      ("a,b\n\"x\ny\",2\n1\n", "line 4: it has 1 field, where there are 2 columns"),
      ("a,b\n1,2\n\"3,4\n5,6\n", "line 3: a quoted field that begins here has no end"),
      ("a,b\n1,x\"y\n", "line 2: a quote stands in a field that does not begin with one"),
      ("a,b\n1,\"x\"y\n", "line 2: something follows the closing quote of a field"),
      ("a,b\n1, \"x\"\n", "line 2: a quote stands in a field that does not begin with one"),
      ("a,b\r1,2\r", "line 1: a carriage return stands without a line feed"),
      ("a,b\n1,2\r", "line 2: a carriage return stands without a line feed"),
      ("a,a\n1,2\n", "the header has the column \"a\" twice"),
      (#"{"error":"quota"}"#, "line 1: a quote stands in a field that does not begin with one"),
    ])
  func faults(body: String, reason: String) throws {
    let message = try read(body, .csv())
    #expect(message.contains(reason), "\(message)")
    #expect(message.contains("not CSV (HTTP 200)"), "\(message)")
  }

  @Test("a page of something else is no header, though it has no row")
  func wrongHeader() throws {
    let keys = [["id"], ["placeID", "place_id"]]
    #expect(try read("id,place_id\n", .csv(), keys: keys) == "[]")
    let message = try read("Service unavailable", .csv(), keys: keys)
    #expect(
      message
        == #"the body is not CSV (HTTP 200): the header has no column "id"; it has "Service unavailable"; it begins with Service unavailable"#,
      "\(message)")
    #expect(
      try read("id,b\n", .csv(), keys: keys).contains(#"no column "placeID" or "place_id"; it has "id", "b""#)
    )
    #expect(
      try read("<!DOCTYPE html><html></html>", .csv(header: ["id"]), type: "text/html")
        == "the body is HTML, not CSV (HTTP 200, text/html); it begins with <!DOCTYPE html><html></html>")
  }

  @Test("a separator that cannot be one, and a header that names a column twice, are refused")
  func declarations() {
    for separator: Character in ["\"", "\n", "\r\n", "é"] {
      #expect(BodyFormat.csv(separator: separator).fault != nil)
    }
    #expect(BodyFormat.csv(header: []).fault != nil)
    #expect(BodyFormat.csv(header: ["a", "a"]).fault != nil)
    #expect(BodyFormat.csv(separator: "|", header: ["a"]).fault == nil)
  }

  @Test("cut at any byte without a length, there is an error, or whole rows up to a line's end")
  func truncations() throws {
    let body = Array("id,n\r\n1,\"a\"\"\r\n,b\"\r\n22,é\r\n3,\"\"\r\n".utf8)
    let rows = [#"{"id":"1","n":"a\"\u000d\u000a,b"}"#, #"{"id":"22","n":"é"}"#, #"{"id":"3","n":""}"#]
    var silent: [Int] = []
    for end in 0..<body.count {
      let text = try read(Array(body[..<end]), .csv(), headers: withoutLength)
      if text.hasPrefix("[") {
        let isWhole = (0..<3).contains { text == "[" + rows[..<$0].joined(separator: ",") + "]" }
        #expect(isWhole, "cut at \(end): \(text)")
        silent.append(end)
      }
    }
    // Behind a line break no reader can tell, and an answer without a length proves nothing.
    #expect(silent == [6, 19, 26])
    // Where the length is known, nothing is cut, and a last line without a line break is a row.
    #expect(try read("id,n\n1,a", .csv(), headers: ["Content-Length": "8"]) == #"[{"id":"1","n":"a"}]"#)
    #expect(
      try read("id,n\n1,a", .csv(), headers: withoutLength).contains(
        "line 2: it has no line break, and the answer has no length: it may have been cut short"))
  }

  @Test("ten thousand columns, and a field of a megabyte")
  func large() throws {
    let names = (0..<10_000).map { "c\($0)" }
    let wide = names.joined(separator: ",") + "\n" + names.joined(separator: ",") + "\n"
    let document = try JSONDocument.parse(Array(read(wide, .csv()).utf8))
    #expect(document.root[0]?.count == 10_000)
    #expect(document.root[0]?["c9999"]?.string == "c9999")
    let field = String(repeating: "x\"\"\n", count: 1 << 18)
    let long = try JSONDocument.parse(Array(read("a,b\n1,\"\(field)\"\n", .csv()).utf8))
    #expect(long.root[0]?["b"]?.string?.utf8.count == 3 << 18)
  }

  @Test("bytes that are not UTF-8 are an error")
  func notUTF8() throws {
    let message = try read(Array("a\ncaf".utf8) + [0xE9, 0x0A], .csv())
    #expect(message.contains("the body is not UTF-8"), "\(message)")
  }
}
