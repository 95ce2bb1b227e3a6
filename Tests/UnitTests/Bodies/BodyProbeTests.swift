import HTTP
import TestSupport
import Testing

@testable import SyncEngine

/// A body of another kind in each of these; what is gone at the source is deleted.
private struct Line: Entity {
  var id = 0
  var v: String?
  static let table = "thing"
  static let source = Source(.probe, "things", format: .ndjson, paging: .none)
  static var mapping: Mapping<Line> {
    Key(\.id)
    Field(\.v)
  }
  static let deletion = Deletion<Line>.missing
}

private struct CSVRow: Entity {
  var id = 0
  var v: String?
  static let table = "thing"
  static let source = Source(.probe, "things", format: .csv(), paging: .none)
  static var mapping: Mapping<CSVRow> {
    Key(\.id)
    Field(\.v, .emptyAsNull)
  }
  static let deletion = Deletion<CSVRow>.missing
}

private struct Element: Entity {
  var id = 0
  var v: String?
  static let table = "thing"
  static let source = Source(.probe, "things", rows: "things.thing", format: .xml(), paging: .none)
  static var mapping: Mapping<Element> {
    Key(\.id, "@id")
    Field(\.v)
  }
  static let deletion = Deletion<Element>.missing
}

private struct Strict: Entity {
  var id = 0
  var v: String?
  static let table = "thing"
  static let source = Source(
    API("probe", url: "https://probe.example.invalid/", errors: ["error.message", "meta.error_code"]),
    "things",
    rows: "data", errors: ["errors"], paging: .none)
  static var mapping: Mapping<Strict> {
    Key(\.id)
    Field(\.v)
  }
  static let deletion = Deletion<Strict>.missing
}

private struct Column: Entity {
  var id = 0
  var v: String?
  static let table = "thing"
  static let source = Source(.probe, "things", rows: .columns("data"), paging: .none)
  static var mapping: Mapping<Column> {
    Key(\.id)
    Field(\.v)
  }
  static let deletion = Deletion<Column>.missing
}

@Suite("Bodies of other kinds", .fewAtATime)
struct BodyProbeTests {
  private static func route(_ body: String, _ type: String = "text/plain", fault: String? = nil) -> [Route] {
    [Route("/things", answer: ["Content-Type": type], body: body, fault: fault)]
  }

  @Test("lines, CSV and XML sync, and what is gone is deleted after an answer with its length")
  func sync() async throws {
    let bodies: [(any Entity.Type, String)] = [
      (Line.self, "{\"id\":1,\"v\":\"x\"}\n{\"id\":2}\n{\"id\":3,\"v\":null}\n"),
      (CSVRow.self, "id,v\r\n1,x\r\n3,\r\n2,b"),
      (
        Element.self,
        "<things><thing id=\"1\"><v>x</v></thing><thing id=\"2\"/><thing id=\"3\"><v/></thing></things>"
      ),
    ]
    for (entity, body) in bodies {
      let scene = try Scene(Scene.stock)
      expect(
        try await scene.run(entity, Self.route(body)),
        is: "thing: 1 pages, 3 records, 0 inserted, 2 updated, 1 unchanged, 1 deleted, proven")
      expect(try scene.rows(), is: entity is Element.Type ? "1 | x\n2 | b\n3 | " : "1 | x\n2 | b\n3 | ∅")
    }
  }

  @Test(
    "an answer that ends with its connection deletes nothing where the format cannot show that it is whole",
    arguments: [false, true])
  func withoutLength(encoded: Bool) async throws {
    let bodies: [(any Entity.Type, String, String)] = [
      (Line.self, "JSON lines", "{\"id\":1,\"v\":\"a\"}\n{\"id\":2,\"v\":\"b\"}\n"),
      (CSVRow.self, "CSV", "id,v\n1,a\n2,b\n"),
    ]
    for (entity, name, body) in bodies {
      let scene = try Scene(Scene.stock)
      var route = Route("/things", body: body, fault: "close")
      // Another gzip member may have followed.
      if encoded { route.encoding = "gzip" }
      let end =
        "0 deleted, unproven: an answer came without its length, and \(name) alone cannot show that it is whole"
      expect(
        try await scene.run(entity, [route]),
        is: "thing: 1 pages, 2 records, 0 inserted, 0 updated, 2 unchanged, \(end)")
    }
    let scene = try Scene(Scene.stock)
    let xml = "<things><thing id=\"1\"><v>a</v></thing><thing id=\"2\"><v>b</v></thing></things>"
    expect(
      try await scene.run(Element.self, Self.route(xml, fault: "close")),
      is: "thing: 1 pages, 2 records, 0 inserted, 0 updated, 2 unchanged, 2 deleted, proven")
  }

