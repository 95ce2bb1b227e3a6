import HTTP
import SyncEngine
import TestSupport

extension API {
  /// The API that unit tests' servers play; it loses no time between attempts.
  static let test = API(
    "test", url: "https://test.example.invalid/", concurrency: 1,
    retry: RetryPolicy(retries: 2, base: .milliseconds(5)),
    breaker: .none)
}

/// An entity with a key and one text, asked for in one page; its deletions are reconciled.
struct Item: Entity {
  var id = 0
  var v: String?
  static let source = Source(.test, "items", rows: "data", paging: .next("next"), maxPages: 20)
  static var mapping: Mapping<Item> {
    Key(\.id)
    Field(\.v)
  }
  static let deletion = Deletion<Item>.missing
}

/// A store that holds items 1 to 4, and an engine on a server.
struct Stocked {
  let fixture: Fixture
  let server: AnswerServer
  let engine: Engine

  static let before = "1 | a\n2 | b\n3 | c\n4 | d"

  init(table: String = "item") throws {
    fixture = try Fixture()
    try fixture.execute(
      "CREATE TABLE \(table) (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO \(table) VALUES (1,'a'),(2,'b'),(3,'c'),(4,'d')"
    )
    server = try AnswerServer([])
    engine = fixture.engine(server, apis: ["test"])
  }

  func rows(_ table: String = "item") throws -> String {
    try fixture.rows("SELECT id, v FROM \(table) ORDER BY id")
  }
}

/// The records 1 to 4 as they stand in a ``Stocked`` store, as JSON.
let stockedRecords = #"{"id":1,"v":"a"},{"id":2,"v":"b"},{"id":3,"v":"c"},{"id":4,"v":"d"}"#

/// One run of an entity over one answer, in a store of its own or a given one: the run's line and the rows.
func sync<E: Entity>(
  _ entity: E.Type, _ body: String, in fixture: Fixture? = nil, path: String = "/items"
) async throws -> (line: String, rows: String) {
  let fixture = try fixture ?? Fixture()
  let server = try fixture.server()
  try server.serve([Route(path, body: body)])
  let line = await outcome(of: fixture.engine(server, apis: ["test"]), entity)
  let rows = (try? fixture.rows("SELECT * FROM \"\(E.table)\" ORDER BY 1")) ?? "no table"
  return (line, rows)
}
