import Foundation
import TestSupport
import Testing

/// `backup`, over each store.
@Suite("The command backup", .timeLimit(.minutes(15)), .fewAtATime)
struct BackupTests {
  /// A store with some rows, and a folder for what is made of it.
  private struct Call {
    let fixture: Fixture
    let folder: TemporaryFolder
    let server: AnswerServer

    init() throws {
      (fixture, folder) = (try Fixture(), try TemporaryFolder())
      server = try fixture.server()
      try server.serve([Route("/books", file: Repository.root + "/Tests/Fixtures/books/books.json")])
      try #"{"store": "\#(fixture.location)", "apis": {"library": {"url": "\#(server.base)/"}}}"#
        .write(toFile: folder.path + "/c.json", atomically: true, encoding: .utf8)
      let once = try self("once", "book")
      if once.status != 0 { throw TestFailure("\(once)") }
    }

    func callAsFunction(_ words: String..., environment: [String: String] = [:]) throws -> Shell.Result {
      try Shell.result(
        [Shell.product("syncd")] + words + ["--config", "c.json"], environment: environment,
        directory: folder.path)
    }

    var files: [String] {
      get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    /// A hundred megabytes that nobody reads.
    func enlarge() throws {
      try fixture.execute(
        "CREATE TABLE large AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT i, randomblob(1000000) AS b FROM n"
      )
    }

    func mode(_ file: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: folder.path + "/" + file)[.posixPermissions] as? Int
    }
  }

