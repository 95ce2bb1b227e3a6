import SyncEngine
import TestSupport
import Testing

/// Answers that are no list of records: each fails with a message that says what came, and changes no row.
@Suite("Bad answers", .fewAtATime)
struct AnswerFailureTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var routes: [Route]
    var message: String

    init(_ name: String, _ routes: [Route], _ message: String) {
      (testDescription, self.routes, self.message) = (name, routes, message)
    }

    init(_ name: String, _ body: String, _ message: String) { self.init(name, [things(body)], message) }
  }

  private static let first = "page 1 (BASE/things)"

  static let cases: [Case] = [
    Case("wrong URL", [], "\(first): HTTP 404 Not Found: no such route: /things"),
    Case(
      "500", [Route("/things", status: 500, body: "oops")],
      "\(first): HTTP 500 Internal Server Error (after 3 attempts)"),
    Case(
      "401 with a reason", [Route("/things", status: 401, body: #"{"message":"who are you?"}"#)],
      "\(first): HTTP 401 Unauthorized: who are you?"),
    Case("204", [Route("/things", status: 204)], "\(first): HTTP 204 No Content"),
    Case("304", [Route("/things", status: 304)], "\(first): HTTP 304 Not Modified"),
    Case("301 to nowhere", [Route("/things", status: 301, body: "")], "\(first): HTTP 301"),
    Case(
      "HTML", [Route("/things", answer: ["Content-Type": "text/html"], body: "<html></html>")],
      "\(first): the body is HTML, not JSON (HTTP 200, text/html); it begins with <html></html>"),
    Case("an empty body", "", "\(first): the body is empty, not JSON (HTTP 200, application/json)"),
    Case("blanks", " \n", "\(first): the body is empty, not JSON (HTTP 200, application/json)"),
    Case(
      "half a body without its length",
      [Route("/things", body: #"{"data":[{"id":1,"v":"a"},{"id":2"#, fault: "close")],
      #"\#(first): the body is not JSON (HTTP 200, application/json): the document ends too early (at byte 33); it begins with {"data":[{"id":1,"v":"a"},{"id":2"#
    ),
    Case(
      "half a body", [Route("/things", body: list([1, 2]), fault: "cut")],
      "\(first): the answer was cut short: transfer closed with 22 bytes remaining to read (after 3 attempts)"
    ),
    Case(
      "two documents", list([1]) + list([2]),
      "\(first): the body is not JSON (HTTP 200, application/json): something follows the end of the document (at byte 27); it begins with \(list([1]) + list([2]))"
    ),
    Case("no list", #"{"items":[]}"#, "\(first): \"data\" has to be a list of records, but there is nothing"),
    Case("a null list", #"{"data":null}"#, "\(first): \"data\" has to be a list of records, but it is null"),
    Case(
      "a scalar list", #"{"data":7}"#, "\(first): \"data\" has to be a list of records, but it is a number"),
    Case(
      "an object for a list", #"{"data":{"id":1}}"#,
      "\(first): \"data\" has to be a list of records, but it is an object"),
    Case(
      "a bare list", #"[{"id":1}]"#,
      "\(first): \"data\" has to be a list of records, but the answer is an array"),
    Case(
      "a null answer", "null", "\(first): \"data\" has to be a list of records, but there is nothing"),
    Case(
      "an error object with status 200", #"{"error":{"code":7,"message":"quota"}}"#,
      "\(first): \"data\" has to be a list of records, but there is nothing; the answer says error: {\"code\":7,\"message\":\"quota\"}"
    ),
    Case(
      "an error beside a null list", #"{"errors":["x"],"data":null}"#,
      "\(first): \"data\" has to be a list of records, but it is null; the answer says errors: [\"x\"]"),
    Case(
      "the list twice", #"{"data":[{"id":1}],"data":[{"id":1}]}"#,
      "\(first): \"data\" has to be a list of records, but the key \"data\" stands twice"),
    Case(
      "the next link twice", #"{"data":[{"id":1}],"next":null,"next":"?p=2"}"#,
      "\(first): the paging field \"next\": the key \"next\" stands twice"),
    Case(
      "a next link that is a number", list([1], #""next":7"#),
      "\(first): the next link at \"next\" is a number, not an address"),
    Case(
      "a next link that is false", list([1], #""next":false"#),
      "\(first): the next link at \"next\" is a boolean, not an address"),
    Case(
      "a record without a key", #"{"data":[{"id":1,"v":"x"},{"v":"y"}]}"#,
      "1 bad record, nothing was written:\n  page 1, record 2, field \"id\": the key is missing"),
    Case(
      "a record that is a number", #"{"data":[7]}"#,
      "1 bad record, nothing was written:\n  page 1, record 1: the record is a number, not an object"),
    Case(
      "a next link to another origin", list([1], #""next":"http://other.example/things?p=2""#),
      "\(first): the next link leads to another origin, http://other.example; if that is right, declare it: foreignOrigins: [\"http://other.example\"]"
    ),
    Case(
      "a next link without a scheme to another origin", list([1], #""next":"//other.example/things""#),
      "\(first): the next link leads to another origin, http://other.example; if that is right, declare it: foreignOrigins: [\"http://other.example\"]"
    ),
    Case(
      "a next link to a file", list([1], #""next":"file:///x""#),
      "\(first): the next link: \"file:///x\" is not a usable address: it has to begin with http:// or https://"
    ),
    Case(
      "a next link that is the page itself", list([1], #""next":"{{base}}/things""#),
      "\(first): the next page is one that was asked for already (BASE/things): the pages go round in a loop"),
    Case(
      "a cycle of two",
      [
        things(list([2], #""next":"/things""#), query: ["p": "2"]), things(list([1], #""next":"?p=2""#)),
      ],
      "page 2 (BASE/things?p=2): the next page is one that was asked for already (BASE/things): the pages go round in a loop"
    ),
    Case(
      "a cycle of two behind the first page",
      [
        things(list([2], #""next":"?p=3""#), query: ["p": "2"]),
        things(list([3], #""next":"?p=2""#), query: ["p": "3"]), things(list([1], #""next":"?p=2""#)),
      ],
      "page 3 (BASE/things?p=3): the next page is one that was asked for already (BASE/things?p=2): the pages go round in a loop"
    ),
    Case(
      "a cycle of three",
      [
        things(list([2], #""next":"?p=3""#), query: ["p": "2"]),
        things(list([3], #""next":"/things""#), query: ["p": "3"]), things(list([1], #""next":"?p=2""#)),
      ],
      "page 3 (BASE/things?p=3): the next page is one that was asked for already (BASE/things): the pages go round in a loop"
    ),
    Case(
      "pages without end",
      (2...9).map { things(list([$0], #""next":"?p=\#($0 + 1)""#), query: ["p": "\($0)"]) } + [
        things(list([1], #""next":"?p=2""#))
      ],
      "page 6 (BASE/things?p=6): the limit of 6 pages is reached, and more are pending (maxPages)"),
    Case(
      "a second page that fails",
      [Route("/things", query: ["p": "2"], status: 502, body: ""), things(list([1], #""next":"?p=2""#))],
      "page 2 (BASE/things?p=2): HTTP 502 Bad Gateway (after 3 attempts)"),
    Case(
      "a second page that is HTML",
      [
        Route("/things", query: ["p": "2"], answer: ["Content-Type": "text/html"], body: "<p>"),
        things(list([1], #""next":"?p=2""#)),
      ],
      "page 2 (BASE/things?p=2): the body is not JSON (HTTP 200, text/html): a word is neither true, false nor null (at byte 0); it begins with <p>"
    ),
    Case(
      "a second page without the list",
      [things(#"{"error":"late"}"#, query: ["p": "2"]), things(list([1], #""next":"?p=2""#))],
      "page 2 (BASE/things?p=2): \"data\" has to be a list of records, but there is nothing; the answer says error: \"late\""
    ),
    Case(
      "an unknown content encoding",
      [Route("/things", answer: ["Content-Encoding": "zip"], body: list([1]))],
      "\(first): the body's content encoding \"zip\" is unknown"),
    Case(
      "a body that is not encoded as it says",
      [Route("/things", answer: ["Content-Encoding": "gzip"], body: list([1]))],
      "\(first): the body is not a whole gzip stream"),
  ]

  @Test("the message says what came, no row changes, and the run is kept as failed", arguments: cases)
  func failing(_ bad: Case) async throws {
    let scene = try Scene()
    _ = try await scene.run(Thing.self, list([1, 2, 3, 4]))
    let state = try scene.rows("SELECT * FROM syncd_state ORDER BY 1, 2")
    let line = try await scene.run(Thing.self, bad.routes)
    expect(line, is: "thing: \(bad.message)")
    expect(try scene.rows(), is: "1 | a\n2 | b\n3 | c\n4 | d")
    expect(try scene.rows("SELECT * FROM syncd_state ORDER BY 1, 2"), is: state)
    expect(
      try scene.rows(
        "SELECT outcome, inserted, updated, deleted, replace(reason, '\(scene.server.base)', 'BASE') FROM syncd_runs ORDER BY id"
      ),
      is: "proven | 4 | 0 | 0 | ∅\nfailed | 0 | 0 | 0 | \(bad.message)")
    expect(
      try await scene.run(Thing.self, list([1, 2, 3])),
      is: "thing: 1 pages, 3 records, 0 inserted, 0 updated, 3 unchanged, 1 deleted, proven")
  }

  struct Cursored: Entity {
    var id = 0
    var v: String?
    static let table = "thing"
    static let source = Source(
      .probe, "things", rows: "data", paging: .cursor("meta.next", parameter: "after", more: "meta.more"),
      maxPages: 6)
    static var mapping: Mapping<Cursored> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<Cursored>.missing
  }

  @Test("a cursor cycle of two and three is found, and a cursor is sent as one value")
  func cursorCycles() async throws {
    let scene = try Scene(Scene.stock)
    for length in [2, 3] {
      let tokens = (0..<length).map { "t&\($0)" }
      let routes = tokens.enumerated().map { position, token in
        things(list([1], #""meta":{"next":"\#(tokens[(position + 1) % length])"}"#), query: ["after": token])
      }
      let line = try await scene.run(Cursored.self, routes + [things(list([2], #""meta":{"next":"t&0"}"#))])
      #expect(line.hasSuffix("the cursor \"t&0\" repeats: the pages go round in a loop"), "\(line)")
    }
    expect(try scene.rows(), is: "1 | a\n2 | b\n3 | c\n4 | d")
  }

  @Test("a record's text in a message cannot write lines or control a terminal")
  func controlCharacters() async throws {
    let line = try await Scene().run(Thing.self, #"{"data":[{"id":"a\nproven \u001b[2J"}]}"#)
    #expect(!line.unicodeScalars.contains { $0.value == 0x1B }, "\(line.debugDescription)")
    #expect(line.split(separator: "\n").count == 2, "\(line.debugDescription)")
  }
}
