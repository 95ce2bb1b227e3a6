import Foundation
import HTTP
import TestSupport
import Testing

/// A killed run leaves the table as before or as after, at whatever moment it dies.
@Suite("kill -9")
struct KillTests {
  @Test("at 100 random moments of `once`, the table is as before or as after, every time")
  func killedAtRandomMoments() throws {
    let before = try BookPages(edition: 1, ids: 1..<8_001)
    // Every row changes, a tenth is gone, some are new: a mixture of both states could not go unseen.
    let after = try BookPages(edition: 2, ids: 801..<8_401)
    let fixture = try Fixture(isRestorable: true)
    let server = try AnswerServer(before.routes)
    let config = fixture.folder.path + "/config.json"
    try #"{"store": "\#(fixture.location)", "apis": {"case": {"url": "\#(server.base)/"}}}"#
      .write(toFile: config, atomically: true, encoding: .utf8)
    // Each round begins with the same store: pages of the one before are none of its own.
    let command = [Shell.product("CaseEntities"), "once", "--no-resume", "--config", config]

    func run() throws -> Shell.Result { try Shell.result(command, environment: ["SYNCD_CASE": "bench"]) }
    func table() throws -> String { try fixture.rows("SELECT * FROM book ORDER BY id") }

    // The two states, and how long a whole run takes here and now.
    #expect(try run().output.hasPrefix("book: 8000 records, 8000 inserted"))
    let stateBefore = try table()
    try fixture.keep()
    try server.serve(after.routes)
    let start = ContinuousClock.now
    #expect(
      try run().output.hasPrefix("book: 7600 records, 400 inserted, 7200 updated, 0 unchanged, 800 deleted"))
    let whole = start.duration(to: .now)
    // How long a commit takes: PostgreSQL sorts and compares the whole answer.
    let writing = StoreKind.words(sqlite: 8_000, postgresql: UInt32(whole.milliseconds) * 500)
    let stateAfter = try table()
    #expect(stateBefore != stateAfter)

