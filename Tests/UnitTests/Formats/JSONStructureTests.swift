import TestSupport
import Testing

@testable import JSON

/// Every kind of damage at every structural place of several documents, judged by Python's `json` module.
///
/// Python is told to be as strict as RFC 8259 where by itself it is laxer: it takes NaN, Infinity and -Infinity, and it
/// reads text, so that UTF-8 is checked before. Half surrogate pairs are legal escapes to both. A leading byte order
/// mark, which Python refuses, is taken off for it.
@Suite(.once)
struct JSONStructureTests {
  /// A token of a legal document, or the white space between two.
  struct Piece {
    var isString: Bool
    var bytes: [UInt8]
  }

  static let documents: [[Piece]] = [
    #"{"a":1,"b":[true,false,null,-1.5e+3],"c":{"d":"e"}}"#,
    #" [ "a" , 0 , { } , [ ] , 1E5 , "\\" ] "#,
    #"["\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00","é€😀"]"#,
    #"{"data":{"results":[{"id":10,"k\u0065y":"","x":{}},{"id":-0.25,"key":null}],"next":"\/p?a=1"},"n":0e-1}"#,
    "[[[],[[1]]],{\"k\":{\"k\":[{}]}},\n\t\"\"]", "\"\\ud800x\"", "-0.10e-2", "true",
  ].map { pieces(Array($0.utf8)) }

