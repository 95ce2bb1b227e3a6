import SyncEngine
import TestSupport
import Testing

/// Pages that are known by a total are fetched while others are read.
@Suite("Pages fetched ahead", .serialized, .fewAtATime)
struct FetchAheadTests {
  /// Text keys: the table keeps its rows in the order in which they came.
  struct Ordered: Entity {
    var v = ""
    static let table = "ordered"
    static var source: Source { Row.source }
    static var mapping: Mapping<Ordered> { Key(\.v) }
  }

  private func fetch(
    _ path: String = "offset", _ paging: Paging = .offset("offset", limit: "limit", size: 2, total: "total"),
    concurrency: Int, _ options: String, as entity: any Entity.Type = KeptRow.self, maxPages: Int = 200
  ) async throws -> (PageWalk, Duration) {
    let clock = ContinuousClock.now
    let walk = try await PageServer.walk(
      Source(.pages(concurrency: concurrency), path, rows: "data", paging: paging, maxPages: maxPages),
      options,
      as: entity)
    return (walk, clock.duration(to: .now))
  }

  private static let hundred = #"{"n": 200, "size": 2, "total": true, "latency": 50"#

  @Test("a hundred pages of 50 ms take a fraction of the time, in order, none twice and none too many")
  func parallel() async throws {
    let (one, slow) = try await fetch(concurrency: 1, Self.hundred + "}", as: Ordered.self)
    let (eight, fast) = try await fetch(concurrency: 8, Self.hundred + "}", as: Ordered.self)
    print("100 pages of 50 ms: one at a time \(slow), eight at a time \(fast), \(slow / fast) times as fast")
    #expect(one.peak == 1 && eight.peak > 4 && eight.peak <= 8, "\(one.peak), \(eight.peak)")
    #expect(fast < slow / 2)
    #expect(
      one.line == eight.line && eight.line.contains("100 pages, 200 records, 200 inserted"), "\(eight.line)")
    #expect(
      one.requests.count == 100 && Set(eight.requests) == Set(one.requests) && eight.requests.count == 100)
  }

  /// A run over declared pages; its line, and the server's requests.
  private func run(
    _ routes: [Route], _ paging: Paging, concurrency: Int, as entity: any Entity.Type = KeptRow.self,
    _ fixture: Fixture
  ) async throws -> (line: String, requests: Int) {
    let server = try fixture.server()
    try server.serve(routes)
    let source = Source(.pages(concurrency: concurrency), "rows", rows: "data", paging: paging)
    let engine = fixture.engine(server, apis: ["pages"])
    let line = await Row.$source.withValue(source) { await outcome(of: engine, entity) }
    return (line, try server.requests().count)
  }

  @Test("rows are written in the order of the pages, whichever came first")
  func order() async throws {
    let fixture = try Fixture()
    // The first pages are the slowest.
    let routes = (0..<8).map { page in
      Route(
        "/rows", query: ["page": "\(page)"], body: "{\"total\": 8, \"data\": [{\"v\": \"r\(page)\"}]}",
        fault: "slow", pause: Double(8 - page) * 0.02)
    }
    let run = try await run(
      routes, .page("page", from: 0, size: 1, total: "total"), concurrency: 8, as: Ordered.self, fixture)
    #expect(run.line.contains("8 inserted"), "\(run.line)")
    expect(
      try fixture.rows("SELECT group_concat(v, '') FROM (SELECT v FROM ordered ORDER BY rowid) AS t"),
      is: "r0r1r2r3r4r5r6r7")
  }

  @Test("a page that fails ends those that are under way")
  func failureCancels() async throws {
    let clock = ContinuousClock.now
    let routes = (0..<8).map { page in
      Route(
        "/rows", query: ["page": "\(page)"], status: page == 1 ? 404 : 200,
        body: list([page + 1], #""total":8"#),
        fault: page > 1 ? "slow" : nil, pause: 30)
    }
    let run = try await run(
      routes, .page("page", from: 0, size: 1, total: "total"), concurrency: 8, try Fixture())
    #expect(run.line.contains("HTTP 404"), "\(run.line)")
    #expect(run.requests <= 8 && clock.duration(to: .now) < .seconds(25))
  }

  @Test("each style that knows its pages has as many under way as declared, and no more")
  func styles() async throws {
    for (path, paging) in [
      ("offset", Paging.offset("offset", size: 2, total: "total")),
      ("page", .page("page", total: "total")), ("page", .page("page", pages: "pages")),
      ("range", .range("items", size: 2)),
      ("page", .page("page", total: "total").until("never") { _ in false }),
    ] {
      let (walk, _) = try await fetch(
        path, paging, concurrency: 3, #"{"n": 20, "size": 2, "total": true, "pages": true, "latency": 40}"#)
      #expect(walk.peak == 3 && walk.requests.count == 10, "\(walk.peak), \(walk.list)")
      #expect(walk.isProven, "\(walk.line)")
    }
  }

  @Test("a server that caps its pages is asked by the size that it gives")
  func capped() async throws {
    for (path, paging) in [
      ("offset", Paging.offset("offset", limit: "limit", size: 50, total: "total")),
      ("range", .range("items", size: 50)),
    ] {
      let (walk, _) = try await fetch(
        path, paging, concurrency: 4, #"{"n": 20, "cap": 2, "total": true, "latency": 40}"#)
      #expect(walk.peak == 4 && walk.requests.count == 10, "\(walk.peak), \(walk.list)")
    }
  }

  @Test("a page that fails fails the run, and what lies behind it is not asked for")
  func failure() async throws {
    let (walk, _) = try await fetch(concurrency: 8, Self.hundred + #", "fail": {"57": 404}}"#)
    #expect(walk.line.hasPrefix("page 57 (BASE/offset?offset=112&limit=2): HTTP 404"), "\(walk.line)")
    #expect(walk.ids == [99])
    #expect((57...64).contains(walk.requests.count), "\(walk.requests.count)")
  }

  @Test("a run that is cancelled ends at once, with what is under way")
  func cancelled() async throws {
    let clock = ContinuousClock.now
    let task = Task {
      try await fetch(concurrency: 8, #"{"n": 200, "size": 2, "total": true, "latency": 2000}"#)
    }
    try await Task.sleep(for: .milliseconds(500))
    task.cancel()
    let (walk, _) = try await task.value
    #expect(walk.ids == [99] && walk.line.contains("Cancellation"), "\(walk.line)")
    #expect(clock.duration(to: .now) < .seconds(20))
  }

  @Test(
    "a total that is too small asks for no page behind it, one that is too large for no more than are ahead")
  func wrongTotals() async throws {
    let (small, _) = try await fetch(concurrency: 4, #"{"n": 20, "size": 2, "total": 8, "latency": 20}"#)
    #expect(small.requests.count == 4, "\(small.list)")
    let (large, _) = try await fetch(concurrency: 4, #"{"n": 8, "size": 2, "total": 99, "latency": 20}"#)
    // Four pages, the empty one, and three that were under way.
    #expect(large.requests.count <= 8, "\(large.list)")
    #expect(large.line.contains("the source counts 99 records, but 8 came"), "\(large.line)")
  }

  @Test("pages of different sizes are asked for where they begin, each once")
  func unevenPages() async throws {
    func page(_ offset: Int, _ ids: [Int]) -> Route {
      Route("/rows", query: ["offset": "\(offset)"], body: list(ids, #""total":7"#))
    }
    let run = try await run(
      [page(0, [1, 2]), page(2, [3]), page(3, [4, 5, 6]), page(6, [7])],
      .offset("offset", size: 2, total: "total"), concurrency: 2, try Fixture())
    #expect(run.line.contains("7 inserted") && run.line.hasSuffix(", proven"), "\(run.line)")
    // Only the page that was foreseen with the first page's size is asked for in vain.
    #expect(run.requests <= 5)
  }

  @Test("no page beyond the limit of pages is asked for")
  func limit() async throws {
    let (walk, _) = try await fetch(concurrency: 8, Self.hundred + "}", maxPages: 3)
    #expect(walk.line.contains("the limit of 3 pages is reached"), "\(walk.line)")
    #expect(walk.requests.count == 3, "\(walk.list)")
  }

  @Test("a concurrency below one is refused", arguments: [0, -3])
  func noConcurrency(_ concurrency: Int) async throws {
    let (walk, _) = try await fetch(
      "range", .range("items", size: 2), concurrency: concurrency, #"{"n": 6, "latency": 10}"#)
    #expect(walk.line.contains("no request may be under way (concurrency \(concurrency))"), "\(walk.line)")
    #expect(walk.requests.isEmpty)
  }
}