    var generator = SeededGenerator(20_261_130)
    var counts = (before: 0, after: 0, finished: 0, writing: 0)
    let aimed = 30
    for round in 1...100 + aimed {
      try fixture.restore()
      // Half of the hundred moments anywhere, half in the last part, where the transaction is.
      let fraction =
        round.isMultiple(of: 2)
        ? Double.random(in: 0...1.05, using: &generator) : Double.random(in: 0.8...1.02, using: &generator)
      let process = try ChildProcess(
        command, environment: TestEnvironment.variables.merging(["SYNCD_CASE": "bench"]) { $1 })
      if round <= 100 {
        usleep(UInt32(Double(whole.milliseconds) * 1000 * fraction))
      } else {
        // Aimed at the commit.
        while process.isRunning, try !fixture.isBeingWritten() { usleep(100) }
        usleep(UInt32.random(in: 0...writing, using: &generator))
      }
      var wasWriting = try StoreKind.current == .postgresql && fixture.isBeingWritten()
      process.send(SIGKILL)
      if process.wait() >= 0 { counts.finished += 1 }
      if StoreKind.current == .sqlite { wasWriting = try fixture.isBeingWritten() }

      try fixture.settle()
      switch try table() {
      case stateBefore:
        counts.before += 1
        if wasWriting { counts.writing += 1 }
      case stateAfter: counts.after += 1
      default:
        Issue.record(
          "round \(round), killed after \(fraction) of a run: the table is neither as before nor as after")
      }
    }
    print(
      "killed \(100 + aimed) times: \(counts.before) as before (\(counts.writing) of them in the middle of writing), "
        + "\(counts.after) as after (\(counts.finished) had ended by themselves)")
    // No lock and no half state stays: the next run does the whole work.
    try fixture.restore()
    #expect(try run().status == 0)
    #expect(try table() == stateAfter)
  }

  /// It is written under another journal than later runs: the pages that were there before are few.
  @Test(
    "a first load that is killed while it is written leaves nothing or all of it",
    .only(.sqlite, "its file is"))
  func firstLoad() throws {
    let pages = try BookPages(edition: 1, ids: 1..<12_001)
    let fixture = try Fixture(isRestorable: true)
    let server = try AnswerServer(pages.routes)
    let config = fixture.folder.path + "/config.json"
    try #"{"store": "\#(fixture.location)", "apis": {"case": {"url": "\#(server.base)/"}}}"#
      .write(toFile: config, atomically: true, encoding: .utf8)
    let command = [Shell.product("CaseEntities"), "once", "--no-resume", "--config", config]
    let variables = TestEnvironment.variables.merging(["SYNCD_CASE": "bench"]) { $1 }
    func once() throws -> Int32 { try ChildProcess(command, environment: variables).wait() }
    func clear() throws {
      for name in try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path)
      where name.hasPrefix("store.sqlite") {
        try FileManager.default.removeItem(atPath: fixture.folder.path + "/" + name)
      }
    }
    // The file is made under such a journal too, but has next to nothing in it then.
    func isUnderWay() -> Bool {
      let size = (try? FileManager.default.attributesOfItem(atPath: fixture.location)[.size] as? Int) ?? 0
      return size > 100_000 && FileManager.default.fileExists(atPath: fixture.location + "-journal")
    }
    func table() throws -> String {
      let isThere = try fixture.rows("SELECT count(*) FROM sqlite_schema WHERE name = 'book'") == "1"
      return isThere ? try fixture.rows("SELECT * FROM book ORDER BY id") : ""
    }
    #expect(try once() == 0)
    let all = try table()
    #expect(all.split(separator: "\n").count == 12_000)
    #expect(try fixture.rows("PRAGMA journal_mode") == "wal")

    var generator = SeededGenerator(20_261_130)
    var counts = (nothing: 0, all: 0, writing: 0)
    for round in 1...40 {
      try clear()
      let process = try ChildProcess(command, environment: variables)
      while process.isRunning, !isUnderWay() { usleep(50) }
      usleep(UInt32.random(in: 0...60_000, using: &generator))
      process.send(SIGKILL)
      _ = process.wait()
      if isUnderWay() { counts.writing += 1 }
      switch try table() {
      case "": counts.nothing += 1
      case all: counts.all += 1
      case let part: Issue.record("round \(round): \(part.split(separator: "\n").count) rows")
      }
      #expect(try fixture.rows("PRAGMA integrity_check") == "ok")
      if round.isMultiple(of: 8) {
        #expect(try once() == 0)
        #expect(try table() == all)
        #expect(try fixture.rows("PRAGMA journal_mode") == "wal")
      }
    }
    print(
      "killed \(counts.nothing + counts.all) times in a first load: nothing \(counts.nothing) times (\(counts.writing) in the middle of writing), all of it \(counts.all) times"
    )
    #expect(counts.writing > 5)
  }

  @Test("killed at each step of a run, the table is as before or as after, and the next run does all of it")
  func everyStep() throws {
    let fixture = try Fixture(isRestorable: true)
    let before = try BookPages(edition: 1, ids: 1..<41, perPage: 5)
    let after = try BookPages(edition: 2, ids: 5..<45, perPage: 5)
    let server = try AnswerServer(before.routes)
    let config = fixture.folder.path + "/syncd.json"
    try
      #"{"store": "\#(fixture.location)", "apis": {"case": {"url": "\#(server.base)/", "rate": "unlimited"}}}"#
      .write(toFile: config, atomically: true, encoding: .utf8)
    func once(_ step: Int?) throws -> Int32 {
      var variables = ["SYNCD_CASE": "bench"]
      if let step { variables["SYNCD_KILL_STEP"] = "\(step)" }
      return try ChildProcess(
        [Shell.product("CaseEntities"), "once", "--no-resume", "--config", config],
        environment: TestEnvironment.variables.merging(variables) { $1 }
      ).wait()
    }
    // All that a commit is about: rows, pages that are kept, the run's record.
    func state() throws -> String {
      try fixture.rows(
        """
        SELECT id, title FROM book ORDER BY id;
        SELECT count(*) FROM syncd_runs; SELECT entity, name, value FROM syncd_state WHERE name != 'run' ORDER BY 1, 2;
        SELECT count(*), sum(length(keys)) FROM syncd_pages
        """)
    }
    #expect(try once(nil) == 0)
    try fixture.keep()
    let stateBefore = try state()
    try server.serve(after.routes)
    #expect(try once(nil) == 0)
    let stateAfter = try state()
    var (steps, committed) = (0, 0)
    for step in 1...500 {
      try fixture.restore()
      let status = try once(step)
      if status == 0 { break }
      steps += 1
      #expect(status == -SIGKILL)
      try fixture.settle()
      let found = try state()
      #expect(found == stateBefore || found == stateAfter, "step \(step)")
      if found == stateAfter { committed += 1 }
      if step % 7 == 0, found == stateBefore {
        #expect(try once(nil) == 0)
        #expect(try state() == stateAfter, "after step \(step)")
      }
    }
    print("killed at each of \(steps) steps: \(steps - committed) as before, \(committed) as after")
    #expect(steps > 20 && committed > 0)
  }

  @Test(
    "killed at each step, the next run asks only for the pages that were not read, and writes the same rows")
  func resumed() throws {
    let fixture = try Fixture(isRestorable: true)
    func routes(_ edition: Int, _ ids: Range<Int>) -> [Route] {
      let pages = stride(from: ids.lowerBound, to: ids.upperBound, by: 3).map {
        Array($0..<min($0 + 3, ids.upperBound))
      }
      return pages.enumerated().reversed().map { index, page in
        let records = page.map { #"{"id": \#($0), "v": "\#(edition).\#($0)"}"# }.joined(separator: ", ")
        let next = index + 1 < pages.count ? #""{{base}}/items?p=\#(index + 1)""# : "null"
        return Route(
          "/items", query: index == 0 ? nil : ["p": "\(index)"],
          body: #"{"data": [\#(records)], "next": \#(next)}"#)
      }
    }
    let server = try AnswerServer(routes(1, 1..<31))
    let config = fixture.folder.path + "/syncd.json"
    try
      #"{"store": "\#(fixture.location)", "apis": {"case": {"url": "\#(server.base)/", "rate": "unlimited"}}}"#
      .write(toFile: config, atomically: true, encoding: .utf8)
    func once(_ step: Int? = nil, _ words: String...) throws -> (status: Int32, requests: Int) {
      try server.reset()
      var variables = ["SYNCD_CASE": "resume"]
      if let step { variables["SYNCD_KILL_STEP"] = "\(step)" }
      let status = try ChildProcess(
        [Shell.product("CaseEntities"), "once", "--config", config] + words,
        environment: TestEnvironment.variables.merging(variables) { $1 }
      ).wait()
      try fixture.settle()
      return (status, try server.requests().count)
    }
    func rows() throws -> String { try fixture.rows("SELECT * FROM items ORDER BY id") }
    func reason() throws -> String {
      try fixture.rows("SELECT outcome, reason FROM syncd_runs ORDER BY id DESC LIMIT 1")
    }
    func keepsPages() throws -> Bool {
      StoreKind.current == .sqlite
        ? SQLiteFile.size(fixture.location + "-syncd-pages-items") > 0
        : try fixture.rows("SELECT count(*) FROM syncd_journal") != "0"
    }

    #expect(try once() == (0, 10))
    try fixture.keep()
    let before = try rows()
    // Nothing is gone: a resumed run deletes nothing.
    try server.serve(routes(2, 1..<34))
    #expect(try once() == (0, 11))
    let after = try rows()
    #expect(before != after)
    var (resumed, steps) = (0, 0)
    for step in 1...100 {
      try fixture.restore()
      let killed = try once(step)
      if killed.status == 0 { break }
      steps += 1
      let found = try rows()
      #expect(found == before || found == after, "step \(step)")
      let next = try once()
      #expect(next.status == 0)
      #expect(try rows() == after, "after step \(step)")
      #expect(try !keepsPages(), "after step \(step)")
      // The page under way when it was killed, and those that were not on the disk yet, come again.
      if found == before, next.requests < 11 {
        resumed += 1
        #expect(
          try reason().hasPrefix(
            "unproven | \(11 - next.requests) of its pages were read by a run that did not end"))
      }
      if step == 8 {
        try fixture.restore()
        _ = try once(step)
        #expect(try keepsPages())
        #expect(try once(nil, "--no-resume") == (0, 11))
        #expect(try !keepsPages())
        #expect(try reason() == "proven | ∅")
      }
    }
    print("killed at each of \(steps) steps: \(resumed) runs went on with pages of the killed one")
    #expect(resumed > 5)
  }

  @Test(
    "in random histories with kills and faults no row that is alive is deleted, and in the end all is as the source has it"
  )
  func histories() throws {
    let count = ProcessInfo.processInfo.environment["SYNCD_TEST_LONG"] == nil ? 12 : 300
    let server = try AnswerServer([])
    var (runs, kills, deleted) = (0, 0, 0)
    for seed in 0..<count {
      var random = SeededGenerator(UInt64(seed) &+ 4711)
      let fixture = try Fixture(isRestorable: true)
      let config = fixture.folder.path + "/syncd.json"
      try
        #"{"store": "\#(fixture.location)", "apis": {"case": {"url": "\#(server.base)/", "rate": "unlimited"}}}"#
        .write(toFile: config, atomically: true, encoding: .utf8)
      var rows = (1...12).map { (id: $0, v: 0) }
      var lastID = 12
      func table() throws -> [String] {
        let text = try fixture.rows(
          "SELECT id || ' ' || v FROM items WHERE EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'items')")
        return text.split(separator: "\n").map(String.init)
      }
      func ids(_ rows: [String]) -> Set<Substring> { Set(rows.map { $0.prefix { $0 != " " } }) }
      var before: [String] = []
      for step in 0..<10 {
        // The last two runs meet no fault: the first of them may go on with old pages.
        let isCalm = step >= 8
        for _ in 0..<(isCalm ? 0 : Int.random(in: 0...4, using: &random)) {
          switch Int.random(in: 0..<4, using: &random) {
          case 0:
            lastID += 1
            rows.insert((lastID, 0), at: Int.random(in: 0...rows.count, using: &random))
          case 1 where rows.count > 1: rows.remove(at: Int.random(in: 0..<rows.count, using: &random))
          case 2: rows[Int.random(in: 0..<rows.count, using: &random)].v += 1
          default: rows.shuffle(using: &random)
          }
        }
        let pages = stride(from: 0, to: rows.count, by: 3).map { rows[$0..<min($0 + 3, rows.count)] }
        let faulty =
          isCalm || Bool.random(using: &random) ? nil : Int.random(in: 0..<pages.count, using: &random)
        let isStatus = Bool.random(using: &random)
        try server.serve(
          pages.enumerated().reversed().map { index, page in
            let records = page.map { #"{"id": \#($0.id), "v": "\#($0.v)"}"# }.joined(separator: ", ")
            let next = index + 1 < pages.count ? #""{{base}}/items?p=\#(index + 1)""# : "null"
            return Route(
              "/items", query: index == 0 ? nil : ["p": "\(index)"],
              status: index == faulty && isStatus ? 403 : 200,
              body: index == faulty ? "<html>" : #"{"data": [\#(records)], "next": \#(next)}"#)
          })
        var variables = ["SYNCD_CASE": "resume"]
        if !isCalm, Bool.random(using: &random) {
          variables["SYNCD_KILL_STEP"] = "\(Int.random(in: 1...24, using: &random))"
        }
        let status = try ChildProcess(
          [Shell.product("CaseEntities"), "once", "--config", config, "--allow-deletes", "1000"],
          environment: TestEnvironment.variables.merging(variables) { $1 }
        ).wait()
        try fixture.settle()
        runs += 1
        if status < 0 { kills += 1 }
        let after = (try? table()) ?? []
        let lost = ids(before).subtracting(ids(after)).intersection(rows.map { Substring("\($0.id)") })
        #expect(lost.isEmpty, "history \(seed), step \(step): \(lost) were deleted")
        deleted += ids(before).subtracting(ids(after)).count
        if !lost.isEmpty { return }
        before = after
      }
      #expect(before.sorted() == rows.map { "\($0.id) \($0.v)" }.sorted(), "history \(seed)")
    }
    print("killed histories: \(runs) runs, \(kills) of them killed, \(deleted) rows deleted")
    #expect(kills > runs / 10 && deleted > runs / 10)
  }
}
