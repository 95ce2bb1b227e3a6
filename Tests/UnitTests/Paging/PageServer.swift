import Foundation
import Synchronization
import SyncEngine
import TestSupport

/// A row of what `Tests/Support/pages.py` serves. Its source is the test's own.
struct Row: Entity {
  var id = 0
  var v: String?
  static let table = "thing"
  @TaskLocal static var source = Source(.pages(), "all", paging: .none)
  static var mapping: Mapping<Row> {
    Key(\.id)
    Field(\.v)
  }
  static let deletion = Deletion<Row>.missing
}

/// The same without a deletion.
struct KeptRow: Entity {
  var id = 0
  var v: String?
  static let table = "thing"
  static var source: Source { Row.source }
  static var mapping: Mapping<KeptRow> {
    Key(\.id)
    Field(\.v)
  }
}

extension API {
  static func pages(concurrency: Int = 1) -> API {
    API("pages", url: "https://pages.example.invalid/", concurrency: concurrency, retry: .none)
  }
}

/// What a walk asked for and what came of it.
struct PageWalk {
  /// Without the entity's name; `BASE` stands for the server's address.
  var line: String
  var requests: [String]
  /// Most requests under way at once.
  var peak: Int
  var ids: [Int]

  var isProven: Bool { line.hasSuffix("proven") && !line.hasSuffix("unproven") }
  var list: String { requests.joined(separator: "\n") }
}

/// The server of all paging tests, which ends with the program, and a session of it for each walk.
enum PageServer {
  private static let process = Result { try ServerProcess(script: "pages.py") }
  private static let sessions = Atomic(0)
  private static let base = Result { "http://127.0.0.1:\(try process.get().port())" }

  private static func curl(_ words: String...) throws -> Data {
    let result = try Shell.result(["curl", "-sS"] + words)
    if result.status != 0 { throw TestFailure(result.errors) }
    return Data(result.output.utf8)
  }

  private struct Log: Decodable {
    var requests: [String]
    var peak: Int
  }

  /// Walks over the pages of a server with these options, into a table that holds things 1 to `stock` and thing 99.
  ///
  /// - Parameter options: see `Tests/Support/pages.py`.
  static func walk(
    _ source: Source, _ options: String, stock: Int = 0, as entity: any Entity.Type = Row.self
  ) async throws -> PageWalk {
    let session = "\(try base.get())/s\(sessions.add(1, ordering: .relaxed).newValue)"
    _ = try curl("-X", "PUT", "--data-binary", options, session + "/_options")
    let fixture = try Fixture()
    let things = ((stock > 0 ? Array(1...stock) : []) + [99]).map { "(\($0), 'v\($0)')" }
    try fixture.execute(
      """
      CREATE TABLE thing (id INTEGER PRIMARY KEY, v TEXT);
      INSERT INTO thing VALUES \(things.joined(separator: ","));
      """)
    let engine = Engine(store: fixture.store, options: .init(urls: ["pages": session + "/"]))
    let line = await Row.$source.withValue(source) { await outcome(of: engine, entity) }
    let log = try JSONDecoder().decode(Log.self, from: curl(session + "/_log"))
    return PageWalk(
      line: line.replacing("\(entity.table): ", with: "", maxReplacements: 1).replacing(
        session, with: "BASE"),
      requests: log.requests, peak: log.peak,
      ids: try fixture.rows("SELECT id FROM thing ORDER BY id").split(separator: "\n").compactMap {
        Int($0)
      })
  }
}
