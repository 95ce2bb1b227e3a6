import Foundation
import SyncEngine
import TestSupport
import Testing

/// What a store forgets, and what it keeps.
@Suite("Keeping the store well", .timeLimit(.minutes(15)), .fewAtATime)
struct KeepingTests {
  private static let items = Route("/items", body: #"{"data": [{"id": 1, "v": "a"}]}"#)

  /// Records of runs by their numbers, each made by one statement.
  private func insertRuns(
    _ range: ClosedRange<Int>, started: String, into fixture: Fixture, entity: String = "item",
    outcome: String = "proven", scopeRows: Int? = nil, rejected: Int = 0
  ) throws {
    try fixture.execute(
      """
      INSERT INTO syncd_runs (run, entity, started_at, finished_at, outcome, pages, records, bytes, inserted, updated,
        unchanged, deleted, duplicates, rejected, scope_rows)
      WITH RECURSIVE n(i) AS (SELECT \(range.lowerBound) UNION ALL SELECT i + 1 FROM n WHERE i < \(range.upperBound))
      SELECT 'r' || i, '\(entity)', '\(started)', '\(started)', '\(outcome)', 1, 1, 1, 0, 0, 1, 0, 0, \(rejected), \
      \(scopeRows.map(String.init) ?? "NULL") FROM n
      """)
  }

  private func insertRejects(_ count: Int, run: String, into fixture: Fixture) throws {
    for position in 1...count {
      try fixture.execute(
        "INSERT INTO syncd_rejects (run, entity, page, position, reason, record) VALUES ('\(run)', 'item', 1, \(position), 'bad', '{}')"
      )
    }
  }

  private let old = "2020-01-01T00:00:00.000Z"
  private var young: String {
    Date(timeIntervalSinceNow: -3600).formatted(.iso8601).replacing("Z", with: ".000Z")
  }

  /// A store that has its own tables and no run.
  private func empty() async throws -> (Fixture, Engine, AnswerServer) {
    let fixture = try Fixture()
    let server = try fixture.server()
    try server.serve([Self.items])
    let engine = fixture.engine(server, apis: ["test"])
    try await engine.sync(Item.self)
    try fixture.execute("DELETE FROM syncd_runs")
    return (fixture, engine, server)
  }

  private func prune(
    _ fixture: Fixture, _ policy: RetentionPolicy = RetentionPolicy(), declared: Set<String> = ["item"]
  ) async throws -> Pruned {
    try await fixture.store.prune(
      PruneRequest(policy, now: Int64(Date().timeIntervalSince1970 * 1000), declared: declared))
  }

  @Test("however short runs are to be kept: what the guard of deletions looks at stays for two days")
  func guarded() async throws {
    let (fixture, _, _) = try await empty()
    try insertRuns(1...3, started: old, into: fixture, scopeRows: 5)
    try insertRuns(11...13, started: young, into: fixture, scopeRows: 100)
    let pruned = try await prune(fixture, RetentionPolicy(runs: .milliseconds(1)))
    #expect(pruned.runs == 3 && pruned.isComplete)
    expect(try fixture.rows("SELECT run FROM syncd_runs ORDER BY id"), is: "r11\nr12\nr13")
  }

  @Test("100,000 old runs go while a writer commits, and each of its runs succeeds")
  func many() async throws {
    let (fixture, _, server) = try await empty()
    try insertRuns(1...100_000, started: old, into: fixture)
    let other = Engine(
      store: try fixture.open(),
      options: .init(urls: ["test": server.base + "/"], rates: ["test": .unlimited]))
    let writer = Task {
      var (runs, longest) = (0, Duration.zero)
      while !Task.isCancelled || runs < 3 {
        longest = max(
          longest,
          try await ContinuousClock().measure {
            _ = try await Task.detached { try await other.sync(Item.self) }.value
          })
        runs += 1
      }
      return (runs, longest)
    }
    var pruned = Pruned()
    let time = try await ContinuousClock().measure {
      repeat {
        let next = try await prune(fixture)
        (pruned.runs, pruned.isComplete) = (pruned.runs + next.runs, next.isComplete)
      } while !pruned.isComplete
    }
    writer.cancel()
    let (runs, longest) = try await writer.value
    await other.store.close()
    // The last good run stays where no other came before.
    #expect([99_999, 100_000].contains(pruned.runs), "\(pruned)")
    let left = try fixture.rows("SELECT count(*) FROM syncd_runs WHERE started_at < '2021-01-01'")
    #expect(left == "\(100_000 - pruned.runs)")
    #expect(Int(try fixture.rows("SELECT count(*) FROM syncd_runs")) == runs + 100_000 - pruned.runs)
    print("pruned: 100,000 runs in \(time), beside \(runs) runs of which the longest took \(longest)")
  }

  @Test("the last run and the last good one stay, however old they are")
  func lastOnes() async throws {
    let (fixture, _, _) = try await empty()
    try insertRuns(1...5, started: old, into: fixture)
    try insertRuns(6...9, started: old, into: fixture, outcome: "failed")
    #expect(try await prune(fixture).runs == 7)
    #expect(try fixture.rows("SELECT run FROM syncd_runs ORDER BY id") == "r5\nr9")
    #expect(try await prune(fixture).runs == 0)
  }

  @Test("of more runs than are kept the oldest go, but those that the guard looks at")
  func counted() async throws {
    let (fixture, _, _) = try await empty()
    try insertRuns(1...700, started: young, into: fixture, scopeRows: 7)
    try insertRuns(701...1400, started: young, into: fixture)
    var policy = RetentionPolicy()
    policy.runsPerEntity = 10
    #expect(try await prune(fixture, policy).runs == 690)
    let kept = try fixture.rows(
      "SELECT count(*), count(scope_rows), min(CASE WHEN scope_rows IS NULL THEN id END) - max(CASE WHEN scope_rows IS NOT NULL THEN id END) FROM syncd_runs"
    )
    #expect(kept == "710 | 700 | 691")
    // What nobody declares any more has its runs pruned too, by age.
    try insertRuns(1...3, started: old, into: fixture, entity: "gone")
    #expect(try await prune(fixture).runs == 2)
  }

  @Test("rejects of old runs go, those of the last run that had some stay, and so does its record")
  func rejects() async throws {
    let (fixture, _, _) = try await empty()
    for (number, count) in [(1, 3), (2, 2)] {
      try insertRuns(number...number, started: old, into: fixture, rejected: count)
      try insertRejects(count, run: "r\(number)", into: fixture)
    }
    try insertRuns(3...4, started: young, into: fixture)
    let pruned = try await prune(fixture)
    #expect(pruned.rejects == 3 && pruned.runs == 1 && pruned.isComplete, "\(pruned)")
    #expect(try fixture.rows("SELECT run, count(*) FROM syncd_rejects GROUP BY run") == "r2 | 2")
    #expect(try fixture.rows("SELECT run FROM syncd_runs ORDER BY id") == "r2\nr3\nr4")
    // One whose rejects are young stays too.
    try insertRuns(5...5, started: young, into: fixture, rejected: 1)
    try insertRejects(1, run: "r5", into: fixture)
    #expect(try await prune(fixture).rejects == 2)
    #expect(try fixture.rows("SELECT run FROM syncd_rejects") == "r5")
  }

  @Test("what is kept of pages of an entity that nobody runs any more goes, that of a declared one stays")
  func abandoned() async throws {
    let (fixture, _, _) = try await empty()
    for entity in ["item", "gone", "seldom"] {
      try fixture.execute(
        "INSERT INTO syncd_pages (entity, page, validator, answer, keys) VALUES ('\(entity)', 'p', 'v', 'a', x'00')"
      )
      try fixture.execute("INSERT INTO syncd_absent (entity, key, runs) VALUES ('\(entity)', '[1]', 1)")
    }
    try insertRuns(1...1, started: young, into: fixture, entity: "seldom")
    try insertRuns(2...2, started: old, into: fixture, entity: "gone")
    if StoreKind.current == .sqlite {
      for (name, time) in [("gone", Date(timeIntervalSince1970: 1)), ("item", Date())] {
        let file = fixture.location + "-syncd-pages-" + name
        try "SYNP".write(toFile: file, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: file)
      }
    } else {
      let now = Int64(Date().timeIntervalSince1970 * 1000)
      for (name, begun) in [("gone", 1000), ("item", now)] {
        try fixture.execute(
          "INSERT INTO syncd_journal (entity, key, begun, name, page) VALUES ('\(name)', 'k', \(begun), 'n', x'00')"
        )
      }
    }
    let pruned = try await prune(fixture)
    #expect(pruned.abandoned == 2 && pruned.journals == 1, "\(pruned)")
    #expect(try fixture.rows("SELECT entity FROM syncd_pages ORDER BY entity") == "item\nseldom")
    #expect(try fixture.rows("SELECT entity FROM syncd_absent ORDER BY entity") == "item\nseldom")
    if StoreKind.current == .sqlite {
      #expect(FileManager.default.fileExists(atPath: fixture.location + "-syncd-pages-item"))
      #expect(!FileManager.default.fileExists(atPath: fixture.location + "-syncd-pages-gone"))
    } else {
      #expect(try fixture.rows("SELECT entity FROM syncd_journal") == "item")
    }
  }

  @Test(
    "maintenance is done when it is due, by whichever program comes first, and costs next to nothing otherwise"
  )
  func due() async throws {
    let fixture = try Fixture()
    let server = try fixture.server()
    try server.serve([Self.items])
    let engine = fixture.engine(server, apis: ["test"])
    // Nothing is made for it.
    if StoreKind.current == .sqlite {
      #expect(try await engine.maintain() == nil)
      #expect(!FileManager.default.fileExists(atPath: fixture.location))
    }
    try await engine.sync(Item.self)
    let first = try #require(try await engine.maintain())
    #expect(first.pruned.isComplete)
    if StoreKind.current == .sqlite { #expect(first.log?.after == 0) }
    let other = Engine(store: try fixture.open())
    #expect(try await other.maintain() == nil)
    #expect(try await other.maintain(every: .zero) != nil)
    await other.store.close()
    let count = 200
    let time = try await ContinuousClock().measure { for _ in 0..<count { _ = try await engine.maintain() } }
    print("maintenance that is not due: \(time / count)")
    // A mark from a clock that was wrong counts for nothing.
    try fixture.execute("UPDATE syncd_state SET value = '99999999999999' WHERE name = 'maintained'")
    #expect(try await engine.maintain() != nil)
  }

  @Test(
    "the log is bounded beside a reader that stays, cut off when it is gone, and by the next commits alone",
    .only(.sqlite, "PostgreSQL's log is the server's own"))
  func log() async throws {
    let fixture = try Fixture()
    let server = try fixture.server()
    let engine = fixture.engine(server, apis: ["test"])
    let log = fixture.location + "-wal"
    func sync(_ letter: String) async throws {
      let text = String(repeating: letter, count: 4000)
      let items = (1...1500).map { #"{"id": \#($0), "v": "\#(text)"}"# }.joined(separator: ",")
      try server.serve([Route("/items", body: #"{"data": [\#(items)]}"#)])
      try await engine.sync(Item.self)
    }
    func reader() throws -> ServerProcess {
      try ServerProcess([
        "python3", "-c",
        """
        import sqlite3, sys
        c = sqlite3.connect(sys.argv[1], isolation_level=None)
        c.execute("BEGIN"); c.execute("SELECT count(*) FROM item").fetchone()
        print("READY 1", flush=True); sys.stdin.read()
        """, fixture.location,
      ])
    }
    try await sync("a")
    var held: ServerProcess? = try reader()
    for letter in ["b", "c", "d", "e", "f", "g", "h", "i"] { try await sync(letter) }
    let grown = SQLiteFile.size(log)
    #expect(grown > 40 << 20)
    // It waits for nobody, and cuts nothing off that is read.
    let beside = try #require(try await fixture.store.checkpoint())
    #expect(beside.after == beside.before)
    #expect(held?.line == "READY 1")
    held = nil
    let after = try #require(try await fixture.store.checkpoint())
    #expect(after.after == 0)

    held = try reader()
    for letter in ["b", "c", "d", "e", "f", "g", "h", "i"] { try await sync(letter) }
    #expect(SQLiteFile.size(log) > 40 << 20)
    held = nil
    for letter in ["k", "l", "m"] { try await sync(letter) }
    #expect(SQLiteFile.size(log) <= 32 << 20)
    print("log: \(grown) bytes beside a reader, \(SQLiteFile.size(log)) three commits after another one")
  }
}
