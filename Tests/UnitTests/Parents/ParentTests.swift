import HTTP
import Synchronization
import SyncEngine
import TestSupport
import Testing

/// Rows of which ``Child`` is asked for.
struct Owner: Entity {
  var id = ""
  var status: String?
  static let source = Source(.probe, "owners", paging: .none)
  static var mapping: Mapping<Owner> {
    Key(\.id)
    Field(\.status)
  }
}

struct Child: Entity {
  var id = ""
  var owner: String?
  @TaskLocal static var source = Source(
    .probe, "o/{parent.id}/c", rows: "data", paging: .next("next"), parents: Parents(Owner.self))
  static var mapping: Mapping<Child> {
    Key(\.id)
    Field(\.owner, "@parent.id")
  }
  static let deletion = Deletion<Child>.missing
}

/// Asked for by children of parents.
struct Grandchild: Entity {
  var id = ""
  static let source = Source(.probe, "c/{parent.id}", paging: .none, parents: Parents(Child.self))
  static var mapping: Mapping<Grandchild> { Key(\.id) }
}

/// Asked for by several parents at once.
struct Price: Entity {
  var id = ""
  @TaskLocal static var source = Source(
    .probe, "prices", query: ["ids": "{parent.id}"], paging: .none, parents: Parents(Owner.self, grouped: 2))
  static var mapping: Mapping<Price> { Key(\.id) }
}

struct DeletingPrice: Entity {
  var id = ""
  static var source: Source { Price.source }
  static var mapping: Mapping<DeletingPrice> { Key(\.id) }
  static let deletion = Deletion<DeletingPrice>.missing
}

@Suite("Rows that requests are made for", .timeLimit(.minutes(15)), .fewAtATime)
struct ParentTests {
  private static func owners(_ rows: String...) -> String {
    "CREATE TABLE owner (id TEXT PRIMARY KEY, status TEXT); INSERT INTO owner VALUES \(rows.joined(separator: ", "));"
  }

  private func targets(_ scene: Scene) throws -> String {
    try scene.requests().map(\.target).joined(separator: "\n")
  }