  /// Bytes that are not UTF-8, one of each class.
  static let invalidUTF8: [[UInt8]] = [
    [0x80], [0xBF], [0xC3], [0xC3, 0x28], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
    [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x9F, 0x98],
    [0xF0, 0x9F, 0x28, 0x80], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80],
    [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80], [0xFE],
    [0xFF], [0xC3, 0xA9, 0xA9], [0xF0, 0x9F, 0x98, 0x80, 0x80],
  ]

  static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  @Test("a token that is missing, doubled, swapped with another or replaced by another")
  func tokens() throws {
    let others = [
      "{", "}", "[", "]", ",", ":", "\"s\"", "\"\"", "1", "-2.5", "true", "null", "\"", "\\", ";", "=", "'s'",
      "()",
      ",,", "::", "{}", "[]", ",]", ",}", "{,", "[,", "\"k\":", "\"k\":1", ":1", "s",
    ].map { Array($0.utf8) }
    var bodies: [[UInt8]] = []
    for document in Self.documents {
      for index in document.indices {
        let before = Self.joined(document[..<index])
        let token = document[index].bytes
        let after = Self.joined(document[(index + 1)...])
        bodies += [before + after, before + token + token + after, before, after, before + token]
        for other in others {
          bodies += [before + other + after, before + other + token + after, before + token + other + after]
        }
        for second in document.indices where second > index {
          var swapped = document
          swapped.swapAt(index, second)
          bodies.append(Self.joined(swapped[...]))
        }
      }
    }
    try compare(bodies)
  }

  @Test("a string with quotes, escapes and control characters out of place")
  func strings() throws {
    var insertions = (0...0x20).map { [UInt8($0)] } + [[0x7F], Array("\u{80}".utf8), Array("\u{2028}".utf8)]
    insertions += (0...0x7F).map { [UInt8(ascii: "\\"), UInt8($0)] }
    insertions += [
      "\"", "\"\"", "\\", "\\\\\\", "\\u", "\\u0", "\\u00", "\\u004", "\\u0041", "\\u00e9", "\\u00E9",
      "\\u00g9",
      "\\u 041", "\\u+041", "\\u-041", "\\u0x41", "\\U0041", "\\u{41}", "\\ud800", "\\udc00",
      "\\uDBFF\\uDFFF",
      "\\ud800\\ud800", "\\ud800\\u0041", "\\ud800\\u12", "\\ud800\\", "\\ud800\\\"", "\\udc00\\ud800",
      "\\u0000",
      "\\\u{E9}", "\\u\u{E9}041", "\\x41", "\\101", "'", "//", "/*", "\\\n", "\\\r\n", "\u{201D}", "\u{FEFF}",
    ].map { Array($0.utf8) }
    var bodies: [[UInt8]] = []
    for document in Self.documents {
      for index in document.indices where document[index].isString {
        let before = Self.joined(document[..<index])
        let string = document[index].bytes
        let after = Self.joined(document[(index + 1)...])
        // Quotes of other kinds, and none.
        for quote in ["", "'", "`", "\u{201C}", "\\\"", "\"\""].map({ Array($0.utf8) }) {
          bodies.append(before + quote + string.dropFirst() + after)
          bodies.append(before + string.dropLast() + quote + after)
          bodies.append(before + quote + string.dropFirst().dropLast() + quote + after)
        }
        // Three places will do for each insertion, and every place for the most frequent.
        for place in Set([1, string.count / 2 + 1, string.count - 1]) where place >= 1 && place < string.count
        {
          for insertion in insertions {
            bodies.append(before + string[..<place] + insertion + string[place...] + after)
          }
        }
        for place in 1..<string.count {
          for insertion in ["\"", "\\", "\n", "\u{0}", "\\u12"].map({ Array($0.utf8) }) {
            bodies.append(before + string[..<place] + insertion + string[place...] + after)
          }
          bodies.append(before + string[..<place] + string[(place + 1)...] + after)
        }
      }
    }
    try compare(bodies)
  }

  @Test("a number with a part missing, doubled or of another notation")
  func numbers() throws {
    let signs = ["", "-", "+", "--", "-+", "- ", "\u{2212}"]
    let wholes = ["", "0", "7", "10", "00", "01", "0x1", "1_0", "1 0", "1,0", "\u{FF11}", "\u{661}"]
    let fractions = ["", ".", ".0", ".50", "..5", ".5.", ".-5", ",5", ". 5", ".e"]
    let exponents = [
      "", "e", "E", "e1", "E+2", "e-02", "e+", "e--1", "e+-1", "ee1", "e1.5", "e 1", "e1e1", "p1", "f",
    ]
    var tokens = [
      "NaN", "Infinity", "-Infinity", "-NaN", "nan", "inf", "0b1", "0o7", "1n", "1L", "1d", "#1", "1%",
    ]
    for sign in signs {
      for whole in wholes {
        for fraction in fractions {
          for exponent in exponents { tokens.append(sign + whole + fraction + exponent) }
        }
      }
    }
    var bodies: [[UInt8]] = []
    for (index, token) in tokens.enumerated() {
      let text = Array(token.utf8)
      bodies.append(text)
      let surroundings: [(String, String)] = [
        ("[", "]"), ("{\"a\":", "}"), ("[0,", ",0]"), ("{\"a\":[ ", " ],\"b\":\"\"}"), ("[\"a\",", "]"),
        ("", " "),
      ]
      let (before, after) = surroundings[index % surroundings.count]
      bodies.append(Array(before.utf8) + text + Array(after.utf8))
    }
    try compare(bodies)
  }

  @Test("a word with a letter missing, doubled, wrong or too many")
  func words() throws {
    var words: [[UInt8]] = []
    for word in ["true", "false", "null"].map({ Array($0.utf8) }) {
      for index in word.indices {
        let (before, after) = (word[..<index], word[(index + 1)...])
        words += [Array(before + after), Array(before), Array(before + [word[index], word[index]] + after)]
        for byte in (0...0x7F).map({ UInt8($0) }) + [0xC3] {
          words += [Array(before + [byte] + after), Array(before + [byte] + word[index...])]
        }
      }
      for byte in UInt8(0)...0x7F { words.append(word + [byte]) }
    }
    var bodies: [[UInt8]] = []
    for (index, word) in words.enumerated() {
      let (before, after) = [("[", "]"), ("{\"a\":", "}"), ("", ""), ("[0,", ",0]")][index % 4]
      bodies.append(Array(before.utf8) + word + Array(after.utf8))
    }
    try compare(bodies)
  }

  @Test("what is no white space, between all tokens; bytes that are not UTF-8, in them and between them")
  func foreign() throws {
    let spaces =
      [
        "\u{B}", "\u{C}", "\u{0}", "\u{1}", "\u{8}", "\u{1A}", "\u{1C}", "\u{1F}", "\u{7F}", "\u{85}",
        "\u{A0}",
      ]
      + [
        "\u{1680}", "\u{2003}", "\u{200B}", "\u{2028}", "\u{2060}", "\u{3000}", "\u{FEFF}", "\u{E9}",
        "\u{1F600}",
      ]
      + ["//\n", "/**/", "# \n", "<!---->", ";", "\\n", "\\u0020", " ", "\t", "\r\n", "\n\n"]
    let insertions =
      spaces.map { Array($0.utf8) } + Self.invalidUTF8 + [Array(Self.mark[..<2]), Self.mark + Self.mark]
    var bodies: [[UInt8]] = []
    for document in Self.documents {
      let whole = Self.joined(document[...])
      var place = 0
      for piece in document {
        for insertion in insertions { bodies.append(whole[..<place] + insertion + whole[place...]) }
        if piece.bytes.count > 1 {
          let middle = place + piece.bytes.count / 2
          for insertion in insertions { bodies.append(whole[..<middle] + insertion + whole[middle...]) }
        }
        place += piece.bytes.count
      }
      for insertion in insertions { bodies.append(whole + insertion) }
    }
    try compare(bodies)
  }

  @Test("an end after every byte, and a beginning before every byte")
  func truncation() throws {
    var bodies: [[UInt8]] = []
    for document in Self.documents {
      let whole = Self.joined(document[...])
      for index in 0...whole.count {
        bodies += [Array(whole[..<index]), Array(whole[index...]), Array(whole[..<index]) + [0x22]]
        bodies += [
          Array(whole[..<index]) + [0x7D], Array(whole[..<index]) + [0x5D], Self.mark + whole[..<index],
        ]
      }
    }
    try compare(bodies)
  }

  // MARK: Judging

  /// Each body as it is, and once more behind white space: simdjson reads blocks of 64 bytes.
  private func compare(_ bodies: [[UInt8]]) throws {
    var all: [[UInt8]] = []
    for (index, body) in bodies.enumerated() {
      all.append(body)
      let marked = body.starts(with: Self.mark)
      let padding = [UInt8](repeating: 0x20, count: 1 + index % 67)
      all.append(marked ? Self.mark + padding + body.dropFirst(3) : padding + body)
    }
    let expected = try PythonOracle.lines(Self.program, all.map { Hexadecimal.text($0) })
    let parser = JSONParser()
    var differences: [String] = []
    var accepted = 0
    for (body, expected) in zip(all, expected) {
      let actual = Self.outline(try? parser.parse(body))
      if actual != "refused" { accepted += 1 }
      if actual != expected {
        differences.append("\(String(decoding: body, as: UTF8.self)) [\(body)]: \(actual), not \(expected)")
      }
    }
    if !differences.isEmpty {
      Issue.record("\(differences.count) of \(all.count): \(differences.prefix(10).joined(separator: "\n"))")
    }
    #expect(accepted > 20 && accepted < all.count / 2, "\(accepted) of \(all.count) are legal")
  }

  /// The nodes in document order: containers with the number of nodes in them, texts in hexadecimal, number tokens.
  private static func outline(_ document: JSONDocument?) -> String {
    guard let document else { return "refused" }
    return document.withTape { tape in
      var nodes: [String] = []
      for index in 0..<tape.next(0) {
        switch tape.kind(index) {
        case .object: nodes.append("{\(tape.next(index) - index - 1)")
        case .array: nodes.append("[\(tape.next(index) - index - 1)")
        case .string: nodes.append(tape.string(index).map { "'" + Hexadecimal.text($0.utf8) } ?? "?")
        default: nodes.append(String(decoding: tape.raw(index), as: UTF8.self))
        }
      }
      return nodes.joined(separator: " ")
    }
  }

  private static let program = """
    import json, sys
    class Pairs(list): pass
    def refuse(word): raise ValueError(word)
    def nodes(v):
        if isinstance(v, Pairs):
            inner = [n for k, x in v for n in nodes(k) + nodes(x)]
            return ["{%d" % len(inner)] + inner
        if isinstance(v, list):
            inner = [n for x in v for n in nodes(x)]
            return ["[%d" % len(inner)] + inner
        if isinstance(v, tuple): return [v[0]]
        if isinstance(v, str):
            return ["?" if any(0xD800 <= ord(c) < 0xE000 for c in v) else "'" + v.encode().hex()]
        return [{True: "true", False: "false", None: "null"}[v]]
    number = lambda token: (token,)
    decoder = json.JSONDecoder(
        object_pairs_hook=Pairs, parse_int=number, parse_float=number, parse_constant=refuse)
    for line in sys.stdin.readlines():
        body = bytes.fromhex(line.strip())
        if body[:3] == bytes([0xEF, 0xBB, 0xBF]): body = body[3:]
        try: print(" ".join(nodes(decoder.decode(body.decode("utf-8")))))
        except ValueError: print("refused")
    """

  // MARK: Documents

  private static func joined(_ pieces: ArraySlice<Piece>) -> [UInt8] { pieces.flatMap(\.bytes) }

  /// The pieces of a legal document.
  private static func pieces(_ document: [UInt8]) -> [Piece] {
    var pieces: [Piece] = []
    var index = 0
    while index < document.count {
      let start = index
      index += 1
      switch document[start] {
      case UInt8(ascii: "\""):
        while document[index] != UInt8(ascii: "\"") { index += document[index] == UInt8(ascii: "\\") ? 2 : 1 }
        index += 1
      case let byte where byte > 0x20 && !"{}[],:".utf8.contains(byte):
        while index < document.count, document[index] > 0x20, !",:]}".utf8.contains(document[index]) {
          index += 1
        }
      default: break
      }
      pieces.append(
        Piece(isString: document[start] == UInt8(ascii: "\""), bytes: Array(document[start..<index])))
    }
    return pieces
  }
}
