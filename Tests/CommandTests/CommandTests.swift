import Foundation
import TestSupport
import Testing

/// The command line as a person or a script meets it.
@Suite("The command", .fewAtATime, .once)
struct CommandTests {
  /// The program in a folder of its own, with a server that plays all APIs and a configuration that names both.
  private struct Call {
    let folder: TemporaryFolder
    let server: AnswerServer

    init(_ routes: [Route] = [], config: String? = nil) throws {
      folder = try TemporaryFolder()
      server = try AnswerServer(routes)
      let text =
        config ?? """
          {  // comments are allowed
            "store": "t.sqlite",
            "apis": { "library": { "url": "\(server.base)/" }, "placeholder": { "url": "\(server.base)/" } }
          }
          """
      try text.write(toFile: folder.path + "/c.json", atomically: true, encoding: .utf8)
    }

    func callAsFunction(_ words: String..., environment: [String: String] = [:]) throws -> Shell.Result {
      var variables = environment
      for name in ["NYT_API_KEY", "MARVEL_PUBLIC_KEY", "MARVEL_PRIVATE_KEY"] where variables[name] == nil {
        variables[name] = ""
      }
      return try Shell.result(
        [Shell.product("syncd")] + words, environment: variables, directory: folder.path
      ).withoutRuns
    }
  }

  private static let books = Route("/books", file: Repository.root + "/Tests/Fixtures/books/books.json")

