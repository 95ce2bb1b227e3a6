import JSON
import TestSupport
import Testing

@testable import SyncEngine

@Suite("Charsets", .once)
struct CharsetTests {
  private static let text = "[\"café\"]"

  private static func wide(_ text: String, bytes: Int, big: Bool, mark: Bool) -> [UInt8] {
    let scalars: [UInt32] = bytes == 2 ? text.utf16.map { UInt32($0) } : text.unicodeScalars.map { $0.value }
    let units: [UInt32] = (mark ? [0xFEFF] : []) + scalars
    return units.flatMap { unit -> [UInt8] in
      let little = (0..<bytes).map { UInt8(truncatingIfNeeded: unit >> (8 * UInt32($0))) }
      return big ? little.reversed() : little
    }
  }

  private static func quoted(_ bytes: [UInt8]) -> [UInt8] { Array("[\"".utf8) + bytes + Array("\"]".utf8) }

  private static let latin1 = quoted([0x63, 0x61, 0x66, 0xE9])

  struct Encoded: Sendable {
    var name: String
    var body: [UInt8]
    var text: String

    init(_ name: String, _ body: [UInt8], _ text: String = CharsetTests.text) {
      (self.name, self.body, self.text) = (name, body, text)
    }
  }

  static let encodings: [Encoded] = [
    Encoded("ISO-8859-1", latin1), Encoded("iso-8859-1", latin1), Encoded("latin1", latin1),
    Encoded("ISO-8859-15", quoted([0xA4]), "[\"€\"]"),
    Encoded("windows-1252", quoted([0x80, 0x93, 0x94]), "[\"€“”\"]"),
    Encoded("windows-1251", quoted([0xEF, 0xF0, 0xE8]), "[\"при\"]"),
    Encoded("Shift_JIS", quoted([0x93, 0xFA, 0x96, 0x7B]), "[\"日本\"]"),
    Encoded("EUC-JP", quoted([0xC6, 0xFC, 0xCB, 0xDC]), "[\"日本\"]"),
    Encoded("GB18030", quoted([0xD6, 0xD0]), "[\"中\"]"),
    Encoded("US-ASCII", quoted([0x63]), "[\"c\"]"),
    Encoded("utf-8", Array(text.utf8)), Encoded("UTF8", Array(text.utf8)),
    Encoded("utf-16", wide(text, bytes: 2, big: true, mark: true)),
    Encoded("utf-16", wide(text, bytes: 2, big: false, mark: true)),
    Encoded("utf-16", wide(text, bytes: 2, big: true, mark: false)),
    Encoded("utf-16", wide(text, bytes: 2, big: false, mark: false)),
    Encoded("utf-16le", wide(text, bytes: 2, big: false, mark: true)),
    Encoded("utf-16be", wide("[\"😀\"]", bytes: 2, big: true, mark: false), "[\"😀\"]"),
    Encoded("utf-32", wide(text, bytes: 4, big: true, mark: true)),
    Encoded("utf-32", wide(text, bytes: 4, big: false, mark: true)),
    Encoded("utf-32", wide(text, bytes: 4, big: true, mark: false)),
    Encoded("UTF-32", wide(text, bytes: 4, big: false, mark: false)),
  ]

  @Test("a declared charset is undone before the body is read", arguments: encodings)
  func declared(_ encoded: Encoded) throws {
    let (name, body) = (encoded.name, encoded.body)
    #expect(try read(body, .json, type: "application/json; charset=\(name)") == encoded.text)
    #expect(try read(body, .ndjson, type: "text/x-ndjson;charset=\"\(name)\"") == "[\(encoded.text)]")
  }

  @Test(
    "the name is found however the field is written",
    arguments: [
      "text/csv; charset=ISO-8859-1", "text/csv;charset=iso-8859-1",
      "text/csv; header=present; charset=latin1",
      "text/csv; Charset = \"ISO-8859-1\"", "text/csv; charset='latin1'", "text/csv; charset=latin1; x=y",
      "text/csv; charset=latin1, text/csv",
    ])
  func spellings(type: String) throws {
    #expect(try read(Array("a\ncaf".utf8) + [0xE9, 0x0A], .csv(), type: type) == #"[{"a":"café"}]"#)
  }

  @Test("no charset is UTF-8, and so is an empty one; bytes that are not UTF-8 are an error")
  func none() throws {
    for type in [nil, "application/json", "application/json; charset=", "application/json; x=charset"] {
      #expect(try read(Array(Self.text.utf8), .json, type: type) == Self.text)
      #expect(
        try read(Self.latin1, .json, type: type).contains(
          "the body is not UTF-8"))
    }
  }

  @Test("a byte order mark of UTF-8 is passed over, and says more than the header")
  func mark() throws {
    let body: [UInt8] = [0xEF, 0xBB, 0xBF] + Array(Self.text.utf8)
    #expect(try read(body, .json) == Self.text)
    #expect(try read(body, .json, type: "application/json; charset=iso-8859-1") == Self.text)
  }

  @Test(
    "an unknown charset fails with its name",
    arguments: ["klingon", "UTF-8//IGNORE", "ISO-8859-1/", "a b", "x\u{1B}[31m"])
  func unknown(name: String) throws {
    let message = try read(Array(Self.text.utf8), .json, type: "application/json; charset=\(name)")
    #expect(message.contains("the charset \"\(name)\" is unknown"), "\(message)")
  }

  @Test("bytes that are not in the charset fail with its name and their place")
  func notInIt() throws {
    func fault(_ body: [UInt8], _ name: String) throws -> String {
      try read(body, .json, type: "application/json; charset=\(name)")
    }
    #expect(
      try fault(Self.quoted([0x81]), "windows-1252").contains(
        "the body is not in its charset \"windows-1252\" (at byte 2)"))
    #expect(
      try fault(Array("[\"é\"]".utf8), "us-ascii").contains("not in its charset \"us-ascii\" (at byte 2)"))
    #expect(try fault(Array("[\"".utf8) + [0x93], "Shift_JIS").contains("charset \"Shift_JIS\" (at byte 2)"))
    // Half a unit, half a pair.
    #expect(try fault([0x00, 0x5B, 0x00], "utf-16").contains("charset \"utf-16\" (at byte 2)"))
    #expect(try fault([0x00, 0x22, 0xD8, 0x3D], "utf-16").contains("charset \"utf-16\" (at byte 2)"))
    #expect(try fault([0xFE, 0xFF, 0x00, 0x5B, 0x00], "utf-16").contains("(at byte 4)"))
    #expect(try fault([0, 0x11, 0, 0], "utf-32be").contains("(at byte 0)"))
  }

  @Test("more than the converter takes at once")
  func large() throws {
    let body = Self.quoted(Array(repeating: 0xE9, count: 1 << 20))
    let text = try read(body, .json, type: "application/json; charset=latin1")
    #expect(text == "[\"" + String(repeating: "é", count: 1 << 20) + "\"]")
  }
}
