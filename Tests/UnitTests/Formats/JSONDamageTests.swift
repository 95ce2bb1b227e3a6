import TestSupport
import Testing

@testable import JSON

/// Damaged documents, judged by Python's `json` module.
@Suite(.once)
struct JSONDamageTests {
  @Test("every damage of a byte is judged, and every legal text read, as Python does")
  func damage() throws {
    let documents = [
      #"{"a":1,"b":[true,false,null,-1.5e+3],"c":{"d":"e"}}"#,
      #" [ "a" , 0 , { } , [ ] , 1E5 , "\\" ] "#,
      #"["\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00","é€😀"]"#,
      "\"\\ud800x\"", "-0.10e-2", "[[[[1]]],{\"k\":{\"k\":[]}}]",
    ]
    let replacements =
      Array("{}[],:\"\\/ \t\n\r019.-+eEtfnrulasbdxXN'".utf8) + [0, 8, 11, 12, 26, 31, 127]
      + [0x80, 0xA0, 0xBF, 0xC2, 0xE0, 0xED, 0xF0, 0xFF]
    var bodies: [[UInt8]] = []
    for document in documents {
      let whole = Array(document.utf8)
      for index in whole.indices {
        bodies.append(Array(whole[..<index]))
        bodies.append(Array(whole[..<index] + whole[(index + 1)...]))
        bodies.append(Array(whole[..<index] + [whole[index]] + whole[index...]))
        for byte in replacements {
          bodies.append(Array(whole[..<index] + [byte] + whole[(index + 1)...]))
          bodies.append(Array(whole[..<index] + [byte] + whole[index...]))
        }
      }
      for byte in replacements { bodies.append(whole + [byte]) }
      // simdjson reads 64 bytes at a time: every byte once at the border.
      for count in 1...130 { bodies.append([UInt8](repeating: 0x20, count: count) + whole) }
    }
    for count in 50...140 {
      for slashes in 0...5 {
        let text =
          "[\"" + String(repeating: "x", count: count) + String(repeating: "\\", count: slashes) + "\",1]"
        bodies.append(Array(text.utf8))
        bodies.append(Array((text + "\"]").utf8))
      }
    }
    try compare(bodies)
  }

  @Test("random sequences of tokens are judged as Python does")
  func tokens() throws {
    let tokens = [
      "{", "}", "[", "]", ",", ":", " ", "\"a\"", "\"\"", "\"\\n\"", "1", "-0", "1.5e3", "01", "true", "null",
      "fals",
      "\"a\":", "\"a\":1", "[1,2]", "\\", "\"", "{\"b\":[]}", "\u{C}", "\u{1A}", "é",
    ]
    var generator = SeededBytes(20_260_202)
    let bodies = (0..<20_000).map { _ in
      (0..<generator.below(9)).reduce(into: [UInt8]()) { body, _ in
        body += Array(tokens[generator.below(tokens.count)].utf8)
      }
    }
    try compare(bodies)
  }

  private func compare(_ bodies: [[UInt8]]) throws {
    let expected = try PythonOracle.lines(Self.program, bodies.map { Hexadecimal.text($0) })
    let parser = JSONParser()
    var differences: [String] = []
    for (body, expected) in zip(bodies, expected) {
      let actual = Self.form(try? parser.parse(body))
      if actual != expected {
        differences.append("\(String(decoding: body, as: UTF8.self)): \(actual), not \(expected)")
      }
    }
    #expect(differences.isEmpty, "\(differences.count): \(differences.prefix(10))")
    #expect(expected.contains("refused") && expected.contains { $0 != "refused" })
  }

  /// A document in the form of the Python program: strings in hexadecimal, numbers as they were written.
  private static func form(_ document: JSONDocument?) -> String {
    document?.withTape { form($0, 0) } ?? "refused"
  }

  private static func form(_ tape: JSONTape, _ index: Int) -> String {
    switch tape.kind(index) {
    case .string: tape.string(index).map { "'\(Hexadecimal.text($0.utf8))'" } ?? "?"
    case .array: "[" + children(tape, index).map { form(tape, $0) }.joined(separator: ",") + "]"
    case .object:
      "{" + children(tape, index).map { form(tape, $0) + ":" + form(tape, $0 + 1) }.joined(separator: ",")
        + "}"
    default: String(decoding: tape.raw(index), as: UTF8.self)
    }
  }

  private static func children(_ tape: JSONTape, _ index: Int) -> [Int] {
    var found: [Int] = []
    var child = index + 1
    while child < tape.next(index) {
      found.append(child)
      child = tape.next(tape.kind(index) == .object ? child + 1 : child)
    }
    return found
  }

  private static let program = """
    import json, sys
    class Pairs(list): pass
    def refuse(word): raise ValueError(word)
    def text(s):
        return "?" if any(0xD800 <= ord(c) < 0xE000 for c in s) else "'" + s.encode().hex() + "'"
    def show(v):
        if isinstance(v, Pairs): return "{" + ",".join(text(k) + ":" + show(x) for k, x in v) + "}"
        if isinstance(v, list): return "[" + ",".join(map(show, v)) + "]"
        if isinstance(v, tuple): return v[0]
        if isinstance(v, str): return text(v)
        return {True: "true", False: "false", None: "null"}[v]
    number = lambda token: (token,)
    decoder = json.JSONDecoder(
        object_pairs_hook=Pairs, parse_int=number, parse_float=number, parse_constant=refuse)
    for line in sys.stdin.readlines():
        try: print(show(decoder.decode(bytes.fromhex(line.strip()).decode("utf-8"))))
        except ValueError: print("refused")
    """
}