  @Test("once --atomic writes all entities or none")
  func atomic() throws {
    let call = try Call([Self.books])
    let failed = try call("once", "book", "post", "--atomic", "--config", "c.json")
    #expect(failed.status == 1 && failed.output == "", "\(failed)")
    #expect(
      failed.errors
        == "syncd: post: page 1 (\(call.server.base)/posts): HTTP 404 Not Found: no such route: /posts\n",
      "\(failed)")
    let status = try call("status", "--config", "c.json").output.replacing(/\d+ s ago/, with: "N s ago")
    #expect(status.contains("nothing was written, since post failed"), "\(status)")
    #expect(throws: TestFailure.self) {
      try SQLiteFile.text(call.folder.path + "/t.sqlite", "SELECT * FROM book")
    }
    try call.server.serve([Self.books, Route("/posts", body: "[]")])
    let done = try call("once", "book", "post", "--atomic", "--config", "c.json")
    #expect(done.status == 0 && done.output.hasPrefix("book: 5 records, 5 inserted"), "\(done)")
    #expect(done.output.contains("\npost: 0 records"), "\(done)")
  }

  @Test("once: a line for each run on standard output, nothing else anywhere, status 0")
  func once() throws {
    let call = try Call([Self.books])
    let result = try call("once", "book", "--config", "c.json")
    #expect(result.status == 0)
    #expect(result.errors == "")
    #expect(
      result.output.wholeMatch(
        of: /book: 5 records, 5 inserted, 0 updated, 0 unchanged, 0 deleted \(1 page, \d+ ms\)\n/) != nil,
      "\(result)")
    let quiet = try call("once", "book", "--config=c.json", "--quiet")
    #expect(quiet == Shell.Result(status: 0, output: "", errors: ""))
    let json = try call("once", "book", "--config", "c.json", "--log-format", "json")
    #expect(
      json.output.contains(
        #""deleted":0,"duplicates":0,"entity":"book","inserted":0,"level":"info","notModified":0,"outcome":"proven","pages":1,"records":5"#
      ),
      "\(json)")
    let status = try call("status", "--config", "c.json")
    expect(
      status.output.replacing(/\d+ s ago/, with: "N s ago"),
      is: """
        ENTITY   ROWS  LAST RUN  OUTCOME  INSERTED  UPDATED  UNCHANGED  DELETED  REASON
        book        5  N s ago   proven          0        0          5        0
        article     -  never     -               -        -          -        -
        hero        -  never     -               -        -          -        -
        post        -  never     -               -        -          -        -
        comment     -  never     -               -        -          -        -

        """)
  }

  @Test("once: one entity fails, the others are synced all the same, status 1")
  func oneFails() throws {
    let call = try Call([Self.books, Route("/posts", body: "<html>")])
    let result = try call("once", "post", "book", "--config", "c.json")
    #expect(result.status == 1)
    #expect(result.output.hasPrefix("book: 5 records, 5 inserted"), "\(result)")
    expect(
      result.errors,
      is:
        "syncd: post: page 1 (\(call.server.base)/posts): the body is HTML, not JSON (HTTP 200, application/json); it begins with <html>\n"
    )
  }

  @Test("once: a refused deletion is status 3, and the table stays")
  func refused() throws {
    let call = try Call([Self.books])
    _ = try call("once", "book", "--config", "c.json")
    try call.server.serve([Route("/books", body: "[]")])
    let result = try call("once", "book", "--config", "c.json")
    #expect(result.status == 3)
    expect(
      result.errors,
      is:
        "syncd: book: the run would delete 5 of 5 rows (the source returned no record at all); nothing was written (if it is meant: once --allow-deletes 5)\n"
    )
    #expect(try SQLiteFile.text(call.folder.path + "/t.sqlite", "SELECT count(*) FROM book") == "5")
  }

  @Test("once: another run holds the entity longer than --wait, status 4; another entity is not held up")
  func busy() throws {
    let call = try Call([
      Route("/books", body: "[]", fault: "slow", pause: 4), Route("/posts", body: "[]"),
    ])
    let first = try ChildProcess(
      [Shell.product("syncd"), "once", "book", "--config", "c.json"], directory: call.folder.path, errors: 2)
    while try call.server.requests().isEmpty { usleep(10_000) }
    let second = try call("once", "book", "--config", "c.json", "--wait", "100ms")
    #expect(second.status == 4)
    expect(
      second.errors,
      is:
        "syncd: book: another run has held the table \"book\" for longer than 100 ms (--wait says how long to wait)\n"
    )
    #expect(try call("once", "post", "--config", "c.json", "--wait", "100ms").status == 0)
    #expect(first.isRunning)
    #expect(first.wait() == 0)
  }

  @Test(
    "wrong usage, configuration and declarations are status 2, before any request, with one message",
    arguments: [
      (["once", "nosuch"], "there is no entity \"nosuch\"; there are book, article, hero, post, comment"),
      (["once", "boook"], "there is no entity \"boook\" (did you mean \"book\"?); there are"),
      (["onse"], "there is no command \"onse\" (did you mean \"once\"?)"),
      (
        [],
        "a command is missing: once, watch, plan, check, explain, get, status, rejects, schema, rebuild, backup, doctor, config"
      ),
      (["once", "--wiat", "5s"], "once has no option --wiat (did you mean \"--wait\"?)"),
      (["once", "--wait"], "--wait needs a value: --wait DURATION"),
      (
        ["once", "--wait", "soon"], "--wait is \"soon\", which is no duration; write 200ms, 30s, 5m, 1h or 1d"
      ),
      (["watch", "--interval", "0s"], "--interval is \"0s\", which is no duration"),
      (["once", "--config", "none.json"], "the configuration file none.json cannot be read"),
      (["once", "--log-format", "xml"], "--log-format is \"xml\"; it has to be text, json or journal"),
      (
        ["once", "book", "--store", "mysql://h/d"],
        "no linked store opens mysql:…; this program links a path, sqlite:…, file:…, postgresql:…, postgres:…"
      ),
      (["once", "book", "--store", "no/such/folder/t.sqlite"], "there is no folder no/such/folder"),
      (["once", "article"], "API \"nytimes\": its secret comes from the environment variable NYT_API_KEY"),
      (["status", "book"], "status takes no entity, but \"book\" was given"),
    ])
  func usage(_ words: [String], _ message: String) throws {
    let call = try Call()
    let result = try Shell.result(
      [Shell.product("syncd")] + words
        + (words.first == "once" && !words.contains("--config") ? ["--config", "c.json"] : []),
      environment: ["NYT_API_KEY": ""], directory: call.folder.path)
    #expect(result.status == 2)
    #expect(result.output == "")
    #expect(result.errors.contains(message), "\(result)")
    #expect(try call.server.requests().isEmpty)
  }

  @Test(
    "a configuration with a mistake is refused with its place",
    arguments: [
      (#"{"sotre": "x"}"#, "the file has an unknown key \"sotre\" (did you mean \"store\"?)"),
      (#"{"store": 3}"#, "\"store\" has to be a text"),
      (#"{"apis": {"libary": {}}}"#, "\"apis\" has an unknown key \"libary\" (did you mean \"library\"?)"),
      (
        #"{"apis": {"library": {"ulr": "x"}}}"#,
        "\"apis\", \"library\" has an unknown key \"ulr\" (did you mean \"url\"?)"
      ),
      (#"{"apis": {"library": {"url": "ftp://x/"}}}"#, "\"ftp://x/\" is not a usable address"),
      (
        #"{"apis": {"library": {"url": "http://me:pw@x/"}}}"#,
        "declare credentials as authentication, not in the address"
      ),
      (#"{"apis": {"library": {"rate": "fast"}}}"#, "\"rate\" is \"fast\", which is no rate"),
      (#"{"entities": {"book": {"every": "often"}}}"#, "\"every\" is \"often\", which is no duration"),
      (#"{"entities": {"book": {"enabled": "no"}}}"#, "\"enabled\" has to be true or false"),
      (#"{"interval": "5"}"#, "\"interval\" is \"5\", which is no duration"),
      ("[]", "the file has to be an object"),
      ("{", "is not JSON (comments are allowed)"),
    ])
  func configuration(_ text: String, _ message: String) throws {
    let call = try Call(config: text)
    let result = try call("once", "book", "--config", "c.json")
    #expect(result.status == 2)
    #expect(result.errors.contains(message), "\(result)")
    #expect(!result.errors.contains("me:pw"))
  }

  @Test("variables override the file, options override both, an unknown variable is a warning")
  func precedence() throws {
    let call = try Call([Self.books])
    let result = try call(
      "once", "book", "--config", "c.json",
      environment: ["SYNCD_STORE": "v.sqlite", "SYNCD_WAIT": "1s", "SYNCD_STOER": "x"])
    #expect(result.status == 0)
    expect(
      result.errors,
      is: "syncd: warning: the variable SYNCD_STOER is not known (did you mean \"SYNCD_STORE\"?)\n")
    #expect(FileManager.default.fileExists(atPath: call.folder.path + "/v.sqlite"))
    _ = try call(
      "once", "book", "--config", "c.json", "--store", "o.sqlite", environment: ["SYNCD_STORE": "v2.sqlite"])
    #expect(FileManager.default.fileExists(atPath: call.folder.path + "/o.sqlite"))
    #expect(!FileManager.default.fileExists(atPath: call.folder.path + "/v2.sqlite"))
    let moved = try call(
      "once", "book", "--config", "c.json",
      environment: ["SYNCD_API_LIBRARY_URL": call.server.base + "/elsewhere"])
    #expect(moved.status == 1)
    #expect(moved.errors.contains("/elsewhere/books): HTTP 404 Not Found: no such route"), "\(moved)")
  }

  @Test("a disabled entity is synced only when it is named")
  func disabled() throws {
    let call = try Call([Self.books, Route("/posts", body: "[]"), Route("/x", body: "")])
    let config = """
      {"store": "t.sqlite",
       "apis": {"library": {"url": "\(call.server.base)/"}, "placeholder": {"url": "\(call.server.base)/"}},
       "entities": {"book": {"enabled": false}, "article": {"enabled": false}, "hero": {"enabled": false}}}
      """
    try config.write(toFile: call.folder.path + "/c.json", atomically: true, encoding: .utf8)
    let all = try call("once", "--config", "c.json")
    #expect(all.status == 0, "\(all)")
    #expect(all.output.split(separator: "\n").map { $0.prefix(5) } == ["post:", "comme"], "\(all)")
    #expect(try call("once", "book", "--config", "c.json").output.hasPrefix("book: 5 records"))
  }

  @Test("check asks for one page, writes nothing, and names columns without any value")
  func check() throws {
    let call = try Call([Route("/books", body: #"[{"id": 1, "titel": "x", "genre": "y"}]"#)])
    let result = try call("check", "book", "--config", "c.json")
    #expect(result.status == 0)
    expect(
      result.output,
      is: "book: ok, 1 record on the first page; none of them has a value for \"title\", \"author\"\n")
    #expect(!FileManager.default.fileExists(atPath: call.folder.path + "/t.sqlite"))
    try call.server.serve([])
    let failed = try call("check", "book", "--config", "c.json")
    #expect(failed.status == 1)
    #expect(
      failed.errors.hasPrefix("syncd: book: page 1 (\(call.server.base)/books): HTTP 404 Not Found"),
      "\(failed)")
  }

  @Test("schema prints the SQL that a first run creates, and SQLite takes it")
  func schema() throws {
    let call = try Call()
    let result = try call("schema", "--config", "c.json")
    #expect(result.status == 0)
    #expect(
      result.output.contains(
        "CREATE TABLE \"hero\" (\n  \"id\" INTEGER NOT NULL,\n  \"name\" TEXT NOT NULL DEFAULT ''"))
    let path = call.folder.path + "/s.sqlite"
    _ = try SQLiteFile.text(path, result.output)
    expect(
      try SQLiteFile.text(path, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1"),
      is: "article\nbook\ncomment\nhero\nhero_link\npost")
  }

  @Test("help names every command and option, and the version is one line")
  func help() throws {
    let call = try Call()
    let help = try call("--help")
    #expect(help.status == 0)
    for command in ["once", "watch", "check", "explain", "get", "status", "rejects", "schema", "rebuild"] {
      #expect(help.output.contains("\n  \(command)"), "\(help.output)")
      let own = try call(command, "--help")
      #expect(own.status == 0)
      #expect(own.output.contains("USAGE: syncd \(command)"), "\(own.output)")
    }
    #expect(try call("watch", "--help").output.contains("--interval DURATION"))
    #expect(try call("--version").output.wholeMatch(of: /syncd \d+\.\d+\.\d+\n/) != nil)
  }

  @Test(
    "watch runs on its interval, survives failures, and ends with 0 on SIGTERM and SIGINT",
    arguments: [SIGTERM, SIGINT])
  func watch(_ signal: Int32) throws {
    let call = try Call([Route("/books", status: 500, times: 6), Self.books])
    let output = Pipe()
    let process = try ChildProcess(
      [Shell.product("syncd"), "watch", "book", "--config", "c.json", "--interval", "100ms"],
      directory: call.folder.path, output: output.fileHandleForWriting.fileDescriptor)
    try output.fileHandleForWriting.close()
    var text = ""
    while text.split(separator: "\n").count < 3 {
      let part = output.fileHandleForReading.availableData
      if part.isEmpty { break }
      text += String(decoding: part, as: UTF8.self)
    }
    process.send(signal)
    #expect(process.wait() == 0)
    let lines = text.split(separator: "\n").map { line in
      line.replacing(#/^\S+ /#, with: "").replacing(#/ \(.* run=[0-9a-f]{12}$/#, with: "")
    }
    #expect(lines.first == "book: 5 records, 5 inserted, 0 updated, 0 unchanged, 0 deleted", "\(text)")
    #expect(
      lines.dropFirst().first == "book: 5 records, 0 inserted, 0 updated, 5 unchanged, 0 deleted", "\(text)")
    #expect(try SQLiteFile.text(call.folder.path + "/t.sqlite", "PRAGMA integrity_check") == "ok")
  }
}