  @Test("an error element where records are awaited keeps the run from deleting")
  func errorElement() async throws {
    let scene = try Scene(Scene.stock)
    expect(
      try await scene.run(Element.self, Self.route("<things><error>quota</error></things>")),
      is:
        "thing: 1 pages, 0 records, 0 inserted, 0 updated, 0 unchanged, 0 deleted, unproven: the answer carries error: \"quota\""
    )
    #expect(
      try await scene.run(Element.self, Self.route("<html><things/></html>")).hasPrefix(
        "thing: page 1 (BASE/things): \"things.thing\" has to be a list of records, but there is nothing"))
  }

  @Test("an answer with a length that is cut fails, whatever is left of it")
  func cut() async throws {
    let scene = try Scene(Scene.stock)
    let half = "{\"id\":1,\"v\":\"x\"}\n"
    let line = try await scene.run(Line.self, Self.route(half + half, fault: "cut"))
    #expect(line.hasPrefix("thing: page 1 (BASE/things): the answer was cut short"), "\(line)")
    expect(try scene.rows(), is: "1 | a\n2 | b\n3 | c\n4 | d")
  }

  @Test("an empty body is no record of lines, and is bounded by the guard")
  func empty() async throws {
    let scene = try Scene(Scene.stock)
    let line = try await scene.run(Line.self, Self.route(""))
    #expect(line.contains("the source returned no record at all"), "\(line)")
    #expect(
      try await scene.run(CSVRow.self, Self.route("")).contains(
        "the body is empty, not CSV (HTTP 200, text/plain)"))
    #expect(try await scene.run(Element.self, Self.route("<things/>")).contains("returned no record at all"))
    expect(try scene.rows(), is: "1 | a\n2 | b\n3 | c\n4 | d")
  }

  @Test(
    "declared errors fail the run and are shown",
    arguments: [
      (#"{"data":[{"id":1}],"errors":[{"m":"partial"}]}"#, #"errors: [{"m":"partial"}]"#),
      (#"{"data":[{"id":1}],"errors":"x"}"#, "errors: x"),
      (#"{"data":[{"id":1}],"error":{"message":"quota"}}"#, "error.message: quota"),
      (#"{"error":{"message":"quota"}}"#, "error.message: quota"),
      (#"{"data":[{"id":1}],"meta":{"error_code":7}}"#, "meta.error_code: 7"),
      (#"{"data":[{"id":1}],"errors":true}"#, "errors: true"),
    ])
  func declaredErrors(body: String, shown: String) async throws {
    let scene = try Scene(Scene.stock)
    expect(
      try await scene.run(Strict.self, body),
      is: "thing: page 1 (BASE/things): the answer reports an error, \(shown)")
    expect(try scene.rows(), is: "1 | a\n2 | b\n3 | c\n4 | d")
  }

  @Test("where a declared error holds nothing there is none")
  func noErrors() async throws {
    for more in [
      "", #""errors":[]"#, #""errors":null"#, #""error":{}"#, #""meta":{"error_code":0}"#,
      #""meta":[]"#,
    ] {
      let scene = try Scene(Scene.stock)
      expect(
        try await scene.run(Strict.self, list([1, 2, 3], more)),
        is: "thing: 1 pages, 3 records, 0 inserted, 0 updated, 3 unchanged, 1 deleted, proven")
    }
    let scene = try Scene(Scene.stock)
    // An error member that says something still keeps the run from deleting.
    #expect(
      try await scene.run(Strict.self, list([1, 2, 3], #""error":{"message":""}"#)).hasSuffix(
        #"0 deleted, unproven: the answer carries error: {"message":""}"#))
    #expect(
      try await scene.run(Strict.self, list([1], #""errors":null,"errors":["x"]"#)).contains(
        "the answer may report an error: the key \"errors\" stands twice"))
  }

  @Test("lists side by side become records")
  func columns() async throws {
    let scene = try Scene(Scene.stock)
    expect(
      try await scene.run(Column.self, #"{"data":{"id":[1,2,3],"unit":"m","v":["x",null,"a\"b"]}}"#),
      is: "thing: 1 pages, 3 records, 0 inserted, 3 updated, 0 unchanged, 1 deleted, proven")
    expect(try scene.rows(), is: "1 | x\n2 | ∅\n3 | a\"b")
    let first = "thing: page 1 (BASE/things): "
    for (body, reason) in [
      (
        #"{"data":{"id":[1,2],"v":["x"]}}"#,
        #"the lists in "data" are not of one length: "id" has 2 values, "v" has 1"#
      ),
      (
        #"{"data":{"id":[1],"\ud800":[1,2]}}"#,
        #"the lists in "data" are not of one length: "id" has 1 values, "\ud800" has 2"#
      ),
      (#"{"data":{"id":[1],"id":[2]}}"#, #""data" has the list "id" twice"#),
      (#"{"data":{"id":1}}"#, #"there is no list in "data""#),
      (#"{"data":[1]}"#, #""data" has to be an object of lists, but it is an array"#),
    ] { expect(try await scene.run(Column.self, body), is: first + reason) }
    expect(try scene.rows(), is: "1 | x\n2 | ∅\n3 | a\"b")
  }

  @Test("a message shows how the body begins, without secrets and in visible characters")
  func excerpt() throws {
    let redactor = Redactor()
    redactor.add("hunter2hunter2")
    #expect(
      try read(Array("<html>hunter2hunter2 \u{1B}[31m".utf8), .json, type: "text/html", redactor: redactor)
        == "the body is HTML, not JSON (HTTP 200, text/html); it begins with <html>*** \\u{1b}[31m")
    // A secret across the end of the excerpt.
    let long = String(repeating: "x", count: 75) + "hunter2hunter2"
    let message = try read(Array(long.utf8), .json, redactor: redactor)
    #expect(message.hasSuffix("it begins with \(String(repeating: "x", count: 75))***"), "\(message)")
    #expect(
      try read([0x1F, 0x8B, 0xFF, 0x00], .json) == "the body is not JSON (HTTP 200): the body is not UTF-8")
    #expect(
      try read(Array("x".utf8) + Array(repeating: 0x80, count: 9), .json)
        == "the body is not JSON (HTTP 200): the body is not UTF-8")
  }

  @Test("what tells that a body is whole: its length or chunks")
  func knownEnd() throws {
    let url = try HTTPURL("https://probe.example.invalid/")
    func isKnown(_ headers: HTTPHeaders) -> Bool {
      HTTPResponse(status: 200, headers: headers, body: [], url: url).isEndKnown
    }
    #expect(isKnown(["content-length": "0"]))
    #expect(isKnown(["Transfer-Encoding": "chunked"]))
    #expect(isKnown(["transfer-encoding": "gzip, Chunked"]))
    #expect(!isKnown([:]))
    // Whose end is the connection's (RFC 9112 §6.3): a length beside it says nothing.
    #expect(!isKnown(["Transfer-Encoding": "gzip", "Content-Length": "9"]))
  }

  @Test("each format asks for itself")
  func accept() async throws {
    let accepted: [(any Entity.Type, String)] = [
      (Thing.self, "application/json"), (Line.self, "application/x-ndjson"), (CSVRow.self, "text/csv"),
      (Element.self, "application/xml"),
    ]
    for (entity, type) in accepted {
      let scene = try Scene()
      _ = try await scene.run(entity, Self.route("x"))
      #expect(try scene.requests().first?.headers["accept"]?.hasPrefix(type) == true)
    }
  }

  private struct NoSeparator: Entity {
    var id = 0
    static let source = Source(.probe, "things", format: .csv(separator: "\n"), paging: .none)
    static var mapping: Mapping<NoSeparator> { Key(\.id) }
  }

  private struct ErrorInEach: Entity {
    var id = 0
    static let source = Source(.probe, "things", errors: ["data[*].error"], paging: .none)
    static var mapping: Mapping<ErrorInEach> { Key(\.id) }
  }

  @Test("declarations that cannot work are refused")
  func declarations() throws {
    #expect(try fault(of: NoSeparator.self) == "no_separator: \"\\n\" cannot separate the fields of CSV")
    #expect(
      try fault(of: ErrorInEach.self)
        == "error_in_each: \"data[*].error\" has to lead to one value of the answer")
  }

  private struct Generic<T>: Entity {
    var id = 0
    static var table: String { "thing" }
    static var source: Source { Source(.probe, "things", rows: "data", paging: .none) }
    static var mapping: Mapping<Generic> { Key(\.id) }
  }

  @Test("a generic entity's properties have names")
  func generic() throws {
    #expect(try fault(of: Generic<[String: Int?]>.self) == "accepted")
    #expect(try fault(of: Generic<(Int) -> Redactor>.self) == "accepted")
  }
}
