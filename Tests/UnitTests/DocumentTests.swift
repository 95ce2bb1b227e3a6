import Foundation
import JSON
import TestSupport
import Testing

/// RFC 8259, accepted and refused.
@Suite("JSON documents")
struct DocumentTests {
  @Test(
    "legal documents are accepted",
    arguments: [
      "0", "-0", "1E+2", "1e-2", "0.1", "-12.50e007", "18446744073709551616", "1e400", "true", "false",
      "null", "\"\"",
      "[]", "{}", " [ ] ", "\t{\r\n}\n", #"["\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"]"#, #"["\ud800"]"#,
      #"{"a":1,"a":2}"#,
      "[1,[2,[3,[]]],{}]", #"{"":{"":[]}}"#, "[\"\u{7f}é漢😀\"]", "\u{FEFF}[1]", "[\"a,b]:{}\"]",
    ])
  func accepted(_ text: String) throws { _ = try JSONDocument.parse(Array(text.utf8)) }

  @Test(
    "everything else is refused",
    arguments: [
      "", " ", "01", "-", "+1", ".5", "1.", "1.e1", "1e", "1e+", "0x1", "NaN", "Infinity", "-Infinity", "1 2",
      "True",
      "tru", "nul", "nulll", "truefalse", "'a'", "\"a", "a\"", #""\x""#, #""\u12""#, #""\u12G4""#, #""\"#,
      "[", "]", "[1",
      "[1,]", "[,1]", "[1 2]", "[1:2]", "[1}", "{", "}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{,"a":1}"#,
      #"{a:1}"#,
      #"{"a":1 "b":2}"#, #"{"a" 1}"#, #"{1:1}"#, #"["a"b]"#, #"[1"a"]"#, #"["a""b"]"#, #"[true"x"]"#, "[1]x",
      "[1][2]",
      "{}{}", "[\"\n\"]", "[\"\t\"]", "[\"\u{0}\"]", "//c\n1", "[1,/**/2]", "\u{FEFF}", "\u{FEFF}\u{FEFF}1",
      "[\u{A0}1]",
    ])
  func refused(_ text: String) {
    #expect(throws: JSONError.self) { try JSONDocument.parse(Array(text.utf8)) }
  }

  @Test("bytes that are not UTF-8 are refused: overlong, surrogates, cut, beyond U+10FFFF")
  func invalidUTF8() {
    let bad: [[UInt8]] = [
      [0xC0, 0x80], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xC3], [0xE2, 0x82],
      [0x80], [0xFF],
    ]
    for bytes in bad {
      let body = [UInt8(ascii: "["), UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\""), UInt8(ascii: "]")]
      #expect(throws: JSONError.self, "\(bytes)") { try JSONDocument.parse(body) }
    }
  }

  @Test("1,024 levels are read, 1,025 are refused")
  func depth() throws {
    func nested(_ levels: Int) -> [UInt8] {
      Array(repeating: UInt8(ascii: "["), count: levels) + Array(repeating: UInt8(ascii: "]"), count: levels)
    }
    _ = try JSONDocument.parse(nested(1024))
    #expect(throws: JSONError.self) { try JSONDocument.parse(nested(1025)) }
  }

  @Test("tokens keep every digit, strings every character, the last of two equal keys counts")
  func values() throws {
    let root = try JSONDocument.parse(
      Array(
        #"{"n":[1.10,1e400,18446744073709551616,-0],"s":"\u00e9\ud83d\ude00\n\"","lone":"\ud800x","k":1,"k":2,"o":{"a":[]},"e\u0073c":true}"#
          .utf8)
    ).root
    #expect((0..<4).map { root["n"]?[$0]?.token } == ["1.10", "1e400", "18446744073709551616", "-0"])
    #expect(root["n"]?[2]?.int64 == nil)
    #expect(root["s"]?.string == "é😀\n\"")
    #expect(root["lone"]?.string == nil)
    #expect(root["k"]?.int64 == 2)
    #expect(root.member("k")?.count == 2)
    #expect(root["esc"]?.bool == true)
    #expect(root["o"]?["a"]?.count == 0)
    #expect(root["o"]?.text == #"{"a":[]}"#)
    #expect(root["n"]?[4] == nil)
    #expect(root.count == 7)
  }

  @Test("damage at every byte of a document is judged as Python's json judges it")
  func damage() throws {
    let documents = [
      #"{"a":[1,-2.5e3,true,null,"x\u0041\n"],"b":{"c":""}}"#, #"[{"id":10,"v":"é"},{"id":0.1,"v":false}]"#,
      #""\ud83d\ude00""#,
      " [ ] ",
    ]
    var variants: [[UInt8]] = []
    for document in documents {
      let bytes = Array(document.utf8)
      for index in bytes.indices {
        variants.append(Array(bytes[..<index]))
        variants.append(Array(bytes[..<index] + bytes[(index + 1)...]))
        variants.append(Array(bytes[...index] + bytes[index...]))
        for replacement in Array("{}[]:,\"\\0-.eE+u tn\n".utf8) + [0x00, 0x1F, 0x80, 0xC3, 0xFF] {
          var changed = bytes
          changed[index] = replacement
          variants.append(changed)
        }
      }
    }
    // The oracle: one process for the whole batch, a line of hexadecimal digits for each variant.
    let script = """
      import sys, json
      def no(x): raise ValueError(x)
      out = []
      for line in sys.stdin:
          try:
              json.loads(bytes.fromhex(line.strip()).decode("utf-8"), parse_constant=no)
              out.append("1")
          except ValueError:
              out.append("0")
      print("".join(out))
      """
    let input = variants.map { $0.map { String(format: "%02x", $0) }.joined() }.joined(separator: "\n") + "\n"
    let folder = try TemporaryFolder()
    try input.write(toFile: folder.path + "/in", atomically: true, encoding: .utf8)
    try script.write(toFile: folder.path + "/oracle.py", atomically: true, encoding: .utf8)
    let verdicts = try Shell.result(["sh", "-c", "python3 \(folder.path)/oracle.py < \(folder.path)/in"])
      .output
    let expected = verdicts.filter { $0 == "0" || $0 == "1" }.map { $0 == "1" }
    #expect(expected.count == variants.count)
    let parser = JSONParser()
    var wrong: [String] = []
    for (variant, isLegal) in zip(variants, expected) {
      let isAccepted = (try? parser.parse(variant)) != nil
      if isAccepted != isLegal {
        wrong.append("\(isLegal ? "refused" : "accepted"): \(String(decoding: variant, as: UTF8.self))")
      }
    }
    #expect(
      wrong.isEmpty, "\(wrong.count) of \(variants.count):\n\(wrong.prefix(20).joined(separator: "\n"))")
  }
}
