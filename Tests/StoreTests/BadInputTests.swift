import Foundation
import SyncEngine
import TestSupport
import Testing

/// Whatever a source answers, the run says what is wrong and the table is as before.
@Suite("Bad input", .fewAtATime)
struct BadInputTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let routes: [Route]
    /// The message, with BASE for the server's address.
    let message: String

    init(_ name: String, _ routes: [Route], _ message: String) {
      (testDescription, self.routes, self.message) = (name, routes, message)
    }

    init(_ name: String, body: String, _ message: String) {
      self.init(name, [Route("/items", body: body)], message)
    }
  }

  static let first = "item: page 1 (BASE/items): "
  static let second = "item: page 2 (BASE/items?p=2): "
  private static let pageOne = Route(
    "/items", body: #"{"data":[{"id":1,"v":"NEW"},{"id":9,"v":"NEW"}],"next":"?p=2"}"#)
  private static func pageTwo(
    status: Int? = nil, body: String? = nil, times: Int? = nil, fault: String? = nil,
    answer: [String: String]? = nil
  ) -> Route {
    Route("/items", query: ["p": "2"], status: status, answer: answer, body: body, times: times, fault: fault)
  }

  static let cases: [Case] = [
    Case("404", [], first + "HTTP 404 Not Found: no such route: /items"),
    Case(
      "500", [Route("/items", status: 500, body: "oops")],
      first + "HTTP 500 Internal Server Error (after 3 attempts)"),
    Case("204", [Route("/items", status: 204)], first + "HTTP 204 No Content"),
    Case(
      "HTML", [Route("/items", answer: ["Content-Type": "text/html"], body: "<!DOCTYPE html><html></html>")],
      first + "the body is HTML, not JSON (HTTP 200, text/html); it begins with <!DOCTYPE html><html></html>"),
    Case(
      "an empty body", body: "", first + "the body is empty, not JSON (HTTP 200, application/json)"),
    Case(
      "a document cut short", body: #"{"data":[{"id":1},{"id":2"#,
      first
        + #"the body is not JSON (HTTP 200, application/json): the document ends too early (at byte 25); it begins with {"data":[{"id":1},{"id":2"#
    ),
    Case(
      "something behind the document", body: #"{"data":[]} {"data":[]}"#,
      first
        + #"the body is not JSON (HTTP 200, application/json): something follows the end of the document (at byte 12); it begins with {"data":[]} {"data":[]}"#
    ),
    Case(
      "no list", body: #"{"items":[]}"#, first + "\"data\" has to be a list of records, but there is nothing"),
    Case(
      "a null list", body: #"{"data":null}"#, first + "\"data\" has to be a list of records, but it is null"),
    Case(
      "a number for a list", body: #"{"data":0}"#,
      first + "\"data\" has to be a list of records, but it is a number"),
    Case(
      "an object for a list", body: #"{"data":{"id":1}}"#,
      first + "\"data\" has to be a list of records, but it is an object"),
    Case(
      "a root that is a list", body: "[]",
      first + "\"data\" has to be a list of records, but the answer is an array"),
    Case(
      "the list twice", body: #"{"data":[],"data":[{"id":1}]}"#,
      first + "\"data\" has to be a list of records, but the key \"data\" stands twice"),
    Case(
      "an error with status 200", body: #"{"error":{"code":7,"message":"quota"}}"#,
      first
        + #""data" has to be a list of records, but there is nothing; the answer says error: {"code":7,"message":"quota"}"#
    ),
    Case(
      "a record without its key", body: #"{"data":[{"id":1,"v":"NEW"},{"v":"x"}]}"#,
      "item: 1 bad record, nothing was written:\n  page 1, record 2, field \"id\": the key is missing"),
    Case(
      "page two is 404", [pageTwo(status: 404, body: #"{"message":"gone"}"#), pageOne],
      second + "HTTP 404 Not Found: gone"),
    Case(
      "page two is 502 for good", [pageTwo(status: 502), pageOne],
      second + "HTTP 502 Bad Gateway (after 3 attempts)"),
    Case("page two is 401", [pageTwo(status: 401), pageOne], second + "HTTP 401 Unauthorized"),
    Case(
      "page two has no list", [pageTwo(body: #"{"message":"sorry"}"#), pageOne],
      second + "\"data\" has to be a list of records, but there is nothing"),
    Case(
      "page two has a bad record", [pageTwo(body: #"{"data":[{"id":"x"}]}"#), pageOne],
      "item: 1 bad record, nothing was written:\n  page 2, record 1 (id x), field \"id\": \"x\" is not an integer of 64 bits"
    ),
    Case(
      "a next link to another origin",
      [Route("/items", body: #"{"data":[],"next":"https://elsewhere.example/items"}"#)],
      first
        + "the next link leads to another origin, https://elsewhere.example; if that is right, declare it: foreignOrigins: [\"https://elsewhere.example\"]"
    ),
    Case(
      "a next link to another scheme", [Route("/items", body: #"{"data":[],"next":"file:///etc/passwd"}"#)],
      first
        + "the next link: \"file:///etc/passwd\" is not a usable address: it has to begin with http:// or https://"
    ),
    Case(
      "a next link that is a number", [Route("/items", body: #"{"data":[],"next":2}"#)],
      first + "the next link at \"next\" is a number, not an address"),
    Case(
      "a next link to itself", [Route("/items", body: #"{"data":[{"id":1,"v":"NEW"}],"next":"/items"}"#)],
      first + "the next page is one that was asked for already (BASE/items): the pages go round in a loop"),
    Case(
      "a loop of three",
      [
        Route("/items", query: ["p": "3"], body: #"{"data":[{"id":7}],"next":"/items?p=1"}"#),
        Route("/items", query: ["p": "2"], body: #"{"data":[{"id":6}],"next":"?p=3"}"#),
        Route("/items", body: #"{"data":[{"id":5}],"next":"?p=2"}"#),
        Route("/items", query: ["p": "1"], body: #"{"data":[{"id":5}],"next":"?p=2"}"#),
      ],
      "item: page 4 (BASE/items?p=1): the next page is one that was asked for already (BASE/items?p=2): the pages go round in a loop"
    ),
    Case(
      "a redirect to another origin",
      [Route("/items", status: 302, answer: ["Location": "http://elsewhere.example/"], body: "")],
      first + "a redirect leads to another origin, http://elsewhere.example, which is not declared"),
    Case(
      "a redirect to itself", [Route("/items", status: 302, answer: ["Location": "/items"], body: "")],
      first + "more than 5 redirects"),
  ]

  @Test("fails the run with its page and reason, and leaves the table alone", arguments: cases)
  func fails(_ bad: Case) async throws {
    let stocked = try Stocked()
    try stocked.server.serve(bad.routes)
    let line = await outcome(of: stocked.engine, Item.self)
    expect(line.replacingOccurrences(of: stocked.server.base, with: "BASE"), is: bad.message)
    expect(try stocked.rows(), is: Stocked.before)
    let recorded = try stocked.fixture.rows(
      "SELECT outcome, inserted + updated + deleted, 'item: ' || reason FROM syncd_runs")
    expect(
      recorded.replacingOccurrences(of: stocked.server.base, with: "BASE"), is: "failed | 0 | \(bad.message)")
  }

  @Test("a broken connection fails the run after its attempts", arguments: ["cut", "reset"])
  func broken(_ fault: String) async throws {
    let stocked = try Stocked()
    try stocked.server.serve([
      Self.pageTwo(body: #"{"data":[{"id":1,"v":"NEW"},{"id":2},{"id":3}]}"#, fault: fault), Self.pageOne,
    ])
    let line = await outcome(of: stocked.engine, Item.self)
    #expect(
      line.hasPrefix("item: page 2 (\(stocked.server.base)/items?p=2): the answer was cut short: "), "\(line)"
    )
    #expect(line.hasSuffix("(after 3 attempts)"), "\(line)")
    expect(try stocked.rows(), is: Stocked.before)
    // libcurl sends once more by itself where a kept connection turns out to be dead.
    let asked = try stocked.server.requests().map(\.target).filter { $0 == "/items?p=2" }.count
    #expect(fault == "cut" ? asked == 3 : (3...4).contains(asked), "\(asked)")
  }

  @Test("a fault that passes is retried, and the result is complete")
  func recovers() async throws {
    let stocked = try Stocked()
    try stocked.server.serve([
      Self.pageTwo(status: 503, times: 1, answer: ["Retry-After": "0"]),
      Self.pageTwo(
        body: #"{"data":[{"id":2,"v":"b"},{"id":3,"v":"c"},{"id":4,"v":"d"}]}"#, times: 1, fault: "cut"),
      Self.pageTwo(body: #"{"data":[{"id":2,"v":"b"},{"id":3,"v":"c"},{"id":4,"v":"d"}]}"#), Self.pageOne,
    ])
    expect(
      await outcome(of: stocked.engine, Item.self),
      is: "item: 2 pages, 5 records, 1 inserted, 1 updated, 3 unchanged, 0 deleted, proven")
  }

  @Test("a cancelled run ends at once with nothing written")
  func cancelled() async throws {
    let stocked = try Stocked()
    try stocked.server.serve([Self.pageTwo(body: "{}", fault: "stall"), Self.pageOne])
    let engine = stocked.engine
    let task = Task { try await engine.sync(Item.self) }
    while try stocked.server.requests().count < 2 { try await Task.sleep(for: .milliseconds(10)) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    expect(try stocked.rows(), is: Stocked.before)
    // Nothing is held: the next run goes ahead.
    try stocked.server.serve([Route("/items", body: "{\"data\":[\(stockedRecords)]}")])
    let options = Engine.Options(urls: engine.options.urls, resumes: false)
    let next = await outcome(of: Engine(store: stocked.fixture.store, options: options), Item.self)
    #expect(next.hasSuffix("4 unchanged, 0 deleted, proven"), "\(next)")
  }

  struct CursorItem: Entity {
    var id = 0
    var v: String?
    static let table = "item"
    static let source = Source(
      .test, "items", rows: "data", paging: .cursor("c", parameter: "c"), maxPages: 3)
    static var mapping: Mapping<CursorItem> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<CursorItem>.missing
  }

  @Test(
    "a cursor that repeats is a loop, one that never ends meets the limit, one of the wrong kind is refused")
  func cursors() async throws {
    let stocked = try Stocked()
    func run(_ routes: [Route]) async throws -> String {
      try stocked.server.serve(routes)
      return await outcome(of: stocked.engine, CursorItem.self).replacingOccurrences(
        of: stocked.server.base, with: "BASE")
    }
    expect(
      try await run([Route("/items", body: #"{"data":[{"id":1}],"c":"same"}"#)]),
      is: "item: page 2 (BASE/items?c=same): the cursor \"same\" repeats: the pages go round in a loop")
    expect(
      try await run([
        Route("/items", query: ["c": "2"], body: #"{"data":[{"id":1}],"c":3}"#),
        Route("/items", query: ["c": "1"], body: #"{"data":[{"id":1}],"c":2}"#),
        Route("/items", body: #"{"data":[{"id":1}],"c":1}"#),
      ]),
      is: "item: page 3 (BASE/items?c=2): the limit of 3 pages is reached, and more are pending (maxPages)")
    expect(
      try await run([Route("/items", body: #"{"data":[{"id":1}],"c":{"a":1}}"#)]),
      is: "item: page 1 (BASE/items): the cursor at \"c\" is an object, not a text or a number")
    expect(try stocked.rows(), is: Stocked.before)
  }
}
