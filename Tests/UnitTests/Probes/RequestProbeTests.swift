import Foundation
import SQLiteStore
import TestSupport
import Testing

@testable import HTTP
@testable import SyncEngine

/// What is asked for: addresses, parameters, and declarations of them that cannot work.
@Suite("Requests as declared", .fewAtATime, .once)
struct RequestProbeTests {
  private func address(_ source: Source) throws -> String {
    try RequestTemplate(source, entity: "thing", parentColumns: []).request(parent: []).url.string
  }

  @Test("the queries of the API's URL, of the path and of the source become one")
  func queries() throws {
    let api = API("q", url: "https://h.example/v1?tenant=t")
    #expect(
      try address(Source(api, "things", query: ["a": "1"], paging: .none))
        == "https://h.example/v1/things?tenant=t&a=1")
    #expect(
      try address(Source(api, "things?b=2", query: ["a": "1"], paging: .none))
        == "https://h.example/v1/things?tenant=t&b=2&a=1")
  }

  @Test(
    "a path that no address can hold is refused, not cut",
    arguments: ["a\u{0}b", "a b", "a\nb?c=1", "a?b\u{0}"])
  func badPaths(_ path: String) {
    #expect(throws: PagingError.self) { try address(Source(.probe, path, paging: .none)) }
  }

  @Test(
    "a path that is a whole address is refused, and its password is not told", arguments: ["http", "HTTPS"])
  func wholeAddress(_ scheme: String) throws {
    let source = Source(.probe, "\(scheme)://user:hunter2@h.example/{x}", paging: .none)
    let error = #expect(throws: DeclarationError.self) { try address(source) }
    let message = error?.message ?? ""
    #expect(message.contains("is a whole address") && !message.contains("hunter2"), "\(message)")
  }

  @Test("a parent's value is one segment of the path, never a way out of it")
  func parentValues() throws {
    let source = Source(
      API("t", url: "https://h.example/v1/"), "posts/{parent.id}/comments", query: ["of": "{parent.id}"],
      paging: .none)
    let template = try RequestTemplate(source, entity: "comment", parentColumns: [])
    func address(_ value: String) throws -> String { try template.request(parent: [.text(value)]).url.string }
    #expect(
      try address("a b/..c?d")
        == "https://h.example/v1/posts/a%20b%2F..c%3Fd/comments?of=a%20b%2F..c%3Fd")
    for bad in ["", ".", "..", "../admin", "a/../b", "a/.", "..\\admin"] {
      #expect(throws: PagingError.self) { try address(bad) }
    }
  }

  struct Filter: Codable, ColumnValue { var genre: String }
  struct Search: QueryModel {
    var text = ""
    var filter: Filter?
    var from: Date?
    static var parameters: [Parameter<Search>] {
      Parameter(\.text, "q")
      Parameter(\.filter)
      Parameter(\.from, "since", .pattern("yyyy-MM-dd"))
    }
  }

  @Test(
    "values of a query model are sent as they are, braces too",
    arguments: ["a{b", "{{x}}", "}"])
  func braces(_ text: String) throws {
    let source = Source(.probe, "things", query: .model(Search(text: text)), paging: .none)
    #expect(try address(source) == "https://probe.example.invalid/things?q=\(percentEncoded(text))")
  }

  @Test("a value of JSON is a parameter like any other")
  func jsonParameter() throws {
    let source = Source(
      .probe, "things", query: .model(Search(text: "t", filter: Filter(genre: "Drama"))), paging: .none)
    #expect(
      try address(source)
        == "https://probe.example.invalid/things?q=t&filter=%7B%22genre%22%3A%22Drama%22%7D")
  }

  struct BadPattern: QueryModel {
    var from: Date?
    static var parameters: [Parameter<BadPattern>] { Parameter(\.from, "since", .pattern("yyyy-QQ")) }
  }
  struct BadlyDated: Entity {
    var id = 0
    static let source = Source(.probe, "things", query: .model(BadPattern()), paging: .none)
    static var mapping: Mapping<BadlyDated> { Key(\.id) }
  }

  @Test("a date pattern that cannot work is refused in a parameter as in a field")
  func parameterPattern() throws {
    let said = try fault(of: BadlyDated.self)
    #expect(said.hasPrefix("badly_dated: parameter \"since\": the date pattern \"yyyy-QQ\""), "\(said)")
  }

  struct Minutes: Entity {
    var id = 0
    var day: Date?
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Minutes> {
      Key(\.id)
      Field(\.day, .pattern("yyyy-mm-dd"))
    }
  }

  @Test("minutes without hours are months misspelt: yyyy-mm-dd is refused")
  func minutesForMonths() throws {
    let said = try fault(of: Minutes.self)
    expect(
      said,
      is:
        "minutes: column \"day\": the date pattern \"yyyy-mm-dd\" has mm, minutes, but no HH beside it: a month is MM"
    )
  }

  struct Bracketed: Entity {
    var id = 0
    var v: String?
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Bracketed> {
      Key(\.id)
      Field(\.v, .key("tags[]"))
    }
  }

  @Test("a key that is given as one key may hold any character")
  func bracketedKey() throws {
    let said = try fault(of: Bracketed.self)
    #expect(said == "accepted", "\(said)")
  }
}

