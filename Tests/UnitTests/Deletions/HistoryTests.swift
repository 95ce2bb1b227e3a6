import Foundation
import HTTP
import SQLiteStore
import Synchronization
import SyncEngine
import TestSupport
import Testing

/// A row of a source that changes at random.
struct ModelRow: Entity {
  var id = 0
  var v = 0
  @TaskLocal static var source = Source(.model(), "rows", paging: .none)
  static let deletion = Deletion<ModelRow>.missing(atMost: 1, allowEmpty: true)
  static var mapping: Mapping<ModelRow> {
    Key(\.id)
    Field(\.v)
  }
}

extension API {
  fileprivate static func model(concurrency: Int = 1) -> API {
    API(
      "model", url: "http://model.example.invalid/", concurrency: concurrency,
      retry: RetryPolicy(retries: 1, base: .zero), breaker: .none)
  }
}

/// A source in memory: rows in an order of its own, given page by page, that changes between and during runs, and fails.
private final class ModelSource: Transport {
  enum Style: String, CaseIterable { case all, cursor, keyset, offset, offsetTotal, page, pageTotal }

  struct State {
    var rows: [(id: Int, v: Int)] = []
    var lastID = 0
    var random: SeededGenerator
    /// How likely a request fails, and how likely the source changes before one, in percent.
    var faults = 0
    var changes = 0
    /// Rows that were there during all of the run.
    var steady: Set<Int> = []
    /// Whether anything was spoilt in the run.
    var isSpoilt = false
  }

  let style: Style
  let state: Mutex<State>
  static let size = 3

  init(_ style: Style, seed: UInt64) {
    self.style = style
    state = Mutex(State(random: SeededGenerator(seed)))
  }

  var paging: Paging {
    switch style {
    case .all: .none
    case .cursor: .cursor("next", parameter: "after")
    case .keyset: .keyset("above", field: "id", size: Self.size)
    case .offset: .offset("offset", size: Self.size)
    case .offsetTotal: .offset("offset", size: Self.size, total: "total")
    case .page: .page("page", size: Self.size)
    case .pageTotal: .page("page", size: Self.size, total: "total")
    }
  }

  static func change(_ state: inout State) {
    switch Int.random(in: 0..<5, using: &state.random) {
    case 0, 1:
      state.lastID += 1
      let place = Int.random(in: 0...state.rows.count, using: &state.random)
      state.rows.insert((state.lastID, 0), at: place)
    case 2 where !state.rows.isEmpty:
      let gone = state.rows.remove(at: Int.random(in: 0..<state.rows.count, using: &state.random))
      state.steady.remove(gone.id)
    case 3 where !state.rows.isEmpty:
      state.rows[Int.random(in: 0..<state.rows.count, using: &state.random)].v += 1
    default:
      // A row moves, as one does that is sorted by its last change.
      guard !state.rows.isEmpty else { return }
      var row = state.rows.remove(at: Int.random(in: 0..<state.rows.count, using: &state.random))
      row.v += 1
      state.rows.insert(row, at: Int.random(in: 0...state.rows.count, using: &state.random))
    }
  }