  private static func child(_ owner: String, _ ids: String..., next: String? = nil) -> Route {
    let rows = ids.map { "{\"id\":\"\($0)\"}" }.joined(separator: ",")
    return Route(
      "/o/\(owner)/c", body: "{\"data\":[\(rows)]\(next.map { ",\"next\":\"\($0)\"" } ?? "")}")
  }

  @Test("only rows with the declared values are asked for, and rows of others stay")
  func filtered() async throws {
    let scene = try Scene(
      Self.owners("('a', 'open')", "('b', 'closed')", "('c', NULL)", "('d', 'open')")
        + "CREATE TABLE child (id TEXT PRIMARY KEY, owner TEXT); INSERT INTO child VALUES ('a1','a'), ('a9','a'), ('b9','b');"
    )
    let source = Source(
      .probe, "o/{parent.id}/c", rows: "data", paging: .none,
      parents: Parents(Owner.self, where: ["status": "open"]))
    let line = try await Child.$source.withValue(source) {
      try await scene.run(Child.self, [Self.child("a", "a1"), Self.child("d", "d1")])
    }
    #expect(line.hasSuffix("1 inserted, 0 updated, 1 unchanged, 1 deleted, proven"), "\(line)")
    // A row may have gone to a parent that was walked before: what is missing is looked for once more.
    #expect(try targets(scene) == "/o/a/c\n/o/d/c\n/o/a/c\n/o/d/c")
    #expect(try scene.rows("SELECT id FROM child ORDER BY 1") == "a1\nb9\nd1")
  }

  @Test("a row that goes to a parent which was walked already is not deleted")
  func moved() async throws {
    let scene = try Scene(
      Self.owners("('a', NULL)", "('b', NULL)")
        + "CREATE TABLE child (id TEXT PRIMARY KEY, owner TEXT); INSERT INTO child VALUES ('a1','a'), ('x','b'), ('b1','b');"
    )
    var before = Self.child("a", "a1")
    before.times = 1
    let line = try await scene.run(Child.self, [before, Self.child("a", "a1", "x"), Self.child("b", "b1")])
    #expect(line.hasSuffix("1 updated, 2 unchanged, 0 deleted, proven"), "\(line)")
    #expect(try scene.rows("SELECT * FROM child ORDER BY 1") == "a1 | a\nb1 | b\nx | a")
  }

  @Test("parents go into a request by groups, in their order, in the query and in the path")
  func grouped() async throws {
    let scene = try Scene(Self.owners("('a', NULL)", "('b', NULL)", "('c', NULL)"))
    let line = try await scene.run(
      Price.self,
      [
        Route("/prices", query: ["ids": "a,b"], body: #"[{"id":"a"},{"id":"b"}]"#),
        Route("/prices", query: ["ids": "c"], body: #"[{"id":"c"}]"#),
      ])
    #expect(line.contains("2 pages, 3 records, 3 inserted") && line.hasSuffix(", proven"), "\(line)")
    #expect(try targets(scene) == "/prices?ids=a%2Cb\n/prices?ids=c")
    let inPath = Source(
      .probe, "prices/{parent.id}", paging: .none, parents: Parents(Owner.self, grouped: 3))
    let other = try Scene(Self.owners("('a', NULL)", "('b', NULL)", "('c', NULL)"))
    _ = try await Price.$source.withValue(inPath) {
      try await other.run(Price.self, [Route("/prices/a%2Cb%2Cc", body: "[]")])
    }
    #expect(try targets(other) == "/prices/a%2Cb%2Cc")
  }

  @Test(
    "a value that a list with commas cannot hold fails the run before any request", arguments: ["a,b", ""])
  func ungroupable(_ id: String) async throws {
    let scene = try Scene(Self.owners("('\(id)', NULL)", "('c', NULL)"))
    let line = try await scene.run(Price.self, [])
    #expect(line.contains("a parent's id \"\(id)\" cannot stand in a list with commas"), "\(line)")
    #expect(try scene.requests().isEmpty)
  }

  @Test("a deletion of what is missing is refused for groups")
  func groupedDeletion() throws {
    #expect(
      try fault(of: Owner.self, DeletingPrice.self)
        == "deleting_price: a deletion has to know whose row each one is, but its requests are made for 2 parents at once"
    )
  }

  private static let skipping = Source(
    .probe, "o/{parent.id}/c", rows: "data", paging: .next("next"),
    parents: Parents(Owner.self, skipping: [404, 410]))

  @Test("a parent whose first page has a declared status is passed over, said once, and nothing is deleted")
  func skipped() async throws {
    let scene = try Scene(
      Self.owners("('a', NULL)", "('b', NULL)", "('c', NULL)")
        + "CREATE TABLE child (id TEXT PRIMARY KEY, owner TEXT); INSERT INTO child VALUES ('x','a'), ('y','b');"
    )
    let line = try await Child.$source.withValue(Self.skipping) {
      try await scene.run(
        Child.self,
        [Route("/o/a/c", status: 404, body: "{}"), Route("/o/b/c", status: 410), Self.child("c", "c1")])
    }
    #expect(
      line.hasSuffix(
        "1 inserted, 0 updated, 0 unchanged, 0 deleted, unproven: 2 parents were passed over: HTTP 404 Not Found (BASE/o/a/c)"
      ), "\(line)")
    #expect(try scene.rows("SELECT id FROM child ORDER BY 1") == "c1\nx\ny")
  }

  @Test("a declared status on a later page fails the run, and another one on the first page")
  func notSkipped() async throws {
    let scene = try Scene(Self.owners("('a', NULL)"))
    let later = try await Child.$source.withValue(Self.skipping) {
      try await scene.run(Child.self, [Self.child("a", "a1", next: "/o/a/2"), Route("/o/a/2", status: 404)])
    }
    #expect(later.hasPrefix("child: page 2 (BASE/o/a/2): HTTP 404 Not Found"), "\(later)")
    let other = try await Child.$source.withValue(Self.skipping) {
      try await scene.run(Child.self, [Route("/o/a/c", status: 403)])
    }
    #expect(other.hasPrefix("child: page 1 (BASE/o/a/c): HTTP 403"), "\(other)")
  }

  @Test("children may be parents")
  func depth() async throws {
    let scene = try Scene(Self.owners("('a', NULL)", "('b', NULL)"))
    _ = try await scene.run(Child.self, [Self.child("a", "a1", "a2"), Self.child("b", "b1")])
    let line = try await scene.run(
      Grandchild.self, ["a1", "a2", "b1"].map { Route("/c/\($0)", body: "[{\"id\":\"\($0)g\"}]") })
    #expect(line.contains("3 pages, 3 records, 3 inserted"), "\(line)")
  }

  @Test(
    "a value never leaves its segment of the path",
    arguments: [
      ("..admin/b", "..admin%2Fb"), ("a/b", "a%2Fb"), ("?x", "%3Fx"), ("#f", "%23f"),
      ("ü€", "%C3%BC%E2%82%AC"),
      ("%2e%2e", "%252e%252e"), ("a b", "a%20b"), ("..;", "..%3B"), ("\\", "%5C"), ("...", "..."),
    ])
  func segments(_ id: String, _ encoded: String) async throws {
    let scene = try Scene(Self.owners("('\(id)', NULL)"))
    let line = try await scene.run(Child.self, [Self.child(encoded, "r")])
    #expect(line.contains("1 inserted"), "\(line)")
    #expect(try targets(scene) == "/o/\(encoded)/c")
  }

  @Test(
    "a value that would be no segment fails the run before any request",
    arguments: ["", ".", "..", "../admin", "a/.."])
  func noSegment(_ id: String) async throws {
    let scene = try Scene(Self.owners("('\(id)', NULL)"))
    let line = try await scene.run(Child.self, [])
    #expect(line == "child: a parent's value \"\(id)\" cannot stand in the path \"o/{parent.id}/c\"")
    #expect(try scene.requests().isEmpty)
  }

  // MARK: Several at once

  /// Answers by path in a random order, and counts what is under way.
  private final class Counting: Transport {
    struct Counts { var (underWay, peak, begun, cancelled) = (0, 0, 0, 0) }
    let counts = Mutex(Counts())
    /// The path that fails while all others hang.
    let failing: String?

    init(failing: String? = nil) { self.failing = failing }

    func send(_ request: HTTPRequest, limits: HTTPLimits) async throws -> HTTPResponse {
      counts.withLock {
        $0.underWay += 1
        $0.begun += 1
        $0.peak = max($0.peak, $0.underWay)
      }
      defer { counts.withLock { $0.underWay -= 1 } }
      let id = request.url.string.split(separator: "/").dropLast().last ?? ""
      do {
        if failing == nil {
          try await Task.sleep(for: .milliseconds(Int.random(in: 1...15)))
        } else if failing != String(id) {
          try await Task.sleep(for: .seconds(3600))
        }
      } catch {
        counts.withLock { $0.cancelled += 1 }
        throw error
      }
      return HTTPResponse(
        status: failing == nil ? 200 : 404, headers: ["Content-Type": "application/json"],
        body: Array("{\"data\":[{\"id\":\"r\(id)\"}]}".utf8), url: request.url)
    }
  }

  private static func source(concurrency: Int) -> Source {
    Source(
      API("probe", url: "https://probe.example.invalid/", concurrency: concurrency), "o/{parent.id}/c",
      rows: "data", paging: .next("next"), parents: Parents(Owner.self))
  }

  private func sync(_ transport: Counting, concurrency: Int) async throws -> (line: String, rows: String) {
    let fixture = try Fixture()
    let ids = (10..<50).map { "('\($0)', NULL)" }.joined(separator: ", ")
    try fixture.execute(Self.owners(ids))
    let engine = Engine(store: fixture.store, transport: transport)
    let line = await Child.$source.withValue(Self.source(concurrency: concurrency)) {
      await outcome(of: engine, Child.self)
    }
    return (
      line,
      (try? fixture.rows("SELECT group_concat(id, '') FROM (SELECT id FROM child ORDER BY rowid) AS t")) ?? ""
    )
  }

  @Test("first pages of several parents are asked for at once, as many as declared", arguments: [1, 2, 7])
  func atOnce(_ concurrency: Int) async throws {
    let transport = Counting()
    let (line, rows) = try await sync(transport, concurrency: concurrency)
    #expect(line.contains("40 pages, 40 records, 40 inserted") && line.hasSuffix(", proven"), "\(line)")
    #expect(rows == (10..<50).map { "r\($0)" }.joined())
    let counts = transport.counts.withLock { $0 }
    #expect(counts.begun == 40 && counts.peak <= concurrency && (concurrency == 1 || counts.peak > 1))
  }

  @Test("a parent that fails fails the run, and ends what is under way for others")
  func failure() async throws {
    let transport = Counting(failing: "10")
    let (line, _) = try await sync(transport, concurrency: 4)
    #expect(line.hasPrefix("child: page 1 (https://probe.example.invalid/o/10/c): HTTP 404"), "\(line)")
    // What was cancelled ends by itself.
    while transport.counts.withLock({ $0.underWay }) > 0 { await Task.yield() }
    let counts = transport.counts.withLock { $0 }
    #expect(counts.begun <= 4 && counts.cancelled == counts.begun - 1, "\(counts)")
  }
}
