import Foundation
import TestSupport
import Testing

@testable import SyncCommand
@testable import SyncEngine

/// `explain`, `get` and `--trace`, which show what a run sees.
@Suite("The commands that look", .fewAtATime)
struct LookingTests {
  private struct Call {
    let fixture: Fixture
    let server: AnswerServer
    var folder: TemporaryFolder { fixture.folder }

    init(_ routes: [Route]) throws {
      fixture = try Fixture()
      server = try AnswerServer(routes)
      let apis = ["library", "placeholder", "nytimes", "marvel"].map {
        #""\#($0)": {"url": "\#(server.base)/", "rate": "unlimited"}"#
      }
      try #"{"store": "\#(fixture.location)", "apis": {\#(apis.joined(separator: ", "))}}"#
        .write(toFile: fixture.folder.path + "/c.json", atomically: true, encoding: .utf8)
    }

    /// The result, with `BASE` for the server's address, and numbers for times.
    func callAsFunction(_ words: String...) throws -> Shell.Result {
      var result = try Shell.result(
        [Shell.product("syncd")] + words + ["--config", "c.json"],
        environment: [
          "NYT_API_KEY": "nyt-secret", "MARVEL_PUBLIC_KEY": "open-key", "MARVEL_PRIVATE_KEY": "hidden-key",
        ], directory: folder.path
      ).withoutRuns
      func plain(_ text: String) -> String {
        text.replacingOccurrences(of: server.base, with: "BASE").replacing(/\d+ ms/, with: "N ms")
          .replacing(/[\d,]+ bytes/, with: "N bytes")
      }
      (result.output, result.errors) = (plain(result.output), plain(result.errors))
      return result
    }

    var hasTable: Bool { (try? fixture.rows("SELECT 1 FROM hero")) != nil }
  }

  private static let fixtures = Repository.root + "/Tests/Fixtures"
  private static let articles = (0...2).map { page in
    Route("/articlesearch.json", query: ["page": "\(page)"], file: "\(fixtures)/articles/page\(page).json")
  }
  private static let heroes = [0, 100, 200].map { offset in
    Route("/characters", query: ["offset": "\(offset)"], file: "\(fixtures)/characters/offset\(offset).json")
  }
  private static let books = Route("/books", file: fixtures + "/books/books.json")

