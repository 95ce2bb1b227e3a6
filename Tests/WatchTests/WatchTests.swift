import Foundation
import TestSupport
import Testing

/// The service as its manager, its administrator and its sources meet it.
@Suite("watch", .fewAtATime, .timeLimit(.minutes(10)))
struct WatchTests {
  private static let books = WatchProcess.books

  // MARK: Signals

  /// What is going on when the signal comes.
  enum Business: String, CaseIterable, Sendable {
    case slowDownload, backoff, busyDatabase, otherRun, sleeping, alert, retry
  }

  @Test(
    "SIGTERM and SIGINT end it within five seconds with status 0, whatever is going on, and the store is whole",
    arguments: Business.allCases)
  func stops(_ business: Business) throws {
    let slow = Route("/books", file: Self.books.file, fault: "slow", pause: 60)
    let watch = try WatchProcess(
      business == .slowDownload ? [slow] : business == .retry ? [Route("/books", status: 503)] : [Self.books])
    var holder: ChildProcess?
    try watch.configure(
      business == .alert ? #""on_failure": ["sleep", "98765"], "interval": "1h","# : #""interval": "1h","#)
    if business == .backoff || business == .alert { try watch.server.serve([Route("/books", status: 404)]) }
    if business == .busyDatabase {
      // The tables are there; from then on somebody writes without an end.
      _ = try Shell.result(
        [Shell.product("syncd"), "once", "book", "--config", "c.json"], directory: watch.folder.path)
      try watch.server.serve([Route("/books", body: #"[{"id": 77, "title": "new"}]"#)])
      holder = try ChildProcess(
        [
          "python3", "-c",
          """
          import sqlite3, time
          db = sqlite3.connect("syncd.sqlite", isolation_level=None); db.execute("BEGIN IMMEDIATE")
          open("held", "w"); time.sleep(1000)
          """,
        ], directory: watch.folder.path, errors: 2)
      while !FileManager.default.fileExists(atPath: watch.folder.path + "/held") { usleep(10_000) }
    }
    if business == .otherRun {
      try watch.server.serve([slow])
      holder = try ChildProcess(
        [Shell.product("syncd"), "once", "book", "--config", "c.json"], directory: watch.folder.path)
      while try watch.server.requests().isEmpty { usleep(10_000) }
    }
    let requests = try watch.server.requests().count
    try watch.start("book", "--log-level", "debug")
    switch business {
    case .slowDownload, .busyDatabase:
      try watch.wait("a request") { try watch.server.requests().count > requests }
    case .otherRun: try watch.wait("its start") { watch.errors.contains("watches 1 entity") }
    case .backoff: try watch.wait("a failure") { watch.errors.contains("tried again in") }
    case .alert:
      try watch.wait("the alert's command") {
        try Shell.result(["pgrep", "-P", "\(watch.child?.processIdentifier ?? 0)", "sleep"]).status == 0
      }
    case .retry: try watch.wait("a retry") { watch.errors.contains("next attempt in") }
    case .sleeping: try watch.wait("a run") { watch.lines.count == 1 }
    }
    let (status, seconds) = watch.stop(business == .sleeping ? SIGINT : SIGTERM)
    #expect(status == 0, "\(watch.errors)")
    // The promise is five; a machine that is busy with other tests may take its time to run the process at all.
    #expect(seconds < 10, "\(business): \(seconds) s")
    holder?.send(SIGKILL)
    holder?.wait()
    if business != .slowDownload, business != .backoff, business != .retry, business != .otherRun,
      business != .alert
    {
      #expect(try watch.rows("PRAGMA integrity_check") == "ok")
    }
    // Nothing that it started goes on.
    if business == .alert { #expect(try Shell.result(["pgrep", "-af", "^sleep 98765"]).output == "") }
  }

  @Test("signals at random moments, 20 times: each ends it with 0, and the store is whole")
  func randomMoments() throws {
    let watch = try WatchProcess()
    try watch.configure(#""interval": "20ms","#)
    var taken: [Int] = []
    for round in 0..<20 {
      try watch.start("book")
      usleep(.random(in: 1000...400_000))
      // Before it listens a signal has its usual effect.
      let (status, seconds) = watch.stop(round % 2 == 0 ? SIGTERM : SIGINT)
      #expect(
        status == 0 || (status == -SIGTERM || status == -SIGINT) && watch.output.isEmpty,
        "\(status): \(watch.errors)")
      taken.append(Int(seconds * 1000))
    }
    #expect(try watch.rows("PRAGMA integrity_check; SELECT count(*) FROM book") == "ok\n5")
    print("signals at random moments: ended in \(taken) ms")
  }

  @Test(
    "SIGUSR1 syncs now; SIGHUP reads the configuration, and keeps the one that works where the new one does not"
  )
  func reloads() throws {
    let watch = try WatchProcess([Self.books, Route("/posts", body: "[]")])
    try watch.configure(
      #""interval": "1h","#,
      entities:
        #""post": {"enabled": false}, "comment": {"enabled": false}, "article": {"enabled": false}, "hero": {"enabled": false}"#
    )
    try watch.start()
    try watch.wait("the first run") { watch.lines.count == 1 }
    watch.send(SIGUSR1)
    try watch.wait("the run that was asked for") { watch.lines.count == 2 }
    // Wrong: it goes on as before.
    try watch.write("c.json", #"{"intreval": "1s"}"#)
    watch.send(SIGHUP)
    try watch.wait("the refusal") { watch.errors.contains("the configuration stays as it was: c.json") }
    #expect(watch.errors.contains(#"unknown key "intreval" (did you mean "interval"?)"#), "\(watch.errors)")
    watch.send(SIGUSR1)
    try watch.wait("a run as before") { watch.lines.count == 3 }
    // Another entity, another store, a shorter interval.
    try watch.configure(
      #""interval": "50ms", "store": "other.sqlite","#,
      entities:
        #""book": {"enabled": false}, "comment": {"enabled": false}, "article": {"enabled": false}, "hero": {"enabled": false}"#
    )
    watch.send(SIGHUP)
    try watch.wait("runs of another entity") {
      watch.lines.filter { $0.contains(" post: 0 records") }.count >= 3
    }
    #expect(watch.lines.filter { $0.contains(" book: ") }.count == 3, "\(watch.output)")
    #expect(watch.stop().status == 0)
    #expect(
      try SQLiteFile.text(
        watch.folder.path + "/other.sqlite", "SELECT count(*) > 2 FROM syncd_runs WHERE entity = 'post'")
        == "1")
    #expect(try watch.rows("SELECT DISTINCT entity FROM syncd_runs") == "book")
  }

  @Test("a configuration whose secrets come slowly holds up no run, and the one that was written last holds")
  func slowReload() throws {
    let watch = try WatchProcess()
    let port = try freePort()
    watch.page = "http://127.0.0.1:\(port)"
    try watch.write(
      "slow", "#!/bin/sh\nwhile ! test -e go; do sleep 0.05; done\necho 0123456789abcdef0123456789abcdef\n")
    chmod(watch.folder.path + "/slow", 0o755)
    try watch.configure(#""interval": "30ms","#)
    try watch.start("book")
    try watch.wait("a run") { watch.lines.count > 1 }
    try watch.configure(#""interval": "30ms", "http": "127.0.0.1:\#(port)", "http_token": "command:./slow","#)
    for _ in 0..<4 { watch.send(SIGHUP) }
    let before = watch.lines.count
    try watch.wait("runs meanwhile") { watch.lines.count > before + 20 }
    #expect(!watch.errors.contains("was read again"), "\(watch.errors)")
    try watch.configure(#""interval": "30ms","#)
    watch.send(SIGHUP)
    try watch.write("go", "")
    try watch.wait("both files were read") {
      watch.errors.components(separatedBy: "the configuration was read again").count > 2
    }
    #expect(try Shell.result(["curl", "-s", "--max-time", "5", watch.page + "/healthz"]).status != 0)
    #expect(watch.stop().status == 0)
  }

  // MARK: Sources and stores

  @Test("an entity that hangs and one that fails do not hold up the others")
  func independent() throws {
    let watch = try WatchProcess([
      Self.books, Route("/posts", body: "[]", fault: "slow", pause: 600),
      Route("/articlesearch.json", status: 404),
    ])
    try watch.configure(#""interval": "20ms","#)
    try watch.start("book", "post", "article")
    try watch.wait("runs of the one that works") {
      watch.lines.filter { $0.contains(" book: 5 records") }.count > 20
    }
    #expect(watch.errors.contains("article: page 1"), "\(watch.errors)")
    #expect(!watch.output.contains("post:"), "\(watch.output)")
    #expect(watch.stop().status == 0)
  }

  @Test("a source that is not there at the start is waited for, and found soon after it has come")
  func sourceComesLate() throws {
    let port = try freePort()
    let watch = try WatchProcess()
    try watch.configure(
      #""interval": "500ms","#, apis: [#""library": {"url": "http://127.0.0.1:\#(port)/"}"#])
    try watch.start("book")
    try watch.wait("a failure") { watch.errors.contains("book: page 1") && watch.errors.contains("run=") }
    let routes = watch.folder.path + "/routes.json"
    try JSONEncoder().encode([Self.books]).write(to: URL(filePath: routes))
    let late = try ServerProcess(script: "answers.py", [routes, "\(port)"])
    try watch.wait("a run that succeeds") {
      watch.lines.contains { $0.contains("book: 5 records, 5 inserted") }
    }
    #expect(try late.port() == port)
    #expect(watch.stop().status == 0)
  }

  @Test("a name that nobody knows at the start is no wrong configuration")
  func nameUnknown() throws {
    let watch = try WatchProcess()
    try watch.configure(#""interval": "200ms","#, apis: [#""library": {"url": "http://nowhere.invalid/"}"#])
    try watch.start("book")
    try watch.wait("a failure") { watch.errors.contains("nowhere.invalid") && watch.errors.contains("run=") }
    try watch.configure(#""interval": "200ms","#)
    watch.send(SIGHUP)
    try watch.wait("a run that succeeds") { watch.lines.contains { $0.contains("book: 5 records") } }
    #expect(watch.stop().status == 0)
  }

  @Test("a PostgreSQL that is down at the start, and stopped later, is waited for")
  func storeComesLate() throws {
    let postgres = try PostgresServer()
    try postgres.stop("immediate")
    let watch = try WatchProcess()
    try watch.configure(#""interval": "200ms", "busy": "1s","#)
    try watch.start("book", "--store", postgres.url)
    try watch.wait("a failure") { watch.errors.contains("cannot be opened") }
    try postgres.start()
    try watch.wait("a run that succeeds") {
      watch.lines.contains { $0.contains("book: 5 records, 5 inserted") }
    }
    try postgres.stop("immediate")
    let before = watch.errors.count
    try watch.wait("a failure") { watch.errors.dropFirst(before).contains("Connection refused") }
    try postgres.start()
    let runs = watch.lines.count
    try watch.wait("a run that succeeds") { watch.lines.count > runs + 2 }
    #expect(watch.stop().status == 0)
    #expect(try Postgres.rows(postgres.url, "SELECT count(*) FROM book") == "5")
  }

  @Test(
    "what cannot work is refused at the start with status 2",
    arguments: [
      (#""http": "0.0.0.0:9469","#, "may be reached by other machines, so a token is needed"),
      (#""http": "9469","#, "write 127.0.0.1:9469"),
      (#""http": "127.0.0.1:1", "http_token": "hunter2","#, "a secret has to be a reference"),
      (
        #""http": "127.0.0.1:1", "http_token": "env:NOT_SET","#,
        #""http_token": its secret comes from the environment variable NOT_SET, which is not set"#
      ),
      (#""on_failure": "mail","#, "is no webhook"),
      (
        #""on_failure": "env:NOT_SET","#, "on_failure: its secret comes from the environment variable NOT_SET"
      ),
      (#""parallel": 0,"#, #""parallel" has to be a number from 1 to 64"#),
      (
        #""log_level": "loud","#, #""log_level" is "loud"; it has to be error, warning, info, debug or trace"#
      ),
    ])
  func refused(_ members: String, _ message: String) throws {
    let watch = try WatchProcess()
    try watch.configure(members)
    try watch.start("book")
    #expect(watch.child?.wait() == 2, "\(watch.errors)")
    #expect(watch.errors.contains(message), "\(watch.errors)")
    #expect(!watch.errors.contains("hunter2"), "\(watch.errors)")
    #expect(try watch.server.requests().isEmpty)
  }

  @Test(
    "a port that is taken is status 1, since it may be free soon; commands of a file that others may write are not run"
  )
  func untrusted() throws {
    let watch = try WatchProcess()
    let port = watch.server.base.split(separator: ":").last ?? ""
    try watch.configure(#""http": "127.0.0.1:\#(port)","#)
    try watch.start("book")
    #expect(watch.child?.wait() == 1, "\(watch.errors)")
    #expect(watch.errors.contains("127.0.0.1:\(port)"), "\(watch.errors)")
    try watch.configure(#""on_failure": ["touch", "ran"],"#)
    chmod(watch.folder.path + "/c.json", 0o666)
    try watch.start("book")
    #expect(watch.child?.wait() == 2)
    #expect(watch.errors.contains("chmod go-w "), "\(watch.errors)")
    #expect(!FileManager.default.fileExists(atPath: watch.folder.path + "/ran"))
  }

  // MARK: Those who are told

  @Test("systemd is told that it is ready, how it does, that it lives, reloads and stops")
  func notify() throws {
    let watch = try WatchProcess([Route("/books", status: 404)])
    try watch.configure(#""interval": "50ms","#)
    let socket = try ReceivingSocket(watch.folder.path + "/notify")
    var told: [String] = []
    func hear(until text: String) throws {
      repeat { told.append(try socket.text()) } while !(told.last ?? "").contains(text)
    }
    try watch.start(
      "book", environment: ["NOTIFY_SOCKET": watch.folder.path + "/notify", "WATCHDOG_USEC": "400000"])
    try hear(until: "STATUS=1 entity, 1 failing: book")
    #expect(told.first == "READY=1", "\(told)")
    try watch.server.serve([Self.books])
    try hear(until: "STATUS=1 entity, none failing")
    try hear(until: "WATCHDOG=1")
    watch.send(SIGHUP)
    try hear(until: "RELOADING=1\nMONOTONIC_USEC=")
    try hear(until: "READY=1")
    watch.send(SIGTERM)
    try hear(until: "STOPPING=1")
    #expect(watch.child?.wait() == 0)
  }

  @Test("people are told once of each trouble and of its end; a guard that refuses again and again, once")
  func alerts() throws {
    let watch = try WatchProcess([Route("/books", status: 404)])
    try watch.write("tell", "#!/bin/sh\n(echo \"$SYNCD_EVENT $SYNCD_ENTITY $SYNCD_OUTCOME\"; cat) >> told\n")
    chmod(watch.folder.path + "/tell", 0o755)
    try watch.configure(
      #""interval": "30ms", "on_failure": ["./tell"], "on_recovery": ["./tell"], "on_guard": [["./tell"]],"#)
    try watch.start("book")
    func told() -> [Substring] {
      ((try? String(contentsOfFile: watch.folder.path + "/told", encoding: .utf8)) ?? "").split(
        separator: "\n")
    }
    func outcomes(_ outcome: String) throws -> Int {
      Int(try watch.rows("SELECT count(*) FROM syncd_runs WHERE outcome = '\(outcome)'")) ?? 0
    }
    try watch.wait("the alert") { told().count == 2 }
    try watch.wait("more failures") { try outcomes("failed") > 2 }
    try watch.server.serve([Self.books])
    try watch.wait("the recovery") { told().count == 4 }
    try watch.server.serve([Route("/books", body: "[]")])
    try watch.wait("refusals") { try outcomes("refused") > 10 }
    try watch.server.serve([Self.books])
    try watch.wait("the other recovery") { told().count == 8 }
    #expect(watch.stop().status == 0)
    let events = told().enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
    #expect(
      events == [
        "failure book failed", "recovery book proven", "guard book refused", "recovery book proven",
      ], "\(told())")
    let first = try #require(told().dropFirst().first)
    #expect(
      first.contains(#""event":"failure""#) && first.contains(#""outcome":"failed""#)
        && first.contains(#""run":""#)
        && first.contains("HTTP 404"), "\(first)")
  }

  // MARK: Logs

  @Test(
    "each line names its run, in all formats; the journal's lines carry their level where no journal listens")
  func logs() throws {
    for format in ["text", "json", "journal"] {
      let watch = try WatchProcess([Self.books, Route("/posts", status: 404)])
      try watch.configure(#""interval": "50ms","#)
      try watch.start("book", "post", "--log-format", format, "--log-level", "trace")
      try watch.wait("runs") {
        let all = watch.output + watch.errors
        return all.contains("book") && all.contains("404")
          && all.components(separatedBy: "5 unchanged").count
            + all.components(separatedBy: #""unchanged":5"#).count > 3
      }
      #expect(watch.stop().status == 0)
      let lines = (watch.lines + watch.errors.split(separator: "\n")).filter { !$0.contains(" watches 2 ") }
      for line in lines {
        switch format {
        case "json":
          let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
          #expect(
            object?["run"] is String && object?["level"] is String && object?["time"] is String, "\(line)")
        case "journal": #expect(line.contains(#/^<[3467]>(book|post): .* run=[0-9a-f]{12}$/#), "\(line)")
        default:
          #expect(
            line.contains(#/^(syncd: )?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (book|post): .* run=[0-9a-f]{12}$/#),
            "\(line)")
        }
      }
      // A run's pages, failure and result have one name.
      #expect(lines.contains { $0.contains("page 1") && $0.contains("404") }, "\(lines.prefix(9))")
    }
  }

  // MARK: The status page

  @Test(
    "a hundred clients at once while it syncs; its numbers are those of the store; a token keeps others out")
  func page() throws {
    let watch = try WatchProcess([Self.books, Route("/posts", status: 404)])
    let port = try freePort()
    watch.page = "http://127.0.0.1:\(port)"
    try FileManager.default.createDirectory(
      atPath: watch.folder.path + "/credentials", withIntermediateDirectories: false)
    try watch.write("credentials/page", "0123456789abcdef0123456789abcdef\n")
    try watch.configure(
      #""interval": "20ms", "http": "127.0.0.1:\#(port)", "http_token": "credential:page","#)
    try watch.start(
      "book", "post", environment: ["CREDENTIALS_DIRECTORY": watch.folder.path + "/credentials"])
    try watch.wait("a run") { watch.lines.count > 2 }
    let header = "Authorization: Bearer 0123456789abcdef0123456789abcdef"
    #expect(try watch.get("/healthz") == "ok\n")
    #expect(try watch.get("/metrics").contains("a token is needed"))
    let results = try Shell.result([
      "curl", "-sZ", "--parallel-immediate", "--parallel-max", "100", "--max-time", "60", "-w",
      "%{http_code}\n", "-H",
      header, "-o", "/dev/null", "\(watch.page)/metrics?[1-50]", "-o", "/dev/null", "\(watch.page)/?[1-50]",
    ])
    #expect(results.output == String(repeating: "200\n", count: 100), "\(results)")
    let runs = watch.lines.count
    try watch.wait("it goes on") { watch.lines.count > runs + 5 }
    let metrics = try watch.get("/metrics", "-H", header)
    #expect(metrics.contains(#"syncd_rows{entity="book"} 5"#), "\(metrics)")
    #expect(metrics.contains(#"outcome="failed"} "#), "\(metrics)")
    let page = try watch.get("/", "-H", header)
    #expect(
      page.contains("book") && page.contains("HTTP 404") && !page.contains("0123456789abcdef"), "\(page)")
    #expect(try watch.get("/readyz", "-H", header).contains("post"))
    #expect(watch.stop().status == 0)
    // Another process knows what came before it.
    try watch.start("book", environment: ["CREDENTIALS_DIRECTORY": watch.folder.path + "/credentials"])
    try watch.wait("the store's runs on the page") {
      try watch.get("/metrics", "-H", header).contains(#"syncd_rows{entity="book"} 5"#)
    }
    #expect(watch.stop().status == 0)
  }

  @Test("a profile holds over the rest of the file")
  func profiles() throws {
    let watch = try WatchProcess()
    try watch.configure(
      #""store": "main.sqlite", "profiles": {"staging": {"store": "staging.sqlite", "interval": "50ms"}},"#)
    try watch.start("book", "--profile", "staging")
    try watch.wait("runs") { watch.lines.count > 2 }
    #expect(watch.stop().status == 0)
    #expect(FileManager.default.fileExists(atPath: watch.folder.path + "/staging.sqlite"))
    #expect(!FileManager.default.fileExists(atPath: watch.folder.path + "/main.sqlite"))
    try watch.start("book", environment: ["SYNCD_PROFILE": "stagign"])
    #expect(watch.child?.wait() == 2)
    #expect(
      watch.errors.contains(#"c.json has no profile "stagign" (did you mean "staging"?); there are staging"#),
      "\(watch.errors)")
  }
}
