import Foundation
import HTTP
import Synchronization
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

/// Servers for one test at a time each. There are few, since starting one costs more than most tests do.
private enum Servers {
  private struct State {
    var idle: [AnswerServer] = []
    var places = 12
    var waiting: [(id: Int, continuation: CheckedContinuation<Void, Never>)] = []
    var lastID = 0
    /// Servers that were taken or given back so far.
    var moves = 0
  }

  private static let state = Mutex(State())
  /// The servers end with the program.
  private static let cleanUp: Void = { _ = atexit { Servers.state.withLock { $0.idle = [] } } }()

  static func take() async throws -> AnswerServer {
    cleanUp
    await withCheckedContinuation { continuation in
      let id: Int? = state.withLock { state in
        if state.places == 0 {
          state.lastID += 1
          state.waiting.append((state.lastID, continuation))
          return state.lastID
        }
        state.moves += 1
        state.places -= 1
        return nil
      }
      guard let id else { return continuation.resume() }
      // Tests that hold a server and wait for another one may wait for each other: where nothing moves for a while,
      // there is one more.
      Task {
        var seen = -1
        while let moves = state.withLock({ $0.waiting.contains { $0.id == id } ? $0.moves : nil }) {
          if moves == seen {
            let continuation = state.withLock { state in
              state.moves += 1
              return state.waiting.firstIndex { $0.id == id }.map {
                state.waiting.remove(at: $0).continuation
              }
            }
            continuation?.resume()
            return
          }
          seen = moves
          try await Task.sleep(for: .seconds(20))
        }
      }
    }
    if let server = state.withLock({ $0.idle.popLast() }) { return server }
    return try AnswerServer([])
  }

  static func giveBack(_ server: AnswerServer) {
    let next = state.withLock { state in
      state.idle.append(server)
      state.moves += 1
      if state.waiting.isEmpty {
        state.places += 1
        return nil as CheckedContinuation<Void, Never>?
      }
      return state.waiting.removeFirst().continuation
    }
    next?.resume()
  }
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
  init(_ setup: String = "") async throws {
    fixture = try Fixture()
    if !setup.isEmpty { try fixture.execute(setup) }
    server = try await Servers.take()
    engine = fixture.engine(server, apis: ["probe"], wait: .seconds(10))
    _ = try answer("/_reset")
    try serve([])
  }

  deinit { Servers.giveBack(server) }

  /// Replaces all routes. Through files: another program that is started meanwhile may inherit a pipe.
  func serve(_ routes: [Route]) throws {
    let file = fixture.folder.path + "/routes.json"
    try JSONEncoder().encode(routes).write(to: URL(fileURLWithPath: file))
    let result = try Shell.result(["curl", "-s", "--data-binary", "@\(file)", server.base + "/_routes"])
    if result.status != 0 { throw TestFailure("the routes were not taken: \(result.errors)") }
  }

  private func answer(_ path: String) throws -> String {
    try Shell.result(["curl", "-s", server.base + path]).output
  }

  func requests() throws -> [AnswerServer.Request] {
    try JSONDecoder().decode([AnswerServer.Request].self, from: Data(answer("/_log").utf8))
  }

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
