import Foundation
import TestSupport
import Testing

/// `doctor`: a healthy program, and one thing after the other that is wrong.
@Suite("The command doctor", .timeLimit(.minutes(15)), .fewAtATime)
struct DoctorTests {
  private struct Call {
    let fixture: Fixture
    let folder: TemporaryFolder
    let server: ServerProcess

    /// - Parameter words: those of `odd_server.py`.
    init(_ words: [String] = []) throws {
      (fixture, folder) = (try Fixture(), try TemporaryFolder())
      server = try ServerProcess(script: "odd_server.py", words)
      let base = "\(words.contains("--tls") ? "https" : "http")://127.0.0.1:\(try server.port())/"
      try write(#"{"store": "\#(fixture.location)", "apis": {"library": {"url": "\#(base)"}}}"#)
    }

    func write(_ configuration: String) throws {
      try configuration.write(toFile: folder.path + "/c.json", atomically: true, encoding: .utf8)
    }

    func callAsFunction(_ words: String..., environment: [String: String] = [:]) throws -> Shell.Result {
      try Shell.result(
        [Shell.product("syncd")] + words + ["--config", "c.json"], environment: environment,
        directory: folder.path)
    }

    /// The lines about one thing, with what to do.
    func finding(_ subject: String, _ words: String..., status: Int32) throws -> String {
      let result = try Shell.result(
        [Shell.product("syncd"), "doctor", "book", "--config", "c.json"] + words, directory: folder.path)
      #expect(result.status == status, "\(result)")
      let lines = result.output.split(separator: "\n")
      guard let start = lines.firstIndex(where: { $0.dropFirst(6).hasPrefix(subject + ": ") }) else {
        return "no \(subject) in \(result)"
      }
      let rest = lines[start...].dropFirst().prefix { $0.hasPrefix("      ") }
      return ([lines[start]] + rest).joined(separator: "\n")
    }

    func change(_ sql: String) throws { try fixture.execute(sql) }
  }

  /// Whether the machine's own clock is kept right is not the test's business.
  private func withoutTimeService(_ output: String) -> String {
    let lines = output.split(separator: "\n")
    let place = lines.firstIndex { $0.contains("time service: ") }
    return lines.enumerated().filter { index, line in
      index != place && !(index - 1 == place && line.hasPrefix("      "))
    }.map(\.1).joined(separator: "\n")
  }

  @Test("what watch needs is looked for too: its address, its token, and whom it alerts")
  func service() throws {
    let call = try Call()
    let file = call.folder.path + "/c.json"
    let text = try String(contentsOfFile: file, encoding: .utf8)
    let more = #"{"http": "0.0.0.0:9469", "http_token": "env:NO_TOKEN", "on_failure": "env:NO_HOOK","#
    try text.replacing(/^\s*\{/, with: more).write(toFile: file, atomically: true, encoding: .utf8)
    let page = try call.finding("status page", "--offline", status: 1)
    #expect(page.hasPrefix("FAIL  status page: ") && page.contains("NO_TOKEN"), "\(page)")
    let alerts = try call.finding("alerts", "--offline", status: 1)
    #expect(alerts.hasPrefix("FAIL  alerts: on_failure: ") && alerts.contains("NO_HOOK"), "\(alerts)")
  }

  @Test("a healthy store: a line for each check, and status 0")
  func healthy() throws {
    let call = try Call()
    #expect(try call("once", "book").status == 0)
    let result = try call("doctor", "book")
    #expect(result.status == 0 && result.errors == "", "\(result)")
    let output = withoutTimeService(result.output)
    let subjects = output.split(separator: "\n").dropLast().map { $0.prefix { $0 != ":" } }.joined(
      separator: "\n")
    expect(
      subjects,
      is: StoreKind.words(
        sqlite: """
          ok    configuration
          ok    declarations
          ok    store
          ok    writing
          ok    integrity
          ok    log
          ok    disk of the store
          ok    kept pages
          ok    runs under way
          ok    tables
          ok    runs
          ok    disk for waiting rows
          ok    API library
          ok    clock
          """,
        postgresql: """
          ok    configuration
          ok    declarations
          ok    store
          ok    rights
          ok    integrity
          ok    transaction numbers
          ok    collation
          ok    vacuum
          ok    waiting sessions
          ok    kept pages
          ok    runs under way
          ok    tables
          ok    runs
          ok    disk for waiting rows
          ok    API library
          ok    clock
          """))
    let json = try call("doctor", "book", "--json", "--offline", "--quick")
    #expect(
      json.output.contains(#""level":"ok","subject":"runs","text":"book succeeded within three intervals""#))
    #expect(!json.output.contains("API library"))
    // What is fine is not told where only what is wrong is asked for.
    let quiet = try call("doctor", "book", "--quiet")
    #expect(withoutTimeService(quiet.output) == "", "\(quiet)")
  }

  @Test("a damaged store", .only(.sqlite, "PostgreSQL looks after its own files"))
  func damaged() throws {
    let call = try Call()
    #expect(try call("once", "book").status == 0)
    try call.change(
      "INSERT INTO book (id, title) WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) SELECT i, 'title ' || i FROM n"
    )
    try call.change("PRAGMA wal_checkpoint(TRUNCATE)")
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: call.fixture.location))
    let page = 16384
    try file.seek(toOffset: UInt64(try file.seekToEnd()) / UInt64(page) / 2 * UInt64(page))
    try file.write(contentsOf: Data(repeating: 0x55, count: page))
    try file.close()
    for words in [["--offline"], ["--offline", "--quick"]] {
      let result = try Shell.result(
        [Shell.product("syncd"), "doctor", "book", "--config", "c.json"] + words, directory: call.folder.path)
      #expect(
        result.status == 1 && result.output.contains("FAIL  integrity: the store is damaged: "), "\(result)")
      #expect(result.output.contains("      → stop what runs, keep a copy of the file"), "\(result)")
    }
    let backup = try call("backup", "b")
    #expect(backup.status == 1 && backup.errors.contains("the store"), "\(backup)")
    #expect(!FileManager.default.fileExists(atPath: call.folder.path + "/b"))
    try "no database".write(toFile: call.fixture.location, atomically: true, encoding: .utf8)
    #expect(try call.finding("store", "--offline", status: 1).contains("is no SQLite database"))
  }