  func send(_ request: HTTPRequest, limits: HTTPLimits) async throws -> HTTPResponse {
    let query = Dictionary(
      request.url.string.split(separator: "?").dropFirst().joined().split(separator: "&").map { item in
        let parts = item.split(separator: "=", omittingEmptySubsequences: false)
        return (String(parts[0]), Int(parts[1]) ?? 0)
      }, uniquingKeysWith: { $1 })
    return try state.withLock { state in
      if Int.random(in: 0..<100, using: &state.random) < state.changes {
        Self.change(&state)
        state.isSpoilt = true
      }
      var fault = -1
      if Int.random(in: 0..<100, using: &state.random) < state.faults {
        fault = Int.random(in: 0..<6, using: &state.random)
        state.isSpoilt = true
      }
      if fault == 0 { throw HTTPError(.connection, "reset") }
      if fault == 1 { return HTTPResponse(status: 500, headers: [:], body: [], url: request.url) }
      if fault == 2 { return HTTPResponse(status: 404, headers: [:], body: [], url: request.url) }
      var body = Array(self.body(state, query).utf8)
      if fault == 3 { body = Array(body.dropLast(Int.random(in: 1...body.count, using: &state.random))) }
      if fault == 4 { body = Array(#"{"error": "busy"}"#.utf8) }
      // A page without its records, as from a cache that lost them, where the next page or a total tells.
      let text = String(decoding: body, as: UTF8.self)
      if fault == 5, [.cursor, .offsetTotal, .pageTotal].contains(style), !text.contains("null") {
        body = Array(
          text.replacing(#/"data": \[.*\]/#, with: #""data": []"#).utf8)
      }
      let tag = "\"\(Digest.md5(String(decoding: body, as: UTF8.self)))\""
      if request.headers["If-None-Match"] == tag {
        return HTTPResponse(status: 304, headers: [:], body: [], url: request.url)
      }
      return HTTPResponse(
        status: 200, headers: ["ETag": tag, "Content-Length": "\(body.count)"], body: body, url: request.url)
    }
  }

  private func body(_ state: State, _ query: [String: Int]) -> String {
    let size = Self.size
    var rows = state.rows[...]
    var extra = ""
    switch style {
    case .all: break
    case .cursor:
      // An honest cursor: rows by their id.
      let above = state.rows.sorted { $0.id < $1.id }.filter { $0.id > query["after"] ?? 0 }
      rows = above.prefix(size)
      extra = #", "next": \#(above.count > size ? "\(rows.last?.id ?? 0)" : "null")"#
    case .keyset:
      rows = state.rows.sorted { $0.id < $1.id }.filter { $0.id > query["above"] ?? 0 }.prefix(size)
    case .offset, .offsetTotal: rows = rows.dropFirst(query["offset"] ?? 0).prefix(size)
    case .page, .pageTotal: rows = rows.dropFirst(((query["page"] ?? 1) - 1) * size).prefix(size)
    }
    if style == .offsetTotal || style == .pageTotal { extra = #", "total": \#(state.rows.count)"# }
    return
      #"{"data": [\#(rows.map { #"{"id": \#($0.id), "v": \#($0.v)}"# }.joined(separator: ", "))]\#(extra)}"#
  }
}

@Suite("Random histories of a source", .timeLimit(.minutes(60)), .fewAtATime)
struct HistoryTests {
  private static let histories =
    ProcessInfo.processInfo.environment["SYNCD_TEST_LONG"] == nil
    ? StoreKind.words(sqlite: 300, postgresql: 42) : 10_000

  @Test("no row that is alive is ever deleted, and a run without a fault leaves what the source has")
  func histories() async throws {
    var (runs, proven, deleted) = (0, 0, 0)
    for seed in 0..<Self.histories {
      let style = ModelSource.Style.allCases[seed % ModelSource.Style.allCases.count]
      let source = ModelSource(style, seed: UInt64(seed))
      var random = SeededGenerator(UInt64(seed) &* 31 &+ 7)
      let fixture = StoreKind.current == .sqlite ? nil : try Fixture()
      // In memory it is ten times as fast as in a file.
      let store: any Store = try fixture?.store ?? SQLite.open(":memory:")
      let declared = Source(
        .model(concurrency: Int.random(in: 1...3, using: &random)), "rows", rows: "data",
        paging: source.paging,
        maxPages: 50)
      let engine = Engine(store: store, transport: source)
      for step in 0..<8 {
        let isLast = step == 7
        let before = Set(try rows(store).map(\.id))
        source.state.withLock { state in
          for _ in 0..<Int.random(in: 0...4, using: &random) { ModelSource.change(&state) }
          state.steady = Set(state.rows.map(\.id))
          state.faults = isLast ? 0 : [0, 0, 10, 30].randomElement(using: &random) ?? 0
          state.changes = isLast ? 0 : [0, 0, 20, 60].randomElement(using: &random) ?? 0
          state.isSpoilt = false
        }
        let line = await ModelRow.$source.withValue(declared) { await outcome(of: engine, ModelRow.self) }
        let after = try rows(store)
        let (steady, isSpoilt, goal) = source.state.withLock { state in
          (state.steady, state.isSpoilt, state.rows.map { Pair(id: $0.id, v: $0.v) }.sorted { $0.id < $1.id })
        }
        runs += 1
        if line.hasSuffix(", proven") { proven += 1 }
        deleted += before.subtracting(after.map(\.id)).count
        let lost = before.intersection(steady).subtracting(after.map(\.id))
        #expect(lost.isEmpty, "\(style), history \(seed), step \(step) lost \(lost): \(line)")
        if !isSpoilt {
          #expect(
            after == goal || line.contains("unproven"), "\(style), history \(seed), step \(step): \(line)")
        }
        if isLast, line.hasSuffix(", proven") { #expect(after == goal, "\(style), history \(seed): \(line)") }
        if !lost.isEmpty || Task.isCancelled { return }
      }
    }
    print("histories: \(runs) runs, \(proven) proven, \(deleted) rows deleted")
    #expect(proven > runs / 3 && deleted > runs / 20)
  }

  private struct Pair: Equatable {
    var id: Int
    var v: Int
  }

  private func rows(_ store: any Store) throws -> [Pair] {
    do { return try store.all(ModelRow.self).map { Pair(id: $0.id, v: $0.v) } } catch is StoreError {
      return []
    }
  }
}
