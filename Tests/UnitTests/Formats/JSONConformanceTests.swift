import TestSupport
import Testing

@testable import JSON

/// RFC 8259, by accept and reject classes and by damage at every place.
@Suite(.once)
struct JSONConformanceTests {
  @Test(
    "legal texts",
    arguments: [
      "0", "-0", "1E+2", "1e2", "1e-2", "0.5", "-0.0", "0e0", "0E-0", "1.10", "18446744073709551616", "1e400",
      "true", "false", "null", "\"\"", "[]", "{}", " [ ] ", "\t{\n}\r", "[[],{}]", "[null]", "[1,2]",
      "{\"a\":1}", "{\"\":0}", "{\"a\":1,\"a\":2}", "{\"a\":{\"b\":[{}]}}", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
      "\"\\u0000\"", "\"\\uD83D\\uDE00\"", "\"\\ud83d\\ude00\"", "\"\\uD800\"", "\"\\uDC00\"",
      "\"\\uDC00\\uD800\"", "\"\\uD800\\uD800\\uDC00\"", "\"\u{7F}\"", "\"\u{80}\u{2028}\u{10FFFF}\"",
      "\"\u{FEFF}\"", "\"//\"", "\"{[,:]}\"", "[\"\\\\\",\"\\\"\"]",
    ])
  func accepted(_ text: String) throws {
    #expect(throws: Never.self) { try JSONDocument.parse(Array(text.utf8)) }
  }

  @Test(
    "illegal texts",
    arguments: [
      "", " ", "\n\t\r ", "01", "-01", "00", "+1", ".5", "1.", "-.5", "-", "--1", "1.e1", "1e", "1e+", "1E-",
      "1e1.5", "0x1", "0X1", "1_000", "1,5", "1 2", "NaN", "Infinity", "-Infinity", "-NaN", "inf", "1f", "1a",
      "\u{FF11}", "True", "TRUE", "tru", "truee", "true1", "nul", "nulll", "None", "undefined", "fals",
      "truefalse",
      "'a'", "\"", "\"a", "\"\\\"", "a\"", "\"\\a\"", "\"\\0\"", "\"\\x41\"", "\"\\'\"", "\"\\U0041\"",
      "\"\\u\"",
      "\"\\u004\"", "\"\\u004g\"", "\"\\u 041\"", "\"\\u+041\"", "\"\\uD800\\u12\"", "\"\\uD800\\\"",

      "\"\u{1F}\"", "\"\n\"", "\"\t\"", "\"a\\\nb\"", "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[,]",
      "[1,,2]",
      "[1 2]", "[1}", "{1}", "{]", "[}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\" 1}", "{\"a\",1}",
      "{\"a\":1 \"b\":2}", "{\"a\"::1}", "{a:1}", "{1:1}", "{null:1}", "{\"a\":1", "{\"a\":1]", "[\"a\":1]",
      "[\"a\"b]", "[1\"a\"]", "[\"a\"\"b\"]", "[\"a\"1]", "[true\"a\"]", "[true[]]", "[1[]]", "[[]1]",
      "[[][]]",
      "[{}{}]", "{\"a\"\"b\"}", "{\"a\"b:1}", "{\"a\":1b}", "\"a\"b", "\"a\"\"b\"", "1\"a\"", "[] []", "{}[]",
      "[],", "[]]", "{}}", "null,", "// c\n1", "1 // c", "/* */1", "#1", "\u{FEFF}\u{FEFF}1", "1\u{FEFF}",
      "\u{A0}1", "1\u{A0}", "\u{2028}1", "[\u{C}1]", "[1\u{B}]", "[1\u{C}2]",
      "{\"a\"\u{1A}1}",
      "[1\u{1A}]", "\\\"a\"", "[\\\"a\"]", "\\n1", "\\", "[\"a\"\\]", "-\"a\"", "[1-2]", "[1+2]", "[-]", "*",
      "[*]",
    ])
  func refused(_ text: String) throws {
    #expect(throws: JSONError.self) { try JSONDocument.parse(Array(text.utf8)) }
  }

  @Test("a zero byte stands nowhere")
  func zeroBytes() {
    for text in ["\0", "\"\0\"", "1\0", "\u{0}1", "[\0]", "[1,\0]", "{\0}", "tru\0", "true\0"] {
      #expect(throws: JSONError.self) { try JSONDocument.parse(Array(text.utf8)) }
    }
  }

