import Foundation
import PostgresStore
import SyncEngine
import TestSupport
import Testing

/// Two programs on one table, and locks that somebody else holds.
@Suite("Waiting for others", .timeLimit(.minutes(15)), .fewAtATime)
struct WaitingTests {
  private static let rows = "SELECT id, v FROM item ORDER BY id"

  @Test("of two runs on one table the second waits, asks nothing meanwhile, and gives up")
  func lease() async throws {
    let schema = try PostgresSchema()
    let (first, second) = (
      try Place(schema.url), try Place(schema.url, wait: .milliseconds(200))
    )
    let said = Slot<String>()
    let line = try await first.walk("first") {
      said.value = blocking { (try? await second.walk("second")) ?? "?" }
    }
    expect(said.value ?? "", is: "item: another run has held the table \"item\" for longer than 200 ms")
    #expect(try second.server.requests().isEmpty)
    #expect(line.hasSuffix("3 inserted, 0 updated, 0 unchanged, 0 deleted, proven"), "\(line)")
    expect(try schema.rows(Self.rows), is: "1 | first\n2 | first\n3 | first")
    // Nothing is held any more; a table of another schema was never held.
    let next = try await second.walk("second")
    #expect(next.contains("3 updated, 0 unchanged, 0 deleted"), "\(next)")
    let other = try PostgresSchema()
    let elsewhere = try Place(other.url, wait: .zero)
    _ = try await first.walk("third") {
      said.value = blocking { (try? await elsewhere.walk("elsewhere")) ?? "?" }
    }
    #expect(
      (said.value ?? "").hasSuffix("3 inserted, 0 updated, 0 unchanged, 0 deleted, proven"),
      "\(said.value ?? "")")
  }

  @Test("the command ends with status 4, and with 0 where the other run ends in time")
  func status() async throws {
    let database = try PostgresDatabase()
    let server = try AnswerServer([Route("/items", body: "{}", fault: "stall")])
    let folder = try TemporaryFolder()
    let config = folder.path + "/c.json"
    try #"{"store": "\#(database.url)", "apis": {"case": {"url": "\#(server.base)/", "rate": "unlimited"}}}"#
      .write(toFile: config, atomically: true, encoding: .utf8)
    let command = [Shell.product("CaseEntities"), "once", "--config", config]
    let variables = TestEnvironment.variables.merging(["SYNCD_CASE": "resume"]) { $1 }
    let holder = try ChildProcess(command, environment: variables)
    while try server.requests().isEmpty { try await Task.sleep(for: .milliseconds(5)) }
    let refused = try Shell.result(command + ["--wait", "300ms"], environment: ["SYNCD_CASE": "resume"])
    #expect(refused.status == 4, "\(refused)")
    expect(
      refused.withoutRuns.errors,
      is:
        "CaseEntities: items: another run has held the table \"items\" for longer than 300 ms (--wait says how long to wait)\n"
    )
    // The lock goes with the program, however it ends.
    try server.serve([Route("/items", body: #"{"data": [{"id": 1, "v": "a"}]}"#)])
    holder.send(SIGKILL)
    let done = try Shell.result(command, environment: ["SYNCD_CASE": "resume"])
    #expect(done.status == 0, "\(done)")
    expect(try database.rows("SELECT * FROM items"), is: "1 | a")
  }

  @Test(
    "a run whose session was ended has lost its right: another one may have written, and it writes nothing")
  func lostLease() async throws {
    let database = try PostgresDatabase()
    let (first, second) = (try Place(database.url), try Place(database.url))
    let said = Slot<String>()
    let line = try await first.walk("first") {
      try database.waitForSessions(ending: true)
      said.value = blocking { (try? await second.walk("second")) ?? "?" }
    }
    #expect(
      (said.value ?? "").hasSuffix("3 inserted, 0 updated, 0 unchanged, 0 deleted, proven"),
      "\(said.value ?? "")")
    #expect(line.hasPrefix("item: the connection to the server was lost"), "\(line)")
    expect(try database.rows(Self.rows), is: "1 | second\n2 | second\n3 | second")
    let next = try await first.walk("first")
    #expect(next.contains("3 updated, 0 unchanged, 0 deleted"), "\(next)")
  }

  /// A session that holds a row, and a way to see that a run waits for it.
  private struct Holder {
    let database: PostgresDatabase
    let session: PostgresSession

    init(_ database: PostgresDatabase) throws {
      self.database = database
      session = try PostgresSession(database.url)
      _ = try session.rows("BEGIN; UPDATE item SET v = v WHERE id = 2")
    }

    func waitForRun() async throws {
      let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
      while try database.rows(waiting) == "0" { try await Task.sleep(for: .milliseconds(5)) }
    }
  }

  @Test("a merge that waits for somebody's lock is cancelled at once, and nothing is written")
  func cancelled() async throws {
    let database = try PostgresDatabase()
    let place = try Place(database.url)
    _ = try await place.walk("old")
    let holder = try Holder(database)
    try place.server.serve(Place.pages("new"))
    let engine = place.engine
    let task = Task { try await engine.sync(Item.self) }
    try await holder.waitForRun()
    task.cancel()
    // The lock is still held: nothing but the cancellation ends the wait.
    await #expect(throws: CancellationError.self) { try await task.value }
    _ = try holder.session.rows("COMMIT")
    expect(try database.rows(Self.rows), is: "1 | old\n2 | old\n3 | old")
    expect(try database.rows("SELECT outcome FROM syncd_runs"), is: "proven")
    #expect(try await place.walk("new").hasSuffix("3 updated, 0 unchanged, 0 deleted, proven"))
  }

  @Test("a lock that is held for longer than the limit fails the run, one that is given up does not")
  func busy() async throws {
    let database = try PostgresDatabase()
    _ = try await Place(database.url).walk("old")
    let holder = try Holder(database)
    let hasty = try Place(database.url, busyLimit: .milliseconds(300))
    expect(
      try await hasty.walk("new"),
      is:
        "item: PostgreSQL: canceling statement due to lock timeout (another program has kept it locked for 300 ms)"
    )
    expect(try database.rows(Self.rows), is: "1 | old\n2 | old\n3 | old")
    let patient = try Place(database.url)
    async let line = patient.walk("new")
    try await holder.waitForRun()
    _ = try holder.session.rows("COMMIT")
    let said = try await line
    #expect(said.contains("3 updated, 0 unchanged, 0 deleted"), "\(said)")
  }

  @Test("a table that another program locks as a whole holds up nobody who only asks the source")
  func tableLock() async throws {
    let database = try PostgresDatabase()
    _ = try await Place(database.url).walk("old")
    let session = try PostgresSession(database.url)
    _ = try session.rows("BEGIN; LOCK TABLE item IN ACCESS EXCLUSIVE MODE")
    let place = try Place(database.url, busyLimit: .milliseconds(300))
    let line = try await place.walk("new")
    #expect(line.contains("lock timeout"), "\(line)")
    _ = try session.rows("ROLLBACK")
    let next = try await place.walk("new")
    #expect(next.contains("3 updated, 0 unchanged, 0 deleted"), "\(next)")
  }

  @Test("runs of different entities write at the same time, also for the first time", arguments: 1...5)
  func sideBySide(_ round: Int) async throws {
    struct Left: Entity {
      var id = 0
      static let source = Source(.place, "items", rows: "data", paging: .none)
      static var mapping: Mapping<Left> { Key(\.id) }
    }
    struct Right: Entity {
      var id = 0
      static let source = Source(.place, "items", rows: "data", paging: .none)
      static var mapping: Mapping<Right> { Key(\.id) }
    }
    // Both find no table of the engine's own, and make them.
    let schema = try PostgresSchema()
    let (one, two) = (try Place(schema.url), try Place(schema.url))
    let body = #"{"data":[{"id":1},{"id":2}]}"#
    async let left = one.run(Left.self, body)
    async let right = two.run(Right.self, body)
    let lines = try await [left, right]
    #expect(
      lines.allSatisfy { $0.hasSuffix("2 inserted, 0 updated, 0 unchanged, 0 deleted, proven") }, "\(lines)")
    expect(try schema.rows("SELECT count(*) FROM syncd_runs WHERE outcome = 'proven'"), is: "2")
  }
}
