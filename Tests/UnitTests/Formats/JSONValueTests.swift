import Testing

@testable import JSON

/// What a legal document says.
struct JSONValueTests {
  private func root(_ text: String) throws -> JSONValue { try JSONDocument.parse(Array(text.utf8)).root }

  @Test("numbers keep their token")
  func tokens() throws {
    for token in ["18446744073709551616", "1e400", "1E+2", "1.10", "-0", "-0.0", "0e0", "1e-400", "0.1"] {
      #expect(try root(token).token == token)
      #expect(try root("[ \(token) ]")[0]?.token == token)
    }
    #expect(try root("1.0").kind == .decimal)
    #expect(try root("1e2").kind == .decimal)
    #expect(try root("-0").kind == .integer)
    #expect(try root("\"1\"").token == nil)
  }

  @Test("integers of 64 bits")
  func integers() throws {
    #expect(try root("9223372036854775807").int64 == .max)
    #expect(try root("-9223372036854775808").int64 == .min)
    #expect(try root("9223372036854775808").int64 == nil)
    #expect(try root("-9223372036854775809").int64 == nil)
    #expect(try root("-0").int64 == 0)
    #expect(try root("1.0").int64 == nil)
    #expect(try root("true").int64 == nil)
  }

  @Test("escapes are undone")
  func escapes() throws {
    #expect(try root(#""\"\\\/\b\f\n\r\t""#).string == "\"\\/\u{8}\u{C}\n\r\t")
    #expect(try root(#""\u0041\u00e9\u20AC\uD83D\uDE00\uDBFF\uDFFF""#).string == "Aé€😀\u{10FFFF}")
    #expect(try root(#""a\u0000b""#).string == "a\0b")
    #expect(try root(#""\\u0041""#).string == "\\u0041")
    #expect(try root(#""\uFFFF\uFFFD\ufeff""#).string == "\u{FFFF}\u{FFFD}\u{FEFF}")
    #expect(try root(#""\uD83D\uDE00\n""#).string == "😀\n")
    for text in [#""\uD83D""#, #""\uDE00""#, #""\uDE00\uD83D""#, #""\uD83D\n""#, #""\uD83D\uD83D\uDE00""#] {
      #expect(try root(text).string == nil)
      #expect(try root(text).text == text)
    }
    // Canonically equivalent texts are different JSON strings and keys.
    #expect(try root("{\"\u{E9}\":1}")["e\u{301}"] == nil)
  }

  @Test("members, the last of a key that stands twice")
  func members() throws {
    let value = try root(#"{"a":1,"b":{"a":9},"\u0061":2,"\ud800":3,"c.d":4,"":5}"#)
    #expect(value["a"]?.token == "2")
    #expect(value.member("a")?.count == 2)
    #expect(value.member("b")?.count == 1)
    #expect(value["c.d"]?.token == "4")
    #expect(value[""]?.token == "5")
    #expect(value["A"] == nil)
    #expect(value[0] == nil)
    #expect(value.count == 6)
    #expect(value.members.map(\.key) == ["a", "b", "a", "c.d", ""])
    #expect(
      value.entries.map(\.key.text)
        == [#""a""#, #""b""#, #""\u0061""#, #""\ud800""#, #""c.d""#, #""""#])
    #expect(value.entries.map(\.value.text) == ["1", #"{"a":9}"#, "2", "3", "4", "5"])
    #expect(try root("[1]").entries.isEmpty)
    #expect(try root("[1]")["a"] == nil)
  }

  @Test("elements")
  func elements() throws {
    let value = try root(#"[[1,2],{"a":[3]},"x",null,true,false]"#)
    #expect(value.count == 6)
    #expect(value[0]?[1]?.token == "2")
    #expect(value[1]?["a"]?[0]?.text == "3")
    #expect(value[2]?.string == "x")
    #expect(value[3]?.isNull == true)
    #expect(value[4]?.bool == true)
    #expect(value[5]?.bool == false)
    #expect(value[6] == nil)
    #expect(value[Int.max] == nil)
    #expect(value[3]?.bool == nil)
    #expect(value[1]?.text == #"{"a":[3]}"#)
  }
}
