import Foundation
import HTTP
import PostgresStore
import SyncEngine
import TestSupport

extension API {
  /// The API that the tests' servers play.
  static let place = API(
    "place", url: "https://place.example.invalid/", concurrency: 1,
    retry: RetryPolicy(retries: 1, base: .milliseconds(5)), breaker: .none)
}

/// A key and a text, page by page; what is gone at the source is deleted.
struct Item: Entity {
  var id = 0
  var v: String?
  static let source = Source(.place, "items", rows: "data", paging: .next("next"), resume: .never)
  static var mapping: Mapping<Item> {
    Key(\.id)
    Field(\.v)
  }
  static let deletion = Deletion<Item>.missing(atMost: 1)
}

/// A store at an address, a server of answers, and an engine between them.
final class Place: Sendable {
  let store: PostgreSQL
  let server: AnswerServer
  let engine: Engine

  init(_ url: String, busyLimit: Duration = .seconds(60), wait: Duration = .seconds(60)) throws {
    store = try PostgreSQL.open(url, options: StoreOptions(busyLimit: busyLimit))
    server = try AnswerServer([])
    engine = Engine(store: store, options: .init(urls: ["place": server.base + "/"], wait: wait))
  }

  /// One run: its line or its failure.
  func run(_ entity: any Entity.Type, _ body: String) async throws -> String {
    try server.serve([Route("/items", body: body)])
    return await outcome(of: engine, entity).replacing(server.base, with: "BASE")
  }

  func run(_ body: String) async throws -> String { try await run(Item.self, body) }

  /// Items 1 to 3 with this text, one on each page.
  static func pages(_ text: String, pause: Double? = nil) -> [Route] {
    [
      Route(
        "/items", query: ["p": "3"], body: #"{"data":[{"id":3,"v":"\#(text)"}]}"#,
        fault: pause == nil ? nil : "slow", pause: pause),
      Route("/items", query: ["p": "2"], body: #"{"data":[{"id":2,"v":"\#(text)"}],"next":"?p=3"}"#),
      Route("/items", body: #"{"data":[{"id":1,"v":"\#(text)"}],"next":"?p=2"}"#),
    ]
  }

  /// The line of a run over ``pages(_:pause:)``, with something that happens when two of the three pages are read.
  func walk(_ text: String, _ meanwhile: @escaping @Sendable () throws -> Void = {}) async throws -> String {
    try server.serve(Self.pages(text))
    do {
      return line(
        try await engine.sync(Item.self) { progress in
          guard progress.step?.page == 2 else { return }
          do { try meanwhile() } catch { preconditionFailure("\(error)") }
        })
    } catch { return "\(error)" }
  }
}

/// A value that another thread sets and this one reads when that has ended.
final class Slot<Value>: @unchecked Sendable {
  // Sendable: it is set before it is read, which the one who waits sees to.
  var value: Value?
}

/// What an asynchronous function gives, for who cannot wait otherwise.
func blocking<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value {
  let (slot, done) = (Slot<Value>(), DispatchSemaphore(value: 0))
  Task.detached {
    slot.value = await body()
    done.signal()
  }
  done.wait()
  guard let value = slot.value else { preconditionFailure("the task has ended") }
  return value
}
