import Foundation
import PostgresStore
import SyncEngine
import Synchronization
import TestSupport

/// A schema of a server, an API, and the workers that share what there is to do.
final class SharedPlace: Sendable {
  let schema: PostgresSchema
  let server: AnswerServer

  init() throws { (schema, server) = (try PostgresSchema(), try AnswerServer([])) }

  /// The rows of statements in the words of PostgreSQL.
  @discardableResult
  func rows(_ sql: String) throws -> String { try Postgres.rows(schema.url, sql) }

  /// A worker that has joined.
  func worker(
    _ name: String = "one", _ entities: any Entity.Type..., every: Duration = .seconds(3600),
    options: Engine.Options = .init()
  ) async throws -> SharedWorker {
    let worker = try SharedWorker(self, name, entities, every: every, options)
    _ = try await worker.renew()
    return worker
  }

  /// An engine that shares nothing, as that of `once`.
  func engine(_ options: Engine.Options = .init()) throws -> Engine {
    Engine(store: try PostgreSQL.open(schema.url), options: here(options))
  }

  func here(_ options: Engine.Options) -> Engine.Options {
    var options = options
    options.urls = ["place": server.base + "/"]
    if options.rates.isEmpty { options.rates = ["place": .unlimited] }
    return options
  }

  /// Lets units be due, of those for which a condition holds.
  func due(_ condition: String = "true") throws {
    try rows(
      "UPDATE syncd_units SET ready_at = clock_timestamp() - interval '1 second' WHERE holder IS NULL AND (\(condition))"
    )
  }

  /// Ends the lease of a worker that says nothing.
  func expire(_ worker: SharedWorker) throws {
    try rows(
      "UPDATE syncd_workers SET expires_at = clock_timestamp() - interval '1 second' WHERE id = \(worker.id)")
  }

  func units(_ columns: String = "holder IS NOT NULL, fence, failures") throws -> String {
    try rows(
      "SELECT entity || CASE slice WHEN '' THEN '' ELSE '[' || slice || ']' END, \(columns) FROM syncd_units ORDER BY entity, slice"
    )
  }

  /// The API's answers: owners, and the lines of each.
  func serve(owners: [Int: [Int]], text: String = "a", _ more: [Route] = []) throws {
    let list = owners.keys.sorted().map { #"{"id":\#($0)}"# }.joined(separator: ",")
    try server.serve(
      more + [Route("/owners", body: "[\(list)]")]
        + owners.map { owner, lines in
          Route(
            "/owners/\(owner)/lines",
            body: "[" + lines.map { #"{"n":\#($0),"v":"\#(text)"}"# }.joined(separator: ",") + "]")
        })
  }
}

/// What one program does: a store, an engine and a part of the work.
final class SharedWorker: Sendable {
  let store: PostgreSQL
  let engine: Engine
  let queue: any WorkQueue
  let entities: [any Entity.Type]
  private let every: Duration
  private let held = Mutex<Set<Claim>>([])

  /// - Parameter url: where the store is, if not in the place's schema.
  init(
    _ place: SharedPlace, _ name: String, _ entities: [any Entity.Type], every: Duration = .seconds(3600),
    _ options: Engine.Options = .init(), url: String? = nil
  ) throws {
    store = try PostgreSQL.open(url ?? place.schema.url)
    engine = Engine(store: store, options: place.here(options))
    guard let queue = store.workQueue(worker: name, lease: .seconds(600)) else {
      throw TestFailure("no queue")
    }
    (self.queue, self.entities, self.every) = (queue, entities, every)
  }

  var id: Int64 { queue.worker ?? 0 }

  func renew() async throws -> Bool { try await queue.renew(holding: held.withLock { $0 }) }

  /// Whether it finds that its lease has ended. That of its connection may be seen first.
  func joinsAgain() async throws -> Bool {
    do { return try await !renew() } catch is StoreError { return try await !renew() }
  }

  /// Claims of what is due, in the order of their names.
  func claim(
    limit: Int = 1000, blockers: [String: Set<String>] = [:], schedule: Schedule? = nil
  ) async throws -> [Claim] {
    let schedule = schedule ?? Schedule(every: every)
    let schedules = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, schedule) })
    let found = try await queue.claim(schedules, blockers: blockers, limit: limit).claims
    held.withLock { $0.formUnion(found) }
    return found.sorted { $0.unit.name < $1.unit.name }
  }

  /// Forgets claims, as one whose answer was lost.
  func forget() { held.withLock { $0 = [] } }

  /// Runs a unit and gives it back where it fails: what became of it, in one line.
  ///
  /// - Parameter queue: in place of the worker's own.
  func run(_ claim: Claim, in queue: (any WorkQueue)? = nil) async -> String {
    defer { _ = held.withLock { $0.remove(claim) } }
    guard let entity = entities.first(where: { $0.name == claim.unit.entity }) else { return "?" }
    do {
      switch try await engine.run(claim, of: entity, in: queue ?? self.queue) {
      case .committed(let report): return line(report)
      case .cut(let slices, let added, let removed):
        return "\(claim.unit.name): \(slices) slices, \(added) new, \(removed) gone"
      }
    } catch {
      let isRefused = (error as? SyncError)?.kind == .refused
      try? await self.queue.release(claim, wait: isRefused ? nil : .seconds(3600), isFailure: true)
      return "\(error)"
    }
  }

  /// Does what is due, and what is due after that, until nothing is.
  func work(blockers: [String: Set<String>] = [:]) async throws -> [String] {
    var lines: [String] = []
    while true {
      let claims = try await claim(blockers: blockers)
      if claims.isEmpty { return lines }
      for claim in claims { lines.append(await run(claim)) }
    }
  }
}

/// A queue in which something happens at a moment of a run.
final class InterruptedQueue: WorkQueue {
  private let queue: any WorkQueue
  private let afterGeneration: @Sendable () async throws -> Void
  private let afterSlices: @Sendable () async throws -> Void

  init(
    _ queue: any WorkQueue, afterGeneration: @escaping @Sendable () async throws -> Void = {},
    afterSlices: @escaping @Sendable () async throws -> Void = {}
  ) {
    (self.queue, self.afterGeneration, self.afterSlices) = (queue, afterGeneration, afterSlices)
  }

  var worker: Int64? { queue.worker }
  func renew(holding claims: Set<Claim>) async throws -> Bool { try await queue.renew(holding: claims) }
  func claim(
    _ schedules: [String: Schedule], blockers: [String: Set<String>], limit: Int
  ) async throws -> ClaimedWork {
    try await queue.claim(schedules, blockers: blockers, limit: limit)
  }
  func release(_ claim: Claim, wait: Duration?, isFailure: Bool) async throws {
    try await queue.release(claim, wait: wait, isFailure: isFailure)
  }
  func cut(_ claim: Claim, into slices: [String]) async throws -> (added: Int, removed: Int) {
    try await queue.cut(claim, into: slices)
  }
  func generation(of entity: String) async throws -> SliceGeneration {
    let found = try await queue.generation(of: entity)
    try await afterGeneration()
    return found
  }
  func slices(of entity: String, _ body: @escaping @Sendable (SliceRecord) -> Void) async throws {
    try await queue.slices(of: entity, body)
    try await afterSlices()
  }
  func runNow(_ entities: [String]) async throws { try await queue.runNow(entities) }
  func leave() async { await queue.leave() }
}
