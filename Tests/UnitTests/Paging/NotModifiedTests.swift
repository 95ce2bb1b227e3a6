import Foundation
import HTTP
import SyncEngine
import TestSupport
import Testing

/// Pages that the server says are as they were: status 304 instead of the records.
@Suite("Pages that are not modified", .timeLimit(.minutes(15)), .fewAtATime)
struct NotModifiedTests {
  private static let server = Result { try LocalServer("pages.py") }

  /// A store and a session of the server.
  private struct Session {
    let fixture = Result { try Fixture() }
    let name = UUID().uuidString
    let engine: Engine

    init(inFull: Bool = false, on other: Session? = nil) throws {
      let base = try NotModifiedTests.server.get().base
      engine = Engine(
        store: try fixture.get().store,
        options: .init(urls: ["pages": "\(base)/\(other?.name ?? name)/"], asksInFull: inFull))
    }

    func serve(_ options: String) async throws {
      _ = try await CurlTransport().text(
        "\(NotModifiedTests.server.get().base)/\(name)/_options", by: "PUT", body: "{\(options)}")
    }

    private struct Log: Decodable {
      var requests: [String]
      var peak: Int
    }

    /// Most requests under way at once since the options were set.
    func peak() async throws -> Int {
      let text = try await CurlTransport().text("\(NotModifiedTests.server.get().base)/\(name)/_log")
      return try JSONDecoder().decode(Log.self, from: Data(text.utf8)).peak
    }

    /// The requests since the options were set.
    func requests() async throws -> String {
      let text = try await CurlTransport().text("\(NotModifiedTests.server.get().base)/\(name)/_log")
      return try JSONDecoder().decode(Log.self, from: Data(text.utf8)).requests.joined(separator: "\n")
    }

    func sync(_ source: Source, _ entity: any Entity.Type = Row.self) async -> String {
      await Row.$source.withValue(source) { await outcome(of: engine, entity) }
    }

    func rows(_ sql: String = "SELECT id, v FROM thing ORDER BY id") throws -> String {
      try fixture.get().rows(sql)
    }
  }

