import Foundation
import HTTP
import SyncEngine
import TestSupport

extension API {
  /// The API that the probes' servers play. Retries cost next to no time.
  static let probe = API(
    "probe", url: "https://probe.example.invalid/", concurrency: 1,
    retry: RetryPolicy(retries: 2, base: .milliseconds(5)),
    breaker: .none)
}

/// A key and a text, page by page by next link; what is gone at the source is deleted.
struct Thing: Entity {
  var id = 0
  var v: String?
  static let source = Source(.probe, "things", rows: "data", paging: .next("next"), maxPages: 6)
  static var mapping: Mapping<Thing> {
    Key(\.id)
    Field(\.v)
  }
  static let deletion = Deletion<Thing>.missing
}

/// A store, a server and an engine between them, for one test.
final class Scene: Sendable {
  let fixture: Fixture
  let server: AnswerServer
  let engine: Engine

  /// Four rows of ``Thing`` that no run has written.
  static let stock = """
    CREATE TABLE thing (id INTEGER PRIMARY KEY, v TEXT);
    INSERT INTO thing VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');
    """

  /// - Parameter setup: SQL that is run before anything else.
  init(_ setup: String = "") throws {
    fixture = try Fixture()
    if !setup.isEmpty { try fixture.execute(setup) }
    server = try AnswerServer([])
    engine = fixture.engine(server, apis: ["probe"])
  }

  func serve(_ routes: [Route]) throws { try server.serve(routes) }

  func requests() throws -> [AnswerServer.Request] { try server.requests() }

  /// One run: its line, or its failure, with `BASE` for the server's address.
  func run(_ entity: any Entity.Type, _ routes: [Route]) async throws -> String {
    try serve(routes)
    return await outcome(of: engine, entity).replacingOccurrences(of: server.base, with: "BASE")
  }

  func run(_ entity: any Entity.Type, _ body: String) async throws -> String {
    try await run(entity, [Route("/things", body: body)])
  }

  func rows(_ sql: String = "SELECT * FROM thing ORDER BY 1") throws -> String { try fixture.rows(sql) }
}

/// A route of the list of things.
func things(_ body: String, query: [String: String]? = nil, times: Int? = nil) -> Route {
  Route("/things", query: query, body: body, times: times)
}

/// `{"data": […]}` with things of these ids, whose texts are `a`, `b`, …, and more members of the envelope.
func list(_ ids: [Int], _ more: String = "") -> String {
  let letters = Array("abcdefghijklmnopqrstuvwxyz")
  let records = ids.map { #"{"id":\#($0),"v":"\#(letters[$0 - 1])"}"# }.joined(separator: ",")
  return #"{"data":[\#(records)]\#(more.isEmpty ? "" : "," + more)}"#
}

/// Why declarations are refused, or `accepted`.
func fault(of entities: any Entity.Type...) throws -> String {
  do {
    try Engine(store: try Fixture().store).prepare(entities)
    return "accepted"
  } catch let error as DeclarationError { return error.message }
}