  @Test(
    "bytes that are not UTF-8",
    arguments: [
      [0x80], [0xBF], [0xC3], [0xC3, 0x28], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80],
      [0xE0, 0x9F, 0xBF],
      [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80],
      [0xF0, 0x9F, 0x98],
      [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80],
      [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xE9],
    ] as [[UInt8]])
  func invalidUTF8(_ bytes: [UInt8]) throws {
    for padding in [0, 50, 60, 61, 62, 63, 64, 120] {
      let before = [UInt8](repeating: 0x20, count: padding)
      for body in [
        before + [0x22] + bytes + [0x22], before + [0x22, 0x61] + bytes, before + [0x31] + bytes,
        before + bytes,
        [0x5B, 0x22] + bytes + [0x22, 0x5D] + before,
      ] {
        #expect(throws: JSONError.self, "\(body)") { try JSONDocument.parse(body) }
      }
    }
    #expect(throws: JSONError(.invalidUTF8)) { try JSONDocument.parse([0x22] + bytes + [0x22]) }
  }

  @Test("a byte order mark is passed over once, and offsets count it")
  func byteOrderMark() throws {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let document = try JSONDocument.parse(mark + Array(#"{"a": "bé"}"#.utf8))
    #expect(document.root["a"]?.string == "bé")
    #expect(document.root.text == #"{"a": "bé"}"#)
    #expect(throws: JSONError(.empty)) { try JSONDocument.parse(mark) }
    #expect(throws: JSONError(.empty)) { try JSONDocument.parse(mark + [0x20]) }
    #expect(throws: JSONError(.invalidNumber, at: 4)) { try JSONDocument.parse(mark + Array("[01]".utf8)) }
    for part in 1...2 {
      #expect(throws: JSONError.self) { try JSONDocument.parse(mark.prefix(part) + [0x31]) }
    }
  }

  @Test("1,024 levels are allowed, one more is not")
  func nesting() throws {
    for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
      for (inner, levels) in [("1", 1024), ("[]", 1023), ("{}", 1023)] {
        func nested(_ count: Int) -> [UInt8] {
          Array((String(repeating: open, count: count) + inner + String(repeating: close, count: count)).utf8)
        }
        #expect(throws: Never.self) { try JSONDocument.parse(nested(levels)) }
        #expect { try JSONDocument.parse(nested(levels + 1)) } throws: {
          ($0 as? JSONError)?.reason == .tooDeep
        }
      }
    }
    #expect(throws: JSONError.self) { try JSONDocument.parse([UInt8](repeating: 0x5B, count: 100_000)) }
    // The levels of siblings do not add up.
    let wide = "[" + Array(repeating: "[[]]", count: 2000).joined(separator: ",") + "]"
    #expect(try JSONDocument.parse(Array(wide.utf8)).root.count == 2000)
  }

  @Test("a fault has a reason and a place")
  func reasons() throws {
    let expected: [(String, JSONError)] = [
      ("", JSONError(.empty)), ("  ", JSONError(.empty)), ("[1", JSONError(.truncated, at: 2)),
      (#"["a"#, JSONError(.truncated, at: 3)), ("[1] 2", JSONError(.trailing, at: 4)),
      ("[01]", JSONError(.invalidNumber, at: 1)), ("[nul]", JSONError(.invalidToken, at: 1)),
      ("[1,]", JSONError(.unexpected, at: 3)), ("[1:2]", JSONError(.unexpected, at: 2)),
      (#"[1,"\x"]"#, JSONError(.invalidEscape, at: 3)), ("\"\u{1}\"", JSONError(.controlCharacter)),
    ]
    for (text, error) in expected { #expect(throws: error) { try JSONDocument.parse(Array(text.utf8)) } }
  }
}

extension JSONError {
  fileprivate init(_ reason: Reason, at offset: Int? = nil) {
    self = JSONError.sample
    (self.reason, self.offset) = (reason, offset)
  }

  /// Any error, to be filled: the module has no initializer for others.
  private static var sample: JSONError {
    do throws(JSONError) { _ = try JSONDocument.parse([]) } catch { return error }
    fatalError("an empty body was accepted")
  }
}