  @Test("a table that differs from its declaration, and one that cannot take the rows")
  func drift() throws {
    let call = try Call()
    #expect(try call("once", "book").status == 0)
    try call.change("ALTER TABLE book ADD COLUMN shelf TEXT")
    let differs = try call.finding("tables of book", "--offline", status: 0)
    #expect(differs.hasPrefix("warn  ") && differs.contains("\"shelf\" is not declared"), "\(differs)")
    #expect(differs.hasSuffix("rebuild book"), "\(differs)")
    try call.change("DROP TABLE book; CREATE TABLE book (id INTEGER, title TEXT)")
    let refused = try call.finding("tables of book", "--offline", status: 1)
    #expect(refused.hasPrefix("FAIL  "), "\(refused)")
  }

  @Test("pages of a run that was ended long ago")
  func stalePages() throws {
    let call = try Call()
    #expect(try call("once", "book").status == 0)
    if StoreKind.current == .sqlite {
      let file = call.fixture.location + "-syncd-pages-lost%20one"
      try "SYNP".write(toFile: file, atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -3 * 86_400)], ofItemAtPath: file)
    } else {
      try call.change(
        "INSERT INTO syncd_journal (entity, key, begun, name, page) VALUES ('lost one', 'k', 1000, 'n', x'00')"
      )
    }
    let found = try call.finding("kept pages", "--offline", status: 0)
    #expect(
      found.hasPrefix("warn  ") && found.contains("no entity of that name keeps pages here"), "\(found)")
    #expect(
      found.contains(StoreKind.words(sqlite: "remove the file", postgresql: "entity = 'lost one'")),
      "\(found)")
  }

  @Test("runs that fail, and ones that nobody starts any more")
  func runs() throws {
    let call = try Call()
    let never = try call.finding("runs of book", "--offline", status: 0)
    #expect(never.hasPrefix("warn  runs of book: it has never run here"), "\(never)")
    #expect(try call("once", "book").status == 0)
    try call.change(
      "UPDATE syncd_runs SET started_at = '2026-01-01T00:00:00.000Z', finished_at = '2026-01-01T00:00:00.000Z'"
    )
    let late = try call.finding("runs of book", "--offline", status: 0)
    #expect(late.contains("and has not run since, though its interval is 5 minutes"), "\(late)")
    try call.change(
      "INSERT INTO syncd_runs (run, entity, started_at, finished_at, outcome, reason, pages, records, bytes, inserted, updated, unchanged, deleted, duplicates, rejected) VALUES ('x', 'book', '2026-01-02T00:00:00.000Z', '2026-01-02T00:00:00.000Z', 'failed', 'the disk is on fire', 0, 0, 0, 0, 0, 0, 0, 0, 0)"
    )
    let failing = try call.finding("runs of book", "--offline", status: 1)
    #expect(failing.contains("; 1 run since failed; the last: the disk is on fire"), "\(failing)")
  }

  @Test("a clock that is wrong, and certificates that end soon or have ended", .once)
  func servers() throws {
    let off = try Call(["--ahead", "3600"])
    _ = try off("once", "book")
    let clock = try off.finding("clock", status: 1)
    #expect(
      clock.contains("library's server is 60 minutes ahead") || clock.contains("59 minutes"), "\(clock)")

    let folder = try TemporaryFolder()
    let made = try Shell.result(
      [
        "sh", "-ec",
        """
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout soon.key -out soon.pem -subj /CN=soon -days 5
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout over.key -out over.csr -subj /CN=over
        : > index.txt; echo 01 > serial
        printf '[ca]\\ndefault_ca=d\\n[d]\\nnew_certs_dir=.\\ndatabase=index.txt\\nserial=serial\\ndefault_md=sha256\\npolicy=p\\n[p]\\ncommonName=supplied\\n' > ca.cnf
        openssl ca -batch -config ca.cnf -in over.csr -out over.pem -startdate 20200101000000Z -enddate 20200301000000Z -keyfile soon.key -cert soon.pem -notext
        """,
      ], directory: folder.path)
    #expect(made.status == 0, "\(made)")
    for (name, word, text) in [
      ("soon", "warn", "127.0.0.1: valid for 4 days"), ("over", "FAIL", "(2020-03-01)"),
    ] {
      let call = try Call(["--tls", "\(folder.path)/\(name).pem", "\(folder.path)/\(name).key"])
      let found = try call.finding("certificate of library", status: 1)
      #expect(found.hasPrefix(word) && found.contains(text), "\(found)")
      #expect(try call.finding("API library", status: 1).lowercased().contains("certificate"))
    }
  }

  @Test("a configuration that cannot be read, or that others may write; a secret that is not set", .once)
  func configuration() throws {
    let call = try Call()
    #expect(try Shell.result(["chmod", "666", call.folder.path + "/c.json"]).status == 0)
    let open = try call.finding("configuration", "--offline", status: 0)
    #expect(
      open.contains("may be written by its group and everyone") && open.contains("chmod go-w"), "\(open)")
    let secrets = try call("doctor", "article", "--offline", environment: ["NYT_API_KEY": ""])
    #expect(
      secrets.output.contains(
        "FAIL  secrets of nytimes: the environment variable NYT_API_KEY is not set or empty"),
      "\(secrets)")
    let given = try call("doctor", "article", "--offline", environment: ["NYT_API_KEY": "hidden"])
    #expect(given.output.contains("ok    secrets of nytimes: environment variable NYT_API_KEY"), "\(given)")
    #expect(!given.output.contains("hidden"))
    try call.write(#"{"stor": "x"}"#)
    let broken = try call("doctor", "book")
    #expect(broken.status == 1 && broken.errors == "", "\(broken)")
    #expect(
      broken.output.contains(#"FAIL  configuration: c.json: the file has an unknown key "stor""#), "\(broken)"
    )
    // What needs no configuration is looked at all the same, and the store where it is named.
    #expect(
      broken.output.contains("disk for waiting rows") && !broken.output.contains("API library"), "\(broken)")
    #expect(try call("doctor", "book", "--store", "s.sqlite").output.contains("s.sqlite is not there yet"))
    #expect(try call("doctor", "nonsense").status == 2)
    try call.write(#"{"store": "/nowhere/s.sqlite"}"#)
    #expect(try call.finding("store", "--offline", status: 1).contains("there is no folder /nowhere"))
  }

  @Test("a run under way is told with its process or session")
  func lease() throws {
    let call = try Call()
    #expect(try call("once", "book").status == 0)
    let server = try AnswerServer([Route("/books", body: "[]", fault: "slow", pause: 60)])
    try call.write(
      #"{"store": "\#(call.fixture.location)", "apis": {"library": {"url": "\#(server.base)/"}}}"#)
    let child = try ChildProcess(
      [Shell.product("syncd"), "once", "book", "--config", "c.json"], directory: call.folder.path)
    while try server.requests().isEmpty { usleep(20_000) }
    let found = try call.finding("runs under way", "--offline", status: 0)
    let holder = StoreKind.words(sqlite: "process \(child.processIdentifier), ", postgresql: "session ")
    #expect(found.hasPrefix("ok    runs under way: book (\(holder)"), "\(found)")
    child.send(SIGTERM)
    child.wait()
  }
}