  static let styles: [(path: String, paging: Paging, options: String)] = [
    ("all", .none, ""), ("next", .next("next"), ""), ("next-header", .next(header: "Next-Page"), ""),
    ("link", .linkHeader, ""), ("cursor", .cursor("cursor", parameter: "after"), ""),
    ("cursor", .cursor("cursor", parameter: "X-After", in: .header), ""),
    ("cursor-header", .cursor(header: "X-Next", parameter: "after"), ""),
    ("offset", .offset("offset", limit: "limit", size: 3, total: "total"), #", "total": true"#),
    ("offset", .offset("offset", limit: "limit", size: 3), ""),
    ("page", .page("page", size: 3, sizeParameter: "per_page"), ""),
    ("page", .page("page", pages: "pages"), #", "pages": true"#),
    ("keyset", .keyset("after", field: "n", isUnique: true, size: 3, sizeParameter: "limit"), ""),
    (
      "keyset", .keyset("after", field: "n", isUnique: true, size: 3, sizeParameter: "limit"),
      #", "inclusive": true"#
    ),
    ("range", .range("items", size: 3), ""),
    (
      "all",
      .windows(
        from: "from", to: "to", since: Date(timeIntervalSince1970: 1_767_225_600), step: .seconds(86400 * 300)
      ),
      #", "step": 2592000"#
    ),
  ]

  @Test(
    "a second run asks for each page if it has changed, and one that has is read", arguments: styles.indices)
  func second(_ index: Int) async throws {
    let style = Self.styles[index]
    let source = Source(
      .pages(), style.path, rows: "data", paging: style.paging, maxPages: 20)
    let session = try Session()
    let options = #""n": 9, "size": 3, "tags": "strong""# + style.options
    try await session.serve(options)
    let first = await session.sync(source)
    #expect(first.contains("9 inserted") && first.hasSuffix("proven"), "\(first)")
    let asked = try await session.requests()
    #expect(!asked.contains("if changed"))
    let rows = try session.rows()
    let pages = try session.rows("SELECT rowid, page, validator FROM syncd_pages ORDER BY page")

    try await session.serve(options)
    let second = await session.sync(source)
    #expect(
      second
        == first.replacing("9 inserted", with: "0 inserted").replacing("0 unchanged", with: "9 unchanged"))
    let again = try await session.requests()
    expect(again, is: asked.split(separator: "\n").map { "\($0) if changed" }.joined(separator: "\n"))
    #expect(try session.rows() == rows)
    #expect(try session.rows("SELECT rowid, page, validator FROM syncd_pages ORDER BY page") == pages)

    try await session.serve(options + #", "texts": {"5": "new"}"#)
    let third = await session.sync(source)
    #expect(third.contains("0 inserted, 1 updated") && third.contains("8 unchanged"), "\(third)")
    #expect(try session.rows() == rows.replacing("5 | v5", with: "5 | new"))
  }

  @Test(
    "whatever changes, the rows are those of a run that asks for everything", arguments: styles.indices,
    [#""strong""#, #""weak", "bare": true"#, #""date""#])
  func random(_ index: Int, _ tags: String) async throws {
    let style = Self.styles[index]
    let source = Source(.pages(), style.path, rows: "data", paging: style.paging, maxPages: 20)
    let session = try Session()
    var random = SeededGenerator(UInt64(1000 + index))
    var gone: Set<Int> = []
    var texts: [Int: String] = [:]
    var notModified = 0
    for step in 0..<14 {
      let before = (gone, texts)
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        let id = Int.random(in: 1...12, using: &random)
        switch Int.random(in: 0...2, using: &random) {
        case 0: texts[id] = ["x\(step)", nil].randomElement(using: &random) ?? nil
        case 1 where gone.count < 3: gone.insert(id)
        default: gone.remove(id)
        }
      }
      let isSame = (gone, texts) == before
      let texted = texts.map { #""\#($0)": "\#($1)""# }.sorted().joined(separator: ", ")
      // The date says when the answer changed last; it never comes in the second of the answer.
      let minute = String(format: "%02d", isSame ? max(0, step - 1) : step)
      try await session.serve(
        """
        "n": 12, "size": 3, "tags": \(tags), "gone": \(gone.sorted()), "texts": {\(texted)},
        "changed": "Mon, 05 Jan 2026 00:\(minute):00 GMT"\(style.options)
        """)
      let line = await session.sync(source)
      let expected = (1...12).filter { !gone.contains($0) }.map { "\($0) | \(texts[$0] ?? "v\($0)")" }
      #expect(try session.rows() == expected.joined(separator: "\n"), "step \(step): \(line)")
      #expect(line.hasSuffix(", proven"), "step \(step): \(line)")
      notModified += try await session.requests().split(separator: "\n").count { $0.hasSuffix(" if changed") }
    }
    #expect(notModified > 0)
  }

  struct Whole: Entity {
    var id = 0
    var v: String?
    var author: Int?
    static let table = "thing"
    static var source: Source { Row.source }
    static var mapping: Mapping<Whole> {
      Key(\.id)
      Field(\.v)
      Field(\.author, "author.id")
      Embedded(Author.self, at: .object("author"))
      Children(Part.self, at: "parts")
    }
    static let deletion = Deletion<Whole>.missing
  }

  struct Author: Record {
    var id = 0
    var name = ""
    static let table = "author"
    static var mapping: Mapping<Author> {
      Key(\.id)
      Field(\.name)
    }
  }

  struct Part: Record {
    var id = 0
    var thing = 0
    static let table = "part"
    static var mapping: Mapping<Part> {
      Key(\.thing, "@parent.id")
      Key(\.id)
    }
  }

  @Test("records inside of records are those of a run that asks for everything", arguments: [1, 2, 3, 4])
  func nested(_ seed: Int) async throws {
    let source = Source(.pages(), "next", rows: "data", paging: .next("next"))
    let (session, full) = (try Session(), try Session(inFull: true, on: nil))
    var random = SeededGenerator(UInt64(seed))
    var parts: [Int: [Int]] = [:]
    var authors: [Int: String] = [:]
    var texts: [Int: String] = [:]
    for step in 0..<20 {
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        let id = Int.random(in: 1...12, using: &random)
        switch Int.random(in: 0...5, using: &random) {
        case 0: authors[id % 3] = "a\(step)"
        case 1, 2: texts[id] = "x\(step)"
        default: parts[id] = (0..<Int.random(in: 0...3, using: &random)).map { $0 + id * 10 }
        }
      }
      func object<T>(_ values: [Int: T], _ text: (T) -> String) -> String {
        "{" + values.map { #""\#($0)": \#(text($1))"# }.joined(separator: ", ") + "}"
      }
      let options =
        #""n": 12, "size": 3, "tags": "strong", "nested": true, "parts": \#(object(parts) { "\($0)" }), "#
        + #""authors": \#(object(authors) { "\"\($0)\"" }), "texts": \#(object(texts) { "\"\($0)\"" })"#
      var lines: [String] = []
      for one in [session, full] {
        try await one.serve(options)
        lines.append(await one.sync(source, Whole.self))
      }
      for sql in [
        "SELECT * FROM thing ORDER BY id", "SELECT * FROM author ORDER BY id",
        "SELECT * FROM part ORDER BY 1, 2",
      ] {
        #expect(try session.rows(sql) == full.rows(sql), "step \(step): \(lines)")
      }
      // Rows that someone takes away come again.
      if step % 4 == 3 {
        let victim = ["part", "author", "thing"].randomElement(using: &random) ?? ""
        for one in [session, full] {
          _ = try one.rows(
            "DELETE FROM \(victim) WHERE rowid IN (SELECT rowid FROM \(victim) ORDER BY 1 LIMIT 2)")
        }
      }
    }
  }

  @Test("pages that are known are asked for together, each once, and one that has changed is read")
  func together() async throws {
    for (path, paging) in [
      ("next", Paging.next("next")), ("link", .linkHeader), ("cursor", .cursor("cursor", parameter: "after")),
      ("keyset", .keyset("after", field: "n", isUnique: true, size: 2, sizeParameter: "limit")),
    ] {
      let source = Source(.pages(concurrency: 4), path, rows: "data", paging: paging)
      let session = try Session()
      let options = #""n": 20, "size": 2, "tags": "strong", "latency": 40"#
      try await session.serve(options)
      _ = await session.sync(source)
      let first = try await (session.peak(), session.requests().split(separator: "\n").count)
      try await session.serve(options)
      let line = await session.sync(source)
      #expect(line.contains("20 records, 0 inserted, 0 updated, 20 unchanged, 0 deleted, proven"), "\(line)")
      let second = try await session.requests().split(separator: "\n")
      #expect(try await (first.0, session.peak()) == (1, 4), "\(path)")
      #expect(second.count == first.1 && second.allSatisfy { $0.hasSuffix("if changed") }, "\(second)")
      try await session.serve(options + #", "texts": {"5": "other"}"#)
      let changed = await session.sync(source)
      #expect(changed.contains("1 updated, 19 unchanged, 0 deleted, proven"), "\(changed)")
      #expect(try session.rows("SELECT v FROM thing WHERE id = 5") == "other")
      // What was asked for together with the page that has changed is asked for again: a row may have gone there.
      let third = try await session.requests().split(separator: "\n")
      #expect((first.1...first.1 + 3).contains(third.count), "\(third)")
    }
  }

  @Test(
    "rows that someone deleted come again: it is noticed at the commit, and only their page is asked for in full"
  )
  func deletedByHand() async throws {
    let source = Source(.pages(), "next", rows: "data", paging: .next("next"))
    let session = try Session()
    let options = #""n": 9, "size": 3, "tags": "strong""#
    try await session.serve(options)
    _ = await session.sync(source)
    _ = try session.rows("DELETE FROM thing WHERE id = 5")
    try await session.serve(options)
    expect(
      await session.sync(source),
      is: "thing: 3 pages, 9 records, 1 inserted, 0 updated, 8 unchanged, 0 deleted, proven")
    expect(
      try await session.requests(),
      is: """
        GET /next if changed
        GET /next?p=1 if changed
        GET /next?p=2 if changed
        GET /next if changed
        GET /next?p=1
        GET /next?p=2 if changed
        """)
    _ = try session.rows("DELETE FROM thing")
    try await session.serve(options)
    expect(
      await session.sync(source),
      is: "thing: 3 pages, 9 records, 9 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
  }

  @Test("rows that someone deletes while the source is asked come again too", arguments: 1...5)
  func deletedMeanwhile(_ id: Int) async throws {
    let source = Source(.pages(), "next", rows: "data", paging: .next("next"))
    let session = try Session()
    let options = #""n": 9, "size": 3, "tags": "strong", "latency": 20"#
    try await session.serve(options)
    _ = await session.sync(source)
    let all = try session.rows()
    let report = try await Row.$source.withValue(source) {
      try await session.engine.sync(Row.self) { progress in
        // The keys of the table are read at the start; only what is written later can be missed.
        guard progress.step?.page == 3, progress.pages == 3 else { return }
        do { _ = try session.rows("DELETE FROM thing WHERE id = \(id)") } catch { Issue.record(error) }
      }
    }
    // Its page is asked for once more, in full: then it is of no matter that the row is deleted again.
    print("\(line(report))")
    expect(try session.rows(), is: all)
  }

  @Test("what is declared otherwise is asked for in full, and so is everything on demand")
  func declaration() async throws {
    let source = Source(.pages(), "next", rows: "data", paging: .next("next"))
    let session = try Session()
    let options = #""n": 3, "size": 3, "tags": "strong""#
    // Each time another program.
    func requests(_ source: Source, inFull: Bool = false) async throws -> String {
      let engine = Engine(
        store: session.engine.store, options: .init(urls: session.engine.options.urls, asksInFull: inFull))
      try await session.serve(options)
      _ = await Row.$source.withValue(source) { await outcome(of: engine, Row.self) }
      return try await session.requests()
    }
    #expect(try await requests(source) == "GET /next")
    #expect(try await requests(source) == "GET /next if changed")
    // Another scope: not even what it has kept itself is used in the first run.
    #expect(
      try await requests(Source(.pages(), "next", query: ["q": "1"], rows: "data", paging: .next("next")))
        == "GET /next?q=1")
    #expect(try await requests(source) == "GET /next")
    #expect(try await requests(source) == "GET /next")
    #expect(try await requests(source) == "GET /next if changed")
    #expect(
      try await requests(Source(.pages(), "next", rows: "data", paging: .next("next"), conditional: false))
        == "GET /next")
    #expect(try await requests(source) == "GET /next")
    #expect(try await requests(source) == "GET /next if changed")
    #expect(try await requests(source, inFull: true) == "GET /next")
    #expect(try await requests(source) == "GET /next if changed")
    // A paging of one's own may read all of an answer.
    #expect(
      try await requests(
        Source(.pages(), "next", rows: "data", paging: .next("next").until("never") { _ in false }))
        == "GET /next")
  }

  @Test("a 304 that names another answer is not believed")
  func otherTag() async throws {
    let fixture = try Fixture()
    let server = try fixture.server()
    let engine = fixture.engine(server, apis: ["pages"])
    func run(_ v: String) async throws -> String {
      try server.serve([
        Route("/all", headers: ["If-None-Match": #""1""#], status: 304, answer: ["ETag": #"W/"2""#]),
        Route("/all", answer: ["ETag": #""1""#], body: #"[{"id": 1, "v": "\#(v)"}]"#),
      ])
      let line = await Row.$source.withValue(Source(.pages(), "all", paging: .none)) {
        await outcome(of: engine, Row.self)
      }
      return "\(line)\n\(try fixture.rows("SELECT v FROM thing"))"
    }
    _ = try await run("a")
    expect(
      try await run("b"),
      is: "thing: 1 pages, 1 records, 0 inserted, 1 updated, 0 unchanged, 0 deleted, proven\nb")
  }

  @Test("a page with a secret in its links is not kept")
  func secretLink() async throws {
    TestEnvironment.prepare()
    let fixture = try Fixture()
    let server = try fixture.server()
    let api = API(
      "pages", url: "https://pages.example.invalid/",
      auth: .query("key", .environment("NOT_MODIFIED_KEY")), retry: .none)
    try server.serve([
      Route("/all", query: ["p": "1"], answer: ["ETag": #""2""#], body: #"{"data": [{"id": 2}]}"#),
      Route(
        "/all", answer: ["ETag": #""1""#],
        body: #"{"next": "all?p=1&key=s3cret%2Fkey%2B1", "data": [{"id": 1, "v": "s3cret/key+1"}]}"#),
    ])
    let source = Source(api, "all", rows: "data", paging: .next("next"))
    let line = await Row.$source.withValue(source) {
      await outcome(of: fixture.engine(server, apis: ["pages"]), Row.self)
    }
    #expect(line.hasSuffix("proven"), "\(line)")
    #expect(
      try fixture.rows("SELECT validator, answer FROM syncd_pages")
        == #""2" | {"status":200,"elements":1,"records":1,"body":{}}"#
    )
  }

  struct Writer: Entity {
    var id = 0
    var name = ""
    static let table = "author"
    static let source = Source(.pages(), "authors", paging: .none)
    static var mapping: Mapping<Writer> {
      Key(\.id)
      Field(\.name)
    }
  }

  struct Chapter: Entity {
    var id = 0
    var author = ""
    static let table = "chapter"
    static let source = Source(.pages(), "chapters/{parent.id}", paging: .none, parents: Parents(Writer.self))
    static var mapping: Mapping<Chapter> {
      Key(\.id)
      Field(\.author, "@parent.name")
    }
  }

  @Test("a table that another entity or a person changes makes the pages on it void")
  func sharedTable() async throws {
    let fixture = try Fixture()
    let server = try fixture.server()
    let source = Source(.pages(), "all", paging: .none)
    var name = "a"
    func run(_ entity: any Entity.Type) async throws -> String {
      try server.serve([
        Route("/all", headers: ["If-None-Match": #""1""#], status: 304),
        Route(
          "/all", answer: ["ETag": #""1""#],
          body: #"[{"id": 1, "v": "x", "author": {"id": 7, "name": "z"}, "parts": []}]"#),
        Route("/authors", headers: ["If-None-Match": "\"\(name)\""], status: 304),
        Route("/authors", answer: ["ETag": "\"\(name)\""], body: #"[{"id": 7, "name": "\#(name)"}]"#),
        Route("/chapters/7", headers: ["If-None-Match": #""c""#], status: 304),
        Route("/chapters/7", answer: ["ETag": #""c""#], body: #"[{"id": 70}]"#),
      ])
      try server.reset()
      let line = await Row.$source.withValue(source) {
        await outcome(of: fixture.engine(server, apis: ["pages"]), entity)
      }
      let asked = try server.requests().map { $0.headers["if-none-match"] ?? "all of it" }
      return try
        "\(asked.joined(separator: ", ")); \(line.suffix(6)); \(fixture.rows("SELECT id, name FROM author"))"
    }
    #expect(try await run(Whole.self) == "all of it; proven; 7 | z")
    #expect(try await run(Whole.self) == #""1"; proven; 7 | z"#)
    #expect(try await run(Writer.self) == "all of it; proven; 7 | a")
    #expect(try await run(Whole.self) == "all of it; proven; 7 | z", "the author's row was another")
    #expect(try await run(Writer.self) == "all of it; proven; 7 | a")
    #expect(try await run(Writer.self) == #""a"; proven; 7 | a"#)
    // What a row takes from its parent is not in the page.
    _ = try await run(Chapter.self)
    #expect(try await run(Chapter.self) == #""c"; proven; 7 | a"#)
    name = "b"
    _ = try await run(Writer.self)
    #expect(try await run(Chapter.self) == "all of it; proven; 7 | b")
    #expect(try fixture.rows("SELECT * FROM chapter") == "70 | b")
  }

  private typealias ServedPage = (path: String, query: [String: String], body: String)

  /// Answers of a server that knows what it gave: an entity tag for each text.
  private func routes(_ pages: [ServedPage]) -> [Route] {
    pages.flatMap { page in
      let tag = "\"\(Digest.md5(page.body).prefix(8))\""
      return [
        Route(page.path, query: page.query, headers: ["If-None-Match": tag], status: 304),
        Route(page.path, query: page.query, answer: ["ETag": tag], body: page.body),
      ]
    }
  }

  /// Runs over the same states in turn, once as usual and once asking for everything: rows and proofs are the same.
  private func compare(
    _ source: Source, _ entity: any Entity.Type, _ states: [[ServedPage]], _ sql: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    var shown: [[String]] = []
    for inFull in [false, true] {
      let fixture = try Fixture()
      let server = try fixture.server()
      var lines: [String] = []
      for state in states {
        try server.serve(routes(state))
        let engine = Engine(
          store: fixture.store, options: .init(urls: ["pages": server.base + "/"], asksInFull: inFull))
        let line = await Row.$source.withValue(source) { await outcome(of: engine, entity) }
        lines.append("\(line.contains(", proven")) \(try fixture.rows(sql))")
      }
      shown.append(lines)
    }
    #expect(shown[0] == shown[1], sourceLocation: sourceLocation)
  }

  private func nestedPage(_ things: (id: Int, author: String, parts: String)...) -> String {
    let records = things.map { #"{"id": \#($0.id), "author": \#($0.author), "parts": \#($0.parts)}"# }
    return #"{"data": [\#(records.joined(separator: ", "))]"#
  }

  @Test("where a record stands on several pages, which one counts does not depend on what was sent again")
  func sharedNested() async throws {
    let source = Source(.pages(), "all", rows: "data", paging: .next("next"))
    func state(_ first: String, _ second: String) -> [ServedPage] {
      [("/all", ["p": "2"], second + "}"), ("/all", [:], first + #", "next": "all?p=2"}"#)]
    }
    let x = #"{"id": 7, "name": "x"}"#
    let y = #"{"id": 7, "name": "y"}"#
    let a = nestedPage((1, x, "[]"))
    // The author stands on both pages with different names, and then on the first one alone.
    try await compare(
      source, Whole.self,
      [
        state(a, nestedPage((2, y, "[]"))),
        state(a, nestedPage((2, #"{"id": 8, "name": "z"}"#, "[]"))),
      ],
      "SELECT * FROM author ORDER BY id")
    // The first page changes, and the other one still has the last word.
    try await compare(
      source, Whole.self,
      [
        state(a, nestedPage((2, y, "[]"))),
        state(nestedPage((1, #"{"id": 7, "name": "w"}"#, "[]")), nestedPage((2, y, "[]"))),
      ],
      "SELECT * FROM author ORDER BY id")
  }

  @Test("a place of the paging among the records is read from the page in full")
  func pathIntoList() async throws {
    let source = Source(.pages(), "all", rows: "data", paging: .cursor("data[1].id", parameter: "after"))
    let pages: [ServedPage] = [
      ("/all", ["after": "2"], #"{"data": [{"id": 3}]}"#),
      ("/all", [:], #"{"data": [{"id": 1}, {"id": 2}]}"#),
    ]
    try await compare(source, Row.self, [pages, pages], "SELECT id FROM thing ORDER BY id")
  }

  @Test("a tag is that of one resource, whatever redirect led to it")
  func redirected() async throws {
    let fixture = try Fixture()
    let server = try fixture.server()
    var lines: [String] = []
    for snapshot in ["1", "2"] {
      try server.serve([
        Route("/all", status: 302, answer: ["Location": "/snapshot\(snapshot)"]),
        Route("/snapshot\(snapshot)", headers: ["If-None-Match": #""t""#], status: 304),
        Route("/snapshot\(snapshot)", answer: ["ETag": #""t""#], body: #"[{"id": \#(snapshot)}]"#),
      ])
      lines.append(
        await Row.$source.withValue(Source(.pages(), "all", paging: .none)) {
          await outcome(of: fixture.engine(server, apis: ["pages"]), KeptRow.self)
        })
    }
    #expect(try fixture.rows("SELECT id FROM thing ORDER BY id") == "1\n2", "\(lines)")
  }

  @Test("a cursor of a page that was not sent again may be out of date: then all pages are asked for")
  func expiredCursor() async throws {
    let fixture = try Fixture()
    let server = try fixture.server()
    let source = Source(.pages(), "all", rows: "data", paging: .cursor("next", parameter: "after"))
    var said = ""
    for cursor in ["a", "b"] {
      try server.serve([
        Route("/all", query: ["after": cursor], body: #"{"data": [{"id": 2, "v": "\#(cursor)"}]}"#),
        Route("/all", query: ["after": "a"], status: 410, body: #"{"message": "expired"}"#),
        Route("/all", headers: ["If-None-Match": #"W/"1""#], status: 304),
        Route("/all", answer: ["ETag": #"W/"1""#], body: #"{"next": "\#(cursor)", "data": [{"id": 1}]}"#),
      ])
      // The server forgets that the first page is the same when its cursor is no longer of use.
      said = await Row.$source.withValue(source) {
        await outcome(of: fixture.engine(server, apis: ["pages"]), Row.self)
      }
    }
    expect(said, is: "thing: 2 pages, 2 records, 0 inserted, 1 updated, 1 unchanged, 0 deleted, proven")
  }

  @Test("a column that is going to be added is filled from the pages in full")
  func addedColumn() async throws {
    let source = Source(.pages(), "next", rows: "data", paging: .next("next"))
    let session = try Session()
    try await session.serve(#""n": 3, "size": 3, "tags": "strong""#)
    _ = await session.sync(source)
    _ = try session.rows("ALTER TABLE thing DROP COLUMN v")
    let line = await session.sync(source)
    #expect(line.hasSuffix("0 inserted, 3 updated, 0 unchanged, 0 deleted, proven"), "\(line)")
    #expect(try session.rows() == "1 | v1\n2 | v2\n3 | v3")
  }

  @Test("only what the paging reads is kept of an answer")
  func outline() async throws {
    let fixture = try Fixture()
    let server = try fixture.server()
    try server.serve([
      Route(
        "/all", answer: ["ETag": #""1""#, "X-Auth-Token": "renewed", "Set-Cookie": "a=b"],
        body: #"{"session": "s", "meta": {"next": null, "x": 1}, "data": [{"id": 1, "v": "text"}]}"#)
    ])
    let source = Source(.pages(), "all", rows: "data", paging: .next("meta.next"))
    _ = await Row.$source.withValue(source) {
      await outcome(of: fixture.engine(server, apis: ["pages"]), Row.self)
    }
    expect(
      try fixture.rows("SELECT answer FROM syncd_pages"),
      is: #"{"status":200,"elements":1,"records":1,"body":{"meta":{"next":null}}}"#)
  }

  @Test("a run that proves nothing leaves nothing to ask by")
  func unproven() async throws {
    let source = Source(
      .pages(), "offset", rows: "data", paging: .offset("offset", limit: "limit", size: 3, total: "total"))
    let session = try Session()
    let options = #""n": 6, "size": 3, "tags": "strong""#
    func run(_ total: String, _ text: String) async throws -> String {
      try await session.serve(options + #", "total": \#(total), "texts": {"5": "\#(text)"}"#)
      return await session.sync(source) + "\n" + (try await session.requests())
    }
    _ = try await run("true", "old")
    expect(
      try await run("99", "new"),
      is: """
        thing: 3 pages, 6 records, 0 inserted, 1 updated, 5 unchanged, 0 deleted, unproven: the source counts 99 records, but 6 came
        GET /offset?offset=0&limit=3 if changed
        GET /offset?offset=3&limit=3 if changed
        GET /offset?offset=6&limit=3
        """)
    #expect(try session.rows("SELECT count(*) FROM syncd_pages") == "0")
    // Otherwise the first run's tags would hold for rows that are not what they were.
    expect(
      try await run("true", "old"),
      is: """
        thing: 2 pages, 6 records, 0 inserted, 1 updated, 5 unchanged, 0 deleted, proven
        GET /offset?offset=0&limit=3
        GET /offset?offset=3&limit=3
        """)
  }
}
