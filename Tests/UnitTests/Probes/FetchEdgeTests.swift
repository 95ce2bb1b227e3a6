import HTTP
import Synchronization
import TestSupport
import Testing

@testable import SyncEngine

/// What a source may do beside its pages: blanks in addresses, echoes of keys, messages as text, statuses of its own.
@Suite(.timeLimit(.minutes(15)), .fewAtATime, .once)
struct FetchEdgeTests {
  private func run(_ source: Source, _ server: AnswerServer, _ fixture: Fixture) async -> String {
    let line = await Row.$source.withValue(source) {
      await outcome(of: fixture.engine(server, apis: ["pages"]), KeptRow.self)
    }
    return line.replacing(server.base, with: "BASE")
  }

  private static let one = #"{"data": [{"id": 1}]}"#

  @Test("a next link with blanks is followed, absolute and relative", arguments: ["", "{{base}}"])
  func blanks(_ base: String) async throws {
    let fixture = try Fixture()
    let server = try fixture.server()
    try server.serve([
      Route("/all", query: ["q": "a b"], body: #"{"data": [{"id": 2}]}"#),
      Route("/all", body: #"{"next": "\#(base)/all?q=a b", "data": [{"id": 1}]}"#),
    ])
    let line = await run(Source(.pages(), "all", rows: "data", paging: .next("next")), server, fixture)
    #expect(line.hasSuffix("2 inserted, 0 updated, 0 unchanged, 0 deleted, proven"), "\(line)")
    #expect(try server.requests().last?.target == "/all?q=a%20b")
  }

  @Test("a key that a next link repeats is sent once")
  func echoedKey() async throws {
    TestEnvironment.prepare()
    let fixture = try Fixture()
    let server = try fixture.server()
    try server.serve([
      Route("/all", query: ["p": "2"], body: #"{"data": [{"id": 2}]}"#),
      Route("/all", body: #"{"next": "/all?key=old&p=2&key=x&keys=y", "data": [{"id": 1}]}"#),
    ])
    let api = API(
      "pages", url: "https://pages.example.invalid/", auth: .query("key", .environment("NOT_MODIFIED_KEY")),
      retry: .none)
    _ = await run(Source(api, "all", rows: "data", paging: .next("next")), server, fixture)
    #expect(try server.requests().last?.target == "/all?p=2&keys=y&key=s3cret%2Fkey%2B1")
  }

  @Test("a failure shows what the server says, as text too")
  func messages() async throws {
    let fixture = try Fixture()
    let server = try fixture.server()
    for (type, body, said) in [
      ("text/plain", "quota for project 7 exhausted\n", ": quota for project 7 exhausted\\u{a}"),
      ("text/html", "<html>no</html>", ""), ("text/plain", " ", ""),
      ("application/json", #"{"errors": [], "title": "Sorry"}"#, ": Sorry"),
    ] {
      try server.serve([Route("/all", status: 403, answer: ["Content-Type": type], body: body)])
      let line = await run(Source(.pages(), "all", paging: .none), server, fixture)
      #expect(line == "thing: page 1 (BASE/all): HTTP 403 Forbidden\(said)")
    }
  }

  @Test("which statuses are tried again is declared")
  func retriedStatuses() async throws {
    let fixture = try Fixture()
    let server = try fixture.server()
    try server.serve([Route("/all", status: 403, times: 1), Route("/all", body: Self.one)])
    func api(_ statuses: Set<Int>) -> API {
      API(
        "pages", url: "https://pages.example.invalid/",
        retry: RetryPolicy(retries: 1, base: .milliseconds(1), statuses: statuses))
    }
    let busy = await run(Source(api([403]), "all", rows: "data", paging: .none), server, fixture)
    #expect(busy.hasSuffix("proven"), "\(busy)")
    try server.serve([Route("/all", status: 501, times: 1), Route("/all", body: Self.one)])
    let once = await run(Source(api([429]), "all", rows: "data", paging: .none), server, fixture)
    #expect(once == "thing: page 1 (BASE/all): HTTP 501")
  }

  @Test("an end status ends offsets and keysets, and proves the end of those that count, if asked twice")
  func endStatus() async throws {
    let offset = Source(
      .pages(), "offset", rows: "data", paging: .offset("offset", limit: "limit", size: 2, endStatus: [404]))
    let walk = try await PageServer.walk(offset, #"{"n": 4, "size": 2, "beyond": 404}"#, stock: 4)
    #expect(walk.isProven, "\(walk.line)")
    let keyset = Source(
      .pages(), "keyset", rows: "data",
      paging: .keyset("after", field: "n", size: 2, sizeParameter: "limit", endStatus: [404]))
    let fixture = try Fixture()
    let server = try fixture.server()
    try server.serve([
      Route("/keyset", query: ["after": "1"], status: 404),
      Route("/keyset", body: #"{"data": [{"id": 1, "n": 1}]}"#),
    ])
    let line = await run(keyset, server, fixture)
    #expect(line.hasSuffix("unproven: status 404 ended the pages"), "\(line)")
    try server.serve([Route("/keyset", status: 404)])
    #expect(await run(keyset, server, fixture).contains("HTTP 404"))
  }

  @Test("a keyset goes on behind the last record of a page, also one whose key is no text")
  func lastByKey() async throws {
    let source = Source(.pages(), "all", rows: .byKey("data"), paging: .keyset("after", field: "id"))
    let fixture = try Fixture()
    let server = try fixture.server()
    try server.serve([
      Route("/all", query: ["after": "2"], body: #"{"data": {"b": {"id": 3}}}"#),
      Route("/all", query: ["after": "3"], body: #"{"data": {}}"#),
      Route("/all", query: ["after": "1"], status: 500),
      Route("/all", body: #"{"data": {"a": {"id": 1}, "\ud800": {"id": 2}}}"#),
    ])
    let line = await run(source, server, fixture)
    #expect(line.contains("3 pages, 3 records, 3 inserted"), "\(line)")
  }

  @Test("more records than declared fail the run")
  func maxRecords() async throws {
    func line(_ limit: Int, of count: Int = 5) async throws -> String {
      try await PageServer.walk(
        Source(.pages(), "next", rows: "data", paging: .next("next"), maxRecords: limit),
        #"{"n": \#(count), "size": 2}"#, as: KeptRow.self
      ).line
    }
    #expect(try await line(5).hasSuffix("proven"))
    #expect(try await line(4) == "page 3 (BASE/next?p=2): more than 4 records came (maxRecords)")
    // Later pages are on their way meanwhile, and each has more: the first one is named.
    #expect(try await line(3, of: 20) == "page 2 (BASE/next?p=1): more than 3 records came (maxRecords)")
    #expect(
      await outcome(of: Engine(store: try Fixture().store), Unlimited.self)
        == "unlimited: maxRecords is 0; it has to be 1 or more")
  }

  private struct Unlimited: Entity {
    var id = 0
    static let source = Source(.pages(), "all", paging: .none, maxRecords: 0)
    static var mapping: Mapping<Unlimited> { Key(\.id) }
  }

  @Test("UTF-16 tells itself by its byte order mark, where no charset is declared")
  func byteOrderMark() throws {
    for (mark, isLittle) in [([0xFF, 0xFE], true), ([0xFE, 0xFF], false)] as [([UInt8], Bool)] {
      let units = "[{\"id\": 1, \"v\": \"ä\"}]".utf16.flatMap { unit -> [UInt8] in
        let bytes = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
        return isLittle ? bytes.reversed() : bytes
      }
      var response = HTTPResponse(
        status: 200, headers: ["Content-Type": "application/json"], body: mark + units,
        url: try HTTPURL("http://a.example/"))
      response.isEndKnown = true
      let root = try BodyReader(.json, rows: .list(.root), redactor: Redactor()).document(of: response).root
      #expect(root[0]?["v"]?.string == "ä")
    }
  }

  @Test("another origin is asked with nothing that was declared for the API")
  func foreignHeaders() async throws {
    let fixture = try Fixture()
    let (server, other) = (try fixture.server(), try AnswerServer([]))
    let port = other.base.split(separator: ":").last ?? ""
    let foreign = "http://localhost:\(port)"
    try server.serve([Route("/all", body: #"{"next": "\#(foreign)/all", "data": [{"id": 1}]}"#)])
    try other.serve([Route("/all", body: #"{"data": [{"id": 2}]}"#)])
    let api = API(
      "pages", url: "https://pages.example.invalid/",
      headers: ["X-Tenant": "plain", "Accept-Language": "no"],
      retry: .none, foreignOrigins: [foreign])
    let source = Source(api, "all", headers: ["X-Api-Key": "plain"], rows: "data", paging: .next("next"))
    let line = await run(source, server, fixture)
    #expect(line.hasSuffix("proven"), "\(line)")
    #expect(try server.requests().first?.headers["x-api-key"] == "plain")
    let asked = try #require(try other.requests().first).headers
    #expect(asked["x-tenant"] == nil && asked["x-api-key"] == nil && asked["accept-language"] == "no")
  }

  private struct Search: QueryModel {
    var tags = ["a b", "c"]
    var days: [Int] = []
    static var parameters: [Parameter<Search>] {
      Parameter(repeating: \.tags, "tag[]")
      Parameter(repeating: \.days)
    }
  }

  @Test("a list in a query model may be repeated parameters")
  func repeatedParameters() throws {
    let source = Source(.pages(), "all", query: .model(Search()), paging: .none)
    let template = try RequestTemplate(source, entity: "thing", parentColumns: [])
    #expect(
      try template.request(parent: []).url.string
        == "https://pages.example.invalid/all?tag%5B%5D=a%20b&tag%5B%5D=c")
  }

  @Test("explain shows the request that failed too")
  func explained() async throws {
    let fixture = try Fixture()
    let server = try fixture.server()
    try server.serve([Route("/all", status: 404, body: "{}")])
    let steps = Mutex<[String]>([])
    await Row.$source.withValue(Source(.pages(), "all", paging: .none)) {
      _ = try? await fixture.engine(server, apis: ["pages"]).explain(Row.self) { progress in
        if let step = progress.step { steps.withLock { $0.append("\(step.status) \(step.decision)") } }
      }
    }
    #expect(steps.withLock { $0 } == ["404 stop: it fails the run"])
  }
}
