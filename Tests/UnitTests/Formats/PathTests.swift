import JSON
import TestSupport
import Testing

@testable import SyncEngine

/// Paths into answers, and templates over them.
@Suite(.once)
struct PathTests {
  @Test("paths that can be read")
  func reading() {
    for (text, components) in [
      ("", []), ("a", [.key("a")]), ("a.b", [.key("a"), .key("b")]), ("a[0]", [.key("a"), .index(0)]),
      ("[2]", [.index(2)]), ("[1][0].x", [.index(1), .index(0), .key("x")]),
      ("a.[1]", [.key("a"), .index(1)]),
      ("a[10][2].b[3]", [.key("a"), .index(10), .index(2), .key("b"), .index(3)]), ("a b", [.key("a b")]),
      ("0", [.key("0")]), ("é.@x", [.key("é"), .key("@x")]),
    ] as [(String, [JSONPath.Component])] {
      let path = JSONPath(parsing: text)
      #expect(path.components == components, "\(text)")
      #expect(path.fault == nil, "\(text)")
      #expect(JSONPath(parsing: path.description).components == components, "\(text)")
    }
    #expect(JSONPath.root.appending("a.b").appending("[1]").components == [.key("a"), .key("b"), .index(1)])
  }

  @Test(
    "paths that cannot",
    arguments: [
      ".", "a.", ".a", "a..b", "a[", "a]", "a[]", "a[x]", "a[-1]", "a[0", "a0]", "a[0]b", "[0]b", "a[[0]]",
      "a[0]]",
      "a[1.5]", "a[ 0]", "a[99999999999999999999]",
    ])
  func faults(_ text: String) { #expect(JSONPath(parsing: text).fault != nil) }

  @Test("a position has digits and no sign", arguments: ["a[+1]", "a[-0]"])
  func signs(_ text: String) {
    #expect(JSONPath(parsing: text).fault != nil)
  }

  @Test("a key may itself hold dots and brackets")
  func keys() {
    for key in ["a.b", "filter[name]", "a]"] {
      #expect(JSONPath.key(key).components == [.key(key)])
      #expect(JSONPath.key(key).fault == nil, "\(key)")
    }
  }

  @Test("values along a path")
  func values() throws {
    let root = try JSONDocument.parse(Array(#"{"a":{"b":[{"c":1}],"n":null,"s":"x"},"d":1,"d":2,"":3}"#.utf8))
      .root
    #expect(try JSONPath("a.b[0].c").value(in: root)?.token == "1")
    #expect(try JSONPath("").value(in: root)?.kind == .object)
    #expect(try JSONPath("a.b[1].c").value(in: root) == nil)
    #expect(try JSONPath("a.n.x[0]").value(in: root) == nil)
    #expect(try JSONPath("a.n").value(in: root)?.isNull == true)
    #expect(try JSONPath("x.y").value(in: root) == nil)
    #expect(throws: JSONPath.Obstacle.wrongKind(at: "a.s", found: .string)) {
      try JSONPath("a.s.x").value(in: root)
    }
    #expect(throws: JSONPath.Obstacle.wrongKind(at: "a", found: .object)) {
      try JSONPath("a[0]").value(in: root)
    }
    #expect(throws: JSONPath.Obstacle.wrongKind(at: "a.b", found: .array)) {
      try JSONPath("a.b.c").value(in: root)
    }
    #expect(throws: JSONPath.Obstacle.ambiguous("d")) { try JSONPath("d").value(in: root) }
  }

  @Test("templates that can be read")
  func templates() {
    for (text, parts) in [
      ("", []), ("x", [.literal("x")]), ("{a}", [.path("a")]),
      ("{a.b}.{c}", [.path("a.b"), .literal("."), .path("c")]),
      ("{a}{b}", [.path("a"), .path("b")]), ("{{a}}", [.literal("{a}")]),
      ("{{{a}}}", [.literal("{"), .path("a"), .literal("}")]),
      ("a{{", [.literal("a{")]), ("}}", [.literal("}")]), ("{{}}", [.literal("{}")]),
      ("x{a[0]}é", [.literal("x"), .path("a[0]"), .literal("é")]), ("{{{{", [.literal("{{")]),
    ] as [(String, [Template.Part])] {
      #expect(Template(text).parts == parts, "\(text)")
      #expect(Template(text).fault == nil, "\(text)")
    }
    #expect(Template("{a}-{b.c}").paths == ["a", "b.c"])
  }

  @Test(
    "templates that cannot",
    arguments: [
      "{", "}", "a{b", "{a{b}", "{a{{b}}", "{a{}", "a}b", "{}", "{a..b}", "{a[}", "{a}}", "{{a}", "{a}{",
      "{a}}}}", "}{",
      "{a} }", "{{{a}}",
    ])
  func templateFaults(_ text: String) { #expect(Template(text).fault != nil) }
}