  @Test("explain: a line for each page, what follows and why it ends, without secrets, and nothing written")
  func explain() throws {
    let call = try Call(Self.articles)
    let result = try call("explain", "article")
    #expect(result.status == 0 && result.errors == "")
    let lines = result.output.split(separator: "\n").map(String.init)
    #expect(lines.count == 4, "\(result)")
    for (page, line) in lines.prefix(3).enumerated() {
      #expect(
        line.hasPrefix(
          "article: page \(page + 1): GET BASE/articlesearch.json?q=election&begin_date=20160101&page=\(page) → 200, N ms, N bytes, \(page < 2 ? 10 : 3) records (\(page < 2 ? 10 : 3) new); "
        ), "\(line)")
    }
    #expect(lines.last == "article: 23 records, proven complete", "\(result)")
    #expect(!result.output.contains("nyt-secret") && !call.hasTable)
  }

  @Test("plan: what a run would do, status 5; once --changes: what it did; status --runs: each run and why")
  func plan() throws {
    func books(_ list: String) -> Route { Route("/books", body: list) }
    let call = try Call([books(#"[{"id":1,"title":"A"},{"id":2,"title":"B"},{"id":3,"title":"C"}]"#)])
    let first = try call("plan", "book")
    #expect(first.status == 5 && !call.hasTable)
    expect(
      first.output,
      is: """
        + book id 1
        + book id 2
        + book id 3
        book: a run would insert 3, update 0, delete 0; 0 unchanged

        """)
    #expect(try call("once", "book", "--quiet").status == 0)
    let none = try call("plan", "book")
    #expect(
      none.status == 0 && none.output == "book: a run would insert 0, update 0, delete 0; 3 unchanged\n")

    try call.server.serve([books(#"[{"id":1,"title":"A \"1\""},{"id":2,"title":"B"},{"id":4,"title":"D"}]"#)])
    let some = try call("plan", "book")
    #expect(some.status == 5)
    expect(
      some.output,
      is: """
        + book id 4
        ~ book id 1: title "A" → "A \\"1\\""
        - book id 3
        book: a run would insert 1, update 1, delete 1; 1 unchanged

        """)
    let json = try call("plan", "book", "--json")
    #expect(json.status == 5)
    #expect(try json == call("plan", "book", "--log-format", "json"))
    #expect(
      json.output.contains(#""kind":"updated","key":{"id":1},"old":{"title":"A"},"new":{"title":"A \"1\""}"#),
      "\(json)")
    let lines = try call("once", "book", "--changes")
    #expect(lines.status == 0)
    expect(
      lines.output.split(separator: "\n").sorted().joined(separator: "\n"),
      is: #"""
        {"entity":"book","table":"book","kind":"deleted","key":{"id":3},"old":{"title":"C","author":null,"genre":null}}
        {"entity":"book","table":"book","kind":"inserted","key":{"id":4},"new":{"title":"D","author":null,"genre":null}}
        {"entity":"book","table":"book","kind":"updated","key":{"id":1},"old":{"title":"A"},"new":{"title":"A \"1\""}}
        """#)

    try call.server.serve([books(#"[{"id":1,"title":"A"}]"#)])
    let refused = try call("once", "book")
    #expect(refused.status == 3)
    #expect(refused.errors.contains("--allow-deletes 2"), "\(refused)")
    let withheld = try call("plan", "book")
    expect(
      withheld.output,
      is: """
        ~ book id 1: title "A \\"1\\"" → "A"
        ? book id 2
        ? book id 4
        book: 2 missing rows stay: the run would delete 2 of 3 rows (67% of the rows, and the guard allows 50%); nothing was written
        book: a run would insert 0, update 1, delete 0; 0 unchanged

        """)
    #expect(try call("once", "book", "--allow-deletes", "2", "--quiet").status == 0)
    #expect(try call("once", "book", "--allow-deletes", "x").status == 2)
    let runs = try call("status", "--runs")
    let shown = runs.output.split(separator: "\n").map { line in
      line.replacing(#/ +/#, with: " ").replacing(#/20\S+Z (N|\d+) ms/#, with: "T")
    }
    expect(
      shown.joined(separator: "\n"),
      is: """
        ENTITY STARTED TIME OUTCOME PAGES RECORDS INSERTED UPDATED UNCHANGED DELETED REASON
        book T proven 1 1 0 1 0 2
        book T refused 1 1 0 0 0 0 the run would delete 2 of 3 rows (67% of the rows, and the guard allows 50%); nothing was written
        book T proven 1 3 1 1 1 1
        book T proven 1 3 3 0 0 0
        """)
  }

  @Test("explain: a source that fails is status 1, and what the others did is shown all the same")
  func explainFails() throws {
    let call = try Call([
      Route("/articlesearch.json", status: 403, body: #"{"message":"key nyt-secret is void"}"#), Self.books,
    ])
    let result = try call("explain", "article", "book")
    #expect(result.status == 1)
    #expect(
      result.output.hasSuffix(
        "book: 5 records, proven complete\narticle: page 1: GET BASE/articlesearch.json?q=election&begin_date=20160101&page=0 → 403, N ms, N bytes, 0 records (0 new); stop: it fails the run\n"
      ), "\(result)")
    #expect(result.errors.hasSuffix("HTTP 403 Forbidden: key *** is void\n"), "\(result)")
  }

  @Test("explain: why a walk proves nothing, and attempts that were repeated")
  func doubts() throws {
    let call = try Call([
      Route("/books", status: 503, answer: ["Retry-After": "0"], times: 1),
      Route("/books", body: #"[{"id":1},{"id":1}]"#),
    ])
    let result = try call("explain", "book")
    #expect(result.status == 0)
    #expect(result.output.contains("book: HTTP 503; next attempt in "), "\(result)")
    #expect(result.output.contains(", 2 attempts, 2 records (1 new)"), "\(result)")
    #expect(
      result.output.hasSuffix("book: 2 records, not proven complete: 1 records came twice\n"), "\(result)")
  }

  @Test("get: the first records as JSON, ten or as many as asked for, by no more pages than needed")
  func get() throws {
    let call = try Call(Self.heroes)
    let result = try call("get", "hero", "--limit", "2")
    #expect(result.status == 0)
    expect(
      result.output,
      is: """
        {"id":1009001,"name":"Hero 1","summary":"","thumbnail":"http://i.example.com/u/prod/1/52.jpg","modified":"2014-04-02T18:18:17.000Z"}
        {"id":1009002,"name":"Hero 2","summary":"","thumbnail":"http://i.example.com/u/prod/2/52.jpg","modified":"2014-04-03T18:18:17.000Z"}

        """)
    expect(result.errors, is: "syncd: hero: not shown are rows of hero_link\n")
    #expect(try call.server.requests().count == 1 && !call.hasTable)
    #expect(try call("get", "hero").output.split(separator: "\n").count == 10)
    #expect(try call("get", "hero", "--limit", "101").output.split(separator: "\n").count == 101)
    #expect(try call("get", "hero", "--limit", "1000").output.split(separator: "\n").count == 250)
  }

  @Test(
    "get: every line is JSON, also of columns of JSON and of text with line breaks; a failure is status 1")
  func getJSON() throws {
    let call = try Call(Self.articles)
    let result = try call("get", "article", "book")
    #expect(result.status == 1 && result.errors.contains("book: page 1 (BASE/books): HTTP 404"), "\(result)")
    let lines = result.output.split(separator: "\n")
    #expect(lines.count == 10)
    for line in lines {
      let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      #expect(row?["keywords"] is [Any] && row?["word_count"] is Int, "\(line)")
    }
  }

  @Test("get: of a key that comes twice the last record counts; bad records fail it")
  func getTwice() throws {
    let call = try Call([Route("/books", body: #"[{"id":1,"title":"old"},{"id":1,"title":"new"}]"#)])
    #expect(try call("get", "book").output == "{\"id\":1,\"title\":\"new\"}\n")
    try call.server.serve([Route("/books", body: #"[{"id":null,"title":"x"}]"#)])
    let bad = try call("get", "book")
    #expect(bad.status == 1 && bad.output == "" && bad.errors.contains("1 bad record"), "\(bad)")
  }

  @Test("get: a limit is a number from one on", arguments: ["0", "-1", "x", ""])
  func limit(_ text: String) throws {
    let call = try Call([])
    let result = try call("get", "book", "--limit=\(text)")
    #expect(result.status == 2 && result.errors.contains("--limit"), "\(result)")
    #expect(try call.server.requests().isEmpty)
  }

  @Test(
    "a value of every type of column is JSON",
    arguments: [
      (StoredValue.null, ColumnType.text, "null"), (.integer(.min), .integer, "-9223372036854775808"),
      (.real(1.5), .real, "1.5"), (.integer(1), .boolean, "true"), (.integer(0), .boolean, "false"),
      (.text("a\"\n\u{1}\u{2028}/ü"), .text, "\"a\\\"\\n\\u0001\u{2028}/ü\""),
      (.text("12.50"), .decimal, "\"12.50\""), (.integer(0), .timestamp, "\"1970-01-01T00:00:00.000Z\""),
      (.text("2026-02-28"), .day, "\"2026-02-28\""), (.text("x"), .uuid, "\"x\""),
      (.blob([0, 255]), .blob, "\"AP8=\""), (.blob([]), .blob, "\"\""), (.text("[1,{}]"), .json, "[1,{}]"),
      (.real(.infinity), .real, "\"inf\""),
    ])
  func types(_ value: StoredValue, _ type: ColumnType, _ json: String) throws {
    #expect(value.json(as: type) == json)
    _ = try JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed)
  }

  @Test("a length of time is JSON")
  func duration() {
    let json = StoredValue.integer(1_500_000).json(as: .duration)
    #expect(json.hasPrefix("\"") && json.hasSuffix("\""), "\(json)")
  }

  @Test("--trace: a line for each page on standard error, also where all else is quiet")
  func trace() throws {
    let call = try Call([Self.books])
    let result = try call("once", "book", "--trace", "--quiet")
    #expect(result.status == 0 && result.output == "")
    #expect(
      result.errors.hasPrefix(
        "syncd: book: page 1: GET BASE/books → 200, N ms, N bytes, 5 records (5 new); "),
      "\(result)")
  }

  @Test("downloads that fail are told with the run, in JSON, and where all else is quiet; the status stays 0")
  func downloads() throws {
    let hero = Route(
      "/characters",
      body:
        #"{"data":{"total":1,"results":[{"id":1,"name":"n","thumbnail":{"path":"{{base}}/p","extension":"jpg"}}]}}"#
    )
    let call = try Call([hero])
    let text = try call("once", "hero")
    #expect(
      text.status == 0 && text.output.hasSuffix("; 0 downloads, 1 failed (BASE/p.jpg: HTTP 404)\n"), "\(text)"
    )
    let quiet = try call("once", "hero", "--quiet")
    #expect(quiet.output == "" && quiet.errors.contains("1 failed (BASE/p.jpg: HTTP 404)"), "\(quiet)")
    try call.server.serve([hero, Route("/p.jpg", body: "picture")])
    let json = try call("once", "hero", "--log-format", "json")
    #expect(
      json.output.contains(#""downloads":1"#) && json.output.contains(#""failedDownloads":0"#), "\(json)")
    #expect(try call.fixture.rows("SELECT image FROM hero") == "picture")
  }
}
