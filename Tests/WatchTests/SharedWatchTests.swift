import Foundation
import TestSupport
import Testing

/// Services that share the work, as processes of their own.
@Suite("watch --shared", .fewAtATime, .timeLimit(.minutes(10)))
struct SharedWatchTests {
  private static let others =
    #""post": {"enabled": false}, "comment": {"enabled": false}, "article": {"enabled": false}, "hero": {"enabled": false}"#

  /// A service on a database that others use too.
  private func service(
    _ database: PostgresDatabase, _ members: String = #""interval": "1h","#, entities: String = others,
    _ routes: [Route] = [WatchProcess.books]
  ) throws -> WatchProcess {
    let watch = try WatchProcess(routes)
    try watch.configure(#""store": "\#(database.url)", "shared": true, \#(members)"#, entities: entities)
    return watch
  }

  private func look(_ database: PostgresDatabase, _ sql: String) throws -> String {
    try Postgres.rows(database.url, sql)
  }

  @Test("a store that is one machine's is refused, with what to do, and so is a lease that is none")
  func refused() throws {
    let watch = try WatchProcess()
    try watch.configure()
    func said(_ words: String..., environment: [String: String] = [:]) throws -> Shell.Result {
      try Shell.result(
        [Shell.product("syncd"), "watch", "book", "--config", "c.json"] + words, environment: environment,
        directory: watch.folder.path)
    }
    let refused = try said("--shared")
    #expect(refused.status == 2 && refused.output.isEmpty, "\(refused)")
    #expect(
      refused.errors.contains("a store that is on a server (postgresql://…), and the store is syncd.sqlite"),
      "\(refused)")
    #expect(try said(environment: ["SYNCD_SHARED": "true"]) == refused)
    let short = try said("--shared", environment: ["SYNCD_LEASE": "500ms"])
    #expect(short.status == 2, "\(short)")
    #expect(
      short.errors.contains("SYNCD_LEASE is 500ms; it has to be between 1s and 1h"), "\(short)")
    let word = try said(environment: ["SYNCD_SHARED": "perhaps"])
    #expect(word.status == 2 && word.errors.contains("SYNCD_SHARED"), "\(word)")
    #expect(try watch.server.requests().isEmpty)
    // The keys are those of the table of settings.
    let shown = try Shell.result(
      [Shell.product("syncd"), "config", "--config", "c.json", "--shared", "--worker", "host-a"],
      environment: ["SYNCD_LEASE": "20s"], directory: watch.folder.path)
    for (key, value) in [("shared", "true"), ("worker", "host-a"), ("lease", "20s")] {
      #expect(
        shown.output.split(separator: "\n").contains { $0.contains(key) && $0.contains(value) }, "\(shown)")
    }
  }

  @Test("two processes do each unit once in an interval, and both take part")
  func two() throws {
    let database = try PostgresDatabase()
    let slow = [
      Route("/books", file: WatchProcess.books.file, fault: "slow", pause: 0.05),
      Route("/posts", body: "[]", fault: "slow", pause: 0.05),
    ]
    let entities =
      #""comment": {"enabled": false}, "article": {"enabled": false}, "hero": {"enabled": false}"#
    let one = try service(database, #""interval": "400ms", "parallel": 1,"#, entities: entities, slow)
    let two = try service(database, #""interval": "400ms", "parallel": 1,"#, entities: entities, slow)
    // They ask one server.
    try two.write(
      "c.json", String(contentsOfFile: one.folder.path + "/c.json", encoding: .utf8))
    try one.start("--worker", "one")
    try two.start("--worker", "two")
    try one.wait("runs of both") { one.lines.count >= 5 && two.lines.count >= 5 }
    // Between two looks of one of them the other may take both units: in the end each has done something of what was done.
    #expect(one.stop().status == 0)
    #expect(two.stop().status == 0)
    let runs = Int(try look(database, "SELECT count(*) FROM syncd_runs")) ?? 0
    #expect(runs >= one.lines.count + two.lines.count && runs > 9, "\(runs)")
    expect(
      try look(
        database, "SELECT DISTINCT outcome || coalesce(': ' || reason, '') FROM syncd_runs ORDER BY 1"),
      is: "proven")
    // No two runs of a unit at once, and none twice in an interval: their times are at least those of the cadence apart.
    expect(
      try look(
        database,
        """
        SELECT count(*) FROM (SELECT started_at, lag(finished_at) OVER w AS before FROM syncd_runs WINDOW w AS (PARTITION BY entity ORDER BY id)) r
        WHERE started_at < before;
        SELECT bool_and(n <= seconds / 0.4 + 2) FROM (SELECT count(*) AS n, extract(epoch FROM max(started_at) - min(started_at)) AS seconds
        FROM syncd_runs GROUP BY entity) r
        """), is: "0\n1")
    expect(
      try look(database, "SELECT count(*) FROM syncd_workers; SELECT count(holder) FROM syncd_units"),
      is: "0\n0")
  }

  @Test(
    "SIGTERM gives back at once what a worker holds, however long its lease is", arguments: [true, false])
  func givesBack(_ isAsked: Bool) throws {
    let database = try PostgresDatabase()
    let stalled = [Route("/books", file: WatchProcess.books.file, fault: "slow", pause: 60)]
    let one = try service(database, #""interval": "1h", "lease": "1h","#, stalled)
    try one.start("--worker", "one")
    try one.wait("its request") { try !one.server.requests().isEmpty }
    let two = try service(database, #""interval": "1h", "lease": "3s","#)
    try two.start("--worker", "two")
    try two.wait("its start") { two.errors.contains("watches 1 entity with others") }
    try two.wait("its place") { try look(database, "SELECT count(*) FROM syncd_workers") == "2" }
    #expect(two.lines.isEmpty)
    if isAsked {
      let (status, seconds) = one.stop()
      #expect(status == 0 && seconds < 10, "\(seconds) s: \(one.errors)")
    } else {
      // Killed: its connection says so.
      _ = one.stop(SIGKILL)
    }
    try two.wait("the run that the other one has left") { two.lines.count == 1 }
    #expect(two.lines[0].contains(" 5 inserted"), "\(two.output)")
    let failures = try look(database, "SELECT failures FROM syncd_units")
    #expect(failures == "0", "a commit begins anew")
    #expect(two.stop().status == 0)
    expect(try look(database, "SELECT count(*) FROM syncd_workers"), is: "0")
  }

  @Test("SIGHUP: what is under way ends, the new configuration holds, and nothing is left of the old worker")
  func reload() throws {
    let database = try PostgresDatabase()
    let slow = Route("/books", file: WatchProcess.books.file, fault: "slow", pause: 1)
    let watch = try service(database, #""interval": "1h", "worker": "old","#, [slow])
    try watch.start()
    try watch.wait("its request") { try !watch.server.requests().isEmpty }
    try watch.configure(
      #""store": "\#(database.url)", "shared": true, "interval": "200ms", "worker": "new","#,
      entities: Self.others)
    watch.send(SIGHUP)
    try watch.wait("the new configuration") { watch.errors.contains("the configuration was read again") }
    try watch.wait("the run that was under way") { watch.lines.count >= 1 }
    #expect(watch.lines[0].contains(" 5 inserted"), "\(watch.output)")
    try watch.server.serve([WatchProcess.books])
    try watch.wait("runs on the new schedule") { watch.lines.count >= 4 }
    try watch.wait("the end of the old worker") {
      try look(database, "SELECT string_agg(name, ' ') FROM syncd_workers") == "new"
    }
    // A store that cannot be shared: it goes on as before.
    try watch.configure(#""store": "x.sqlite", "shared": true,"#, entities: Self.others)
    watch.send(SIGHUP)
    try watch.wait("the refusal") {
      watch.errors.contains("the configuration stays as it was: work is shared by")
    }
    let count = watch.lines.count
    try watch.wait("runs as before") { watch.lines.count > count + 2 }
    // Alone again, on the same store.
    try watch.configure(#""store": "\#(database.url)", "interval": "200ms","#, entities: Self.others)
    watch.send(SIGHUP)
    try watch.wait("the end of sharing") { try look(database, "SELECT count(*) FROM syncd_workers") == "0" }
    let last = watch.lines.count
    try watch.wait("runs alone") { watch.lines.count > last + 2 }
    #expect(watch.stop().status == 0)
    #expect(!watch.errors.contains("\"level\":\"error\""), "\(watch.errors)")
  }

  @Test("SIGUSR1 makes everything due, whoever does it")
  func now() throws {
    let database = try PostgresDatabase()
    let (one, two) = (try service(database), try service(database))
    try one.start("--worker", "one")
    try one.wait("the first run") { one.lines.count == 1 }
    try two.start("--worker", "two")
    try two.wait("its place") { try look(database, "SELECT count(*) FROM syncd_workers") == "2" }
    two.send(SIGUSR1)
    try two.wait("the second run") { one.lines.count + two.lines.count == 2 }
    #expect(one.stop().status == 0 && two.stop().status == 0)
  }

  @Test("SIGTERM ends it within seconds though the server says nothing any more")
  func silentServer() throws {
    let server = try PostgresServer()
    let port = server.url.split(separator: ":").last?.prefix { $0.isNumber } ?? ""
    let watch = try WatchProcess()
    try watch.configure(
      #""store": "\#(server.url)", "shared": true, "interval": "100ms", "lease": "10m","#,
      entities: Self.others)
    try watch.start()
    try watch.wait("a run") { watch.lines.count >= 1 }
    // The processes of the server that serve it stop where they are.
    let sessions = try Postgres.rows(
      server.url,
      "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    ).split(separator: "\n").compactMap { pid_t($0) }
    #expect(!sessions.isEmpty, "\(port)")
    for session in sessions { kill(session, SIGSTOP) }
    defer { for session in sessions { kill(session, SIGCONT) } }
    Thread.sleep(forTimeInterval: 0.5)
    let (status, seconds) = watch.stop()
    #expect(status == 0 && seconds < 20, "\(seconds) s: \(watch.errors)")
  }
}