  @Test("a copy for the owner alone, checked, that holds the rows; a second one takes its place")
  func copy() throws {
    let call = try Call()
    let result = try call("backup", "b.copy")
    #expect(result.status == 0 && result.errors == "", "\(result)")
    #expect(result.output.hasPrefix("b.copy: ") && result.output.contains(", checked ("), "\(result)")
    #expect(try call.files == ["b.copy", "c.json"])
    #expect(try call.mode("b.copy") == 0o600)
    let again = try call("backup", "b.copy", "--log-format", "json")
    #expect(again.status == 0 && again.output.hasPrefix(#"{"bytes":"#), "\(again)")
    let rows = "SELECT id, title FROM book ORDER BY id"
    switch StoreKind.current {
    case .sqlite:
      #expect(try SQLiteFile.text(call.folder.path + "/b.copy", rows) == call.fixture.rows(rows))
      #expect(try SQLiteFile.text(call.folder.path + "/b.copy", "PRAGMA journal_mode") == "delete")
    case .postgresql:
      let database = try PostgresDatabase()
      let restored = try Shell.result([
        "pg_restore", "--dbname", database.url, "--no-owner", call.folder.path + "/b.copy",
      ])
      #expect(restored.status == 0, "\(restored)")
      let schema = try database.rows(
        "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = 'syncd_runs'"
      )
      #expect(
        try database.rows("SELECT id, title FROM \(schema).book ORDER BY id") == call.fixture.rows(rows))
    }
  }

  @Test("what is there and is no backup of this store is not replaced")
  func others() throws {
    let call = try Call()
    try "mine".write(toFile: call.folder.path + "/mine", atomically: true, encoding: .utf8)
    let text = try call("backup", "mine")
    #expect(text.status == 1 && text.errors.contains("mine is there and is no "), "\(text)")
    #expect(try String(contentsOfFile: call.folder.path + "/mine", encoding: .utf8) == "mine")
    if StoreKind.current == .sqlite {
      #expect(try call("backup", call.fixture.location).errors.contains("is the store itself"))
      let other = try Call()
      let foreign = try call("backup", other.fixture.location)
      #expect(foreign.errors.contains("is no backup of this store"), "\(foreign)")
      try FileManager.default.createSymbolicLink(
        atPath: call.folder.path + "/link", withDestinationPath: call.fixture.location)
      #expect(try call("backup", "link").errors.contains("is the store itself"))
      // The log of another database would be taken for the copy's.
      #expect(try call("backup", "b").status == 0)
      try "x".write(toFile: call.folder.path + "/b-wal", atomically: true, encoding: .utf8)
      #expect(try call("backup", "b").errors.contains("b-wal lies beside it"))
    }
    #expect(try call("backup", ".").status == 1)
    #expect(try call("backup", "/dev/null").errors.contains("is no "))
    #expect(try call("backup").status == 2)
    #expect(try call("backup", "a", "b").status == 2)
  }

  @Test(
    "a folder that is not there, or may not be written to, is named; so is a full disk, and the old copy stays"
  )
  func noRoom() throws {
    let call = try Call()
    let nowhere = try call("backup", "/nowhere/at/all")
    #expect(nowhere.status == 1 && nowhere.errors.contains("there is no folder /nowhere/at"), "\(nowhere)")
    #expect(try call("backup", "b").status == 0)
    let before = try Data(contentsOf: URL(fileURLWithPath: call.folder.path + "/b"))
    if StoreKind.current == .sqlite {
      try call.enlarge()
      // Files of 1 MB at most; the signal that would end the program is not sent.
      let full = try Shell.result(
        [
          "sh", "-c", "trap '' XFSZ; ulimit -f 1000; exec \"$0\" backup b --config c.json",
          Shell.product("syncd"),
        ], directory: call.folder.path)
      #expect(full.status == 1 && full.errors.contains("the backup b cannot be written"), "\(full)")
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: call.folder.path + "/b")) == before)
    #expect(try call.files == ["b", "c.json"])
    guard try Shell.result(["setpriv", "--reuid=65534", "--clear-groups", "true"]).status == 0 else {
      return print("skipped: setpriv cannot take another user here")
    }
    try Shell.run("chmod", "-R", "a+rX", call.folder.path)
    if StoreKind.current == .sqlite { try Shell.run("chmod", "-R", "a+rwX", call.fixture.folder.path) }
    let other = try Shell.result(
      [
        "setpriv", "--reuid=65534", "--clear-groups", Shell.product("syncd"), "backup", "b2", "--config",
        "c.json",
      ], directory: call.folder.path)
    #expect(
      other.status == 1 && other.errors.contains("has to be one that this user may write to"), "\(other)")
  }

  @Test(
    "while another program writes: the copy is of one moment, and the writer is not held up",
    .only(.sqlite, "pg_dump takes care of that"))
  func consistent() throws {
    let call = try Call()
    try call.enlarge()
    try call.fixture.execute("CREATE TABLE a (n INTEGER); CREATE TABLE b (n INTEGER, pad BLOB)")
    let writer = try ServerProcess([
      "python3", "-c",
      """
      import sqlite3, sys, threading, os
      end = threading.Event()
      threading.Thread(target=lambda: (sys.stdin.read(), end.set()), daemon=True).start()
      c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
      n = 0
      while not end.is_set():
          c.execute("BEGIN IMMEDIATE"); c.execute("INSERT INTO a VALUES (?)", (n,))
          c.execute("INSERT INTO b VALUES (?, zeroblob(5000))", (n,)); c.execute("COMMIT")
          n += 1
          if n == 10: print("READY 1", flush=True)
      """, call.fixture.location,
    ])
    #expect(writer.line == "READY 1")
    func counts(_ path: String) throws -> [Int] {
      try SQLiteFile.text(path, "SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)")
        .split(separator: " | ").compactMap { Int($0) }
    }
    let copy = call.folder.path + "/b"
    var last = 0
    for _ in 0..<3 {
      let begun = try counts(call.fixture.location)[0]
      let result = try call("backup", "b")
      #expect(result.status == 0, "\(result)")
      let (held, now) = (try counts(copy), try counts(call.fixture.location)[0])
      #expect(held.count == 2 && held[0] == held[1] && held[0] >= begun && held[0] >= last, "\(held)")
      #expect(now > held[0], "the writer went on while the copy was made")
      last = held[0]
      #expect(try SQLiteFile.text(copy, "PRAGMA integrity_check") == "ok")
    }
  }

  @Test(
    "SIGTERM leaves no file, and what a killed program has left is taken over",
    .only(.sqlite, "so it is there"))
  func stopped() throws {
    let call = try Call()
    try call.enlarge()
    let partial = call.folder.path + "/b-syncd-partial"
    for (signal, status) in [(SIGTERM, Int32(143)), (SIGKILL, -SIGKILL)] {
      let child = try ChildProcess(
        [Shell.product("syncd"), "backup", "b", "--config", "c.json"], directory: call.folder.path)
      while SQLiteFile.size(partial) == 0, child.isRunning { usleep(500) }
      child.send(signal)
      #expect(child.wait() == status)
      #expect(try call.files == ["c.json"] + (signal == SIGKILL ? [] : []) || signal == SIGKILL)
    }
    #expect(try call.files == ["b-syncd-partial", "c.json"])
    #expect(try call("backup", "b").status == 0)
    #expect(try call.files == ["b", "c.json"])
  }

  @Test(
    "two backups to one file at the same time: one is made, or one after the other",
    .only(.sqlite, "so it is there"))
  func atOnce() throws {
    let call = try Call()
    try call.enlarge()
    let partial = call.folder.path + "/b-syncd-partial"
    let child = try ChildProcess(
      [Shell.product("syncd"), "backup", "b", "--config", "c.json"], directory: call.folder.path)
    while SQLiteFile.size(partial) == 0, child.isRunning { usleep(500) }
    let second = try call("backup", "b")
    #expect(child.wait() == 0)
    #expect(second.status == 0 || second.errors.contains("another backup to b is under way"), "\(second)")
    #expect(try call.files == ["b", "c.json"])
    #expect(try SQLiteFile.text(call.folder.path + "/b", "PRAGMA integrity_check") == "ok")
  }

  @Test(
    "pg_dump gets the password by a variable alone; where there is none, that is said",
    .only(.postgresql, "its own"))
  func dump() throws {
    let call = try Call()
    let bin = call.folder.path + "/bin"
    try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: false)
    for name in ["pg_dump", "pg_restore"] {
      let real = String(decoding: try Shell.run("sh", "-c", "command -v \(name)"), as: UTF8.self)
      try "#!/bin/sh\necho \"$0 $* PGPASSWORD=$PGPASSWORD\" >> \(bin)/calls\nexec \(real.dropLast()) \"$@\"\n"
        .write(toFile: "\(bin)/\(name)", atomically: true, encoding: .utf8)
      try Shell.run("chmod", "+x", "\(bin)/\(name)")
    }
    let secret = "s3cret/ word"
    let location = Postgres.url(call.fixture.location, user: "postgres", password: secret)
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let result = try call("backup", "b", "--store", location, environment: ["PATH": "\(bin):\(path)"])
    #expect(result.status == 0, "\(result)")
    let calls = try String(contentsOfFile: bin + "/calls", encoding: .utf8).split(separator: "\n")
    #expect(calls.count == 2, "\(calls)")
    for line in calls {
      #expect(line.hasSuffix("PGPASSWORD=\(secret)"), "\(line)")
      #expect(line.split(separator: "PGPASSWORD=")[0].contains("s3cret") == false, "\(line)")
    }
    let absent = try call("backup", "b", environment: ["PATH": "/nowhere"])
    #expect(absent.status == 1 && absent.errors.contains("there is no pg_dump on the PATH"), "\(absent)")
    #expect(try call.files == ["b", "bin", "c.json"])
  }
}