/// Credentials that stand where they should not, and forms in which a server may repeat them.
@Suite("Secrets in other forms", .fewAtATime, .once)
struct SecretFormTests {
  private func redactor() async throws -> Redactor {
    TestEnvironment.prepare()
    let redactor = Redactor()
    let api = API(
      "probe", url: "https://h.example/",
      auth: .basic(user: .environment("PROBE_USER"), password: .environment("PROBE_PASSWORD")))
    let authorizer = try Authorizer(
      api, client: HTTPClient(transport: CurlTransport()),
      credentials: Credentials(redactor: redactor, store: SQLite.open(":memory:"), wait: .zero))
    var request = HTTPRequest(url: try HTTPURL("https://h.example/"))
    try await authorizer.authorize(&request)
    return redactor
  }

  @Test(
    "a secret is taken out plain, percent-encoded, and in the base64 of its header",
    arguments: [
      "key=a/b+c=d e", "key=a%2Fb%2Bc%3Dd%20e", "key=a/b%2bc=d%20e", "key=a%2Fb%2Bc%3Dd+e",
      "Basic dTphL2IrYz1kIGU=",
      "dTphL2IrYz1kIGU=",
    ])
  func forms(_ text: String) async throws {
    let left = try await redactor().redact(text)
    #expect(left.contains("***"), "\(left)")
  }

  struct Guarded: Entity {
    var id = 0
    static let source = Source(
      API(
        "probe", url: "https://probe.example.invalid/", auth: .bearer(.environment("PROBE_GUARD")),
        retry: .none),
      "things", rows: "data", paging: .cursor("next", parameter: "c"))
    static var mapping: Mapping<Guarded> { Key(\.id) }
  }

  @Test("a secret that a source repeats is in no message, wherever the message is cut")
  func repeated() async throws {
    TestEnvironment.prepare()
    let scene = try Scene()
    let front = String(repeating: "x", count: 116)
    let said = front + #"hidden\u00227\/ \u001b[2J\u2028"# + String(repeating: "y", count: 400)
    for routes in [
      [Route("/things", status: 403, body: #"{"message":"\#(said)"}"#)],
      [Route("/things", body: #"{"error":"\#(said)","data":[]}"#)],
      [Route("/things", body: #"{"error":"\#(said)","data":7}"#)],
      [Route("/things", body: #"{"data":[],"next":"\#(said)"}"#)],
      [Route("/things", answer: ["Content-Type": "\(front)hidden%227/"], body: "<html>")],
    ] {
      let line = try await scene.run(Guarded.self, routes)
      #expect(line.contains("xxx***") || line.contains("xxx…"), "\(line)")
      #expect(!line.contains("hidd") && !line.contains("\u{1B}") && !line.contains("\u{2028}"), "\(line)")
    }
  }
}
