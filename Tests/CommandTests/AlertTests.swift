import Foundation
import HTTP
import Synchronization
import TestSupport
import Testing

@testable import SyncCommand

/// Alerts, to programs and servers that are real.
@Suite("Alerts", .fewAtATime)
struct AlertTests {
  private final class Log: Sendable {
    private let kept = Mutex<[String]>([])
    func add(_ line: String) { kept.withLock { $0.append(line) } }
    var lines: [String] { kept.withLock { $0 } }
  }

  private struct Hook: Decodable {
    var path: String
    var headers: [String: String]
    var body: String
  }

  private struct Receiver {
    let process: ServerProcess
    let base: String

    init() throws {
      process = try ServerProcess(script: "hooks.py")
      base = "http://127.0.0.1:\(try process.port())"
    }

    func hooks() throws -> [Hook] {
      try JSONDecoder().decode([Hook].self, from: Shell.run("curl", "-s", base + "/_log"))
    }
  }

  private let folder: TemporaryFolder
  private let log = Log()
  private static let body =
    #"{"entity":"book","message":"page 1: <!channel> \"é\" @here","outcome":"failed","run":"r1"}"#

  init() throws { folder = try TemporaryFolder() }

  private func plan(_ text: String) throws -> AlertPlan {
    let value = try JSONDecoder().decode([String: ConfigurationValue].self, from: Data(text.utf8))
    var plan = AlertPlan()
    for (key, value) in value { try plan.set(key, to: value, at: "c.json: \"\(key)\"") }
    return plan
  }

  private func sender(
    _ text: String, timeLimit: Duration = .seconds(60),
    environment: [String: String] = ["PATH": "/usr/bin:/bin"]
  ) throws -> AlertSender {
    let log = log
    return AlertSender(
      try plan(text), environment: environment, timeLimit: timeLimit,
      retry: RetryPolicy(retries: 2, base: .milliseconds(1))
    ) { log.add($0) }
  }

  /// Waits for what is sent.
  private func counts(_ sender: AlertSender) async -> AlertSender.Counts {
    await sender.finish(within: .seconds(300))
    return sender.counts
  }

  private func script(_ name: String, _ text: String) throws -> String {
    let path = folder.path + "/" + name
    try "#!/bin/sh\ncd '\(folder.path)'\n\(text)\n".write(toFile: path, atomically: true, encoding: .utf8)
    chmod(path, 0o755)
    return path
  }

  private func file(_ name: String) throws -> String {
    try String(contentsOfFile: folder.path + "/" + name, encoding: .utf8)
  }

  @Test(
    "a command gets the run on its standard input and as variables, and none of the program's credentials")
  func command() async throws {
    let path = try script("tell it", "cat > input; env > variables; printf '%s|' \"$0\" \"$@\" > words")
    let sender = try sender(
      #"{"on_failure": ["\#(path)", "a b", "$HOME;x"]}"#,
      environment: [
        "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "API_KEY": "hunter22", "SHOP_TOKEN": "hunter22",
        "PGPASSWORD": "hunter22", "DATABASE_URL": "postgresql://a:hunter22@h/", "SYNCD_STORE": "hunter22",
        "NOTIFY_SOCKET": "/run/hunter22", "CREDENTIALS_DIRECTORY": "/run/hunter22",
        "https_proxy": "http://p:1@proxy/",
      ])
    sender.send(.failure, entity: "book", body: Self.body)
    sender.send(.recovery, entity: "book", body: Self.body)
    #expect(await counts(sender) == AlertSender.Counts(sent: 1), "\(log.lines)")
    #expect(try file("words") == "\(path)|a b|$HOME;x|")
    let variables = Set(try file("variables").split(separator: "\n").map(String.init))
    #expect(
      variables.isSuperset(of: [
        "SYNCD_EVENT=failure", "SYNCD_ENTITY=book", "SYNCD_OUTCOME=failed",
        "SYNCD_MESSAGE=page 1: <!channel> \"é\" @here", "LANG=C.UTF-8", "https_proxy=http://p:1@proxy/",
      ]), "\(variables)")
    #expect(!variables.contains { $0.contains("hunter22") })
    let input = try file("input")
    #expect(input.hasSuffix("}\n"))
    let members = try JSONDecoder().decode([String: String].self, from: Data(input.utf8))
    #expect(
      members["event"] == "failure" && members["run"] == "r1" && members["entity"] == "book", "\(input)")
    #expect(members["message"] == #"page 1: <!channel> "é" @here"#)
    // Nobody is called, and no link is made, by what a source says.
    #expect(members["text"]?.hasSuffix(#": book failed: page 1: ‹!channel› "é" ＠here"#) == true, "\(input)")
  }

  @Test("a command that fails or is not there is said so, once")
  func badCommands() async throws {
    let failing = try script("fail", "echo hunter22; echo hunter22 >&2; exit 7")
    let sender = try sender(
      #"{"on_guard": [["\#(failing)", "hunter22"], ["\#(folder.path)/none"], ["true"]]}"#)
    sender.send(.guard, entity: "book", body: "{}")
    #expect(await counts(sender) == AlertSender.Counts(sent: 1, failed: 2))
    #expect(
      log.lines.sorted().map { $0.replacing(folder.path, with: "…") } == [
        "the guard of book could not be told to the command \"…/fail\": it ended with status 7",
        "the guard of book could not be told to the command \"…/none\": it cannot be started: No such file or directory",
      ])
  }

  @Test("a command that hangs is ended, and leaves nothing behind")
  func hangingCommand() async throws {
    let hanging = try script("hang", "echo $$ > pid; sleep 1000 & sleep 1000; echo hunter22")
    let sender = try sender(#"{"on_guard": ["\#(hanging)", "hunter22"]}"#, timeLimit: .seconds(5))
    sender.send(.guard, entity: "book", body: "{}")
    #expect(await counts(sender) == AlertSender.Counts(failed: 1))
    #expect(
      log.lines == [
        "the guard of book could not be told to the command \"\(hanging)\": it did not end within 5 s"
      ])
    let group = try #require(pid_t(file("pid").dropLast()))
    while kill(-group, 0) == 0, !zombies(group) { try await Task.sleep(for: .milliseconds(20)) }
  }

  /// Whether all that is left of a process group are entries that nobody collects.
  private func zombies(_ group: pid_t) -> Bool {
    let states = (try? Shell.run("ps", "-o", "stat=", "-g", "\(group)")).map {
      String(decoding: $0, as: UTF8.self)
    }
    return (states ?? "").split(separator: "\n").allSatisfy { $0.contains("Z") }
  }

  @Test("a webhook gets JSON with its own fields, from wherever its address stands")
  func webhooks() async throws {
    let receiver = try Receiver()
    try "\(receiver.base)/ok/file\n".write(toFile: folder.path + "/hook", atomically: true, encoding: .utf8)
    try "Bearer hunter22\n".write(toFile: folder.path + "/auth", atomically: true, encoding: .utf8)
    let sender = try sender(
      #"""
      {"on_recovery": ["\#(receiver.base)/ok/plain", "file:\#(folder.path)/hook",
        {"url": "\#(receiver.base)/moved/x", "headers": {"Authorization": "file:\#(folder.path)/auth", "X-A": "b c"}}]}
      """#)
    sender.send(.recovery, entity: "book", body: #"{"outcome":"proven","inserted":3}"#)
    #expect(await counts(sender) == AlertSender.Counts(sent: 3), "\(log.lines)")
    let hooks = try receiver.hooks()
    #expect(Set(hooks.map(\.path)) == ["/ok/plain", "/ok/file", "/moved/x", "/ok"])
    for hook in hooks {
      #expect(hook.headers["content-type"] == "application/json")
      #expect(
        hook.body.contains(#""inserted":3"#) && hook.body.contains(": book is in sync again\""), "\(hook)")
    }
    // A redirect within the origin takes them along.
    for hook in hooks where ["/moved/x", "/ok"].contains(hook.path) {
      #expect(hook.headers["authorization"] == "Bearer hunter22" && hook.headers["x-a"] == "b c")
    }
  }

  @Test("a webhook that fails, leads away or is down is said so by its host alone")
  func badWebhooks() async throws {
    let receiver = try Receiver()
    let gone = try ServerProcess(script: "hooks.py").port()
    let port = try receiver.process.port()
    let sender = try sender(
      #"""
      {"on_failure": ["\#(receiver.base)/fail/hunter22", "\#(receiver.base)/gone/hunter22?k=hunter22",
        "\#(receiver.base)/flaky/hunter22", "\#(receiver.base)/away/hunter22", "http://127.0.0.1:\#(gone)/hunter22",
        "https://127.0.0.1:\#(port)/hunter22", "file:/none/hook"]}
      """#)
    sender.send(.failure, entity: "book", body: Self.body)
    #expect(await counts(sender) == AlertSender.Counts(sent: 1, failed: 6))
    let lines = log.lines.map { $0.replacing(receiver.base, with: "BASE") }
    let start = "the failure of book could not be told to the webhook"
    #expect(
      lines.count == 6 && lines.allSatisfy { $0.hasPrefix(start) && !$0.contains("hunter22") }, "\(lines)")
    for end in [
      " at BASE: HTTP 500 (after 3 attempts)", " at BASE: HTTP 404",
      " of the file /none/hook: its secret comes from the file /none/hook, which is not set or empty",
    ] { #expect(lines.contains(start + end), "\(end) of \(lines)") }
    #expect(lines.contains { $0.contains("a redirect leads to another origin") }, "\(lines)")
    #expect(
      lines.contains { $0.hasPrefix("\(start) at http://127.0.0.1:\(gone): no connection") }, "\(lines)")
    #expect(lines.contains { $0.hasPrefix("\(start) at https://127.0.0.1:\(port): ") }, "\(lines)")
    let paths = try receiver.hooks().map(\.path)
    #expect(
      paths.filter { $0 == "/fail/hunter22" }.count == 3 && paths.filter { $0.hasPrefix("/gone") }.count == 1)
    #expect(!paths.contains { $0.hasPrefix("/ok") })
  }

  @Test("a webhook that hangs is asked three times and then given up")
  func hangingWebhook() async throws {
    let receiver = try Receiver()
    let sender = try sender(#"{"on_failure": "\#(receiver.base)/hang/hunter22"}"#, timeLimit: .seconds(1))
    sender.send(.failure, entity: "book", body: Self.body)
    #expect(await counts(sender) == AlertSender.Counts(failed: 1))
    let line = try #require(log.lines.first)
    #expect(line.contains("the server was too slow") && line.hasSuffix("(after 3 attempts)"), "\(line)")
    #expect(!line.contains("hunter22"))
  }

  @Test("1,000 alerts at once: none is waited for, the latest are sent, the others counted")
  func burst() async throws {
    // It holds the first one until the others have come.
    let path = try script("count", "while [ ! -e go ]; do sleep 0.01; done; echo \"$SYNCD_ENTITY\" >> told")
    let sender = try sender(#"{"on_failure": ["\#(path)"]}"#)
    for number in 1...1000 { sender.send(.failure, entity: "e\(number)", body: "{}") }
    try "".write(toFile: folder.path + "/go", atomically: true, encoding: .utf8)
    let counts = await counts(sender)
    let told = try file("told").split(separator: "\n").map(String.init)
    #expect(told.suffix(64) == (937...1000).map { "e\($0)" })
    // The worker has taken one or more before the queue was full.
    #expect(counts.sent == told.count && counts.sent + counts.dropped == 1000 && counts.failed == 0)
    #expect(log.lines == ["\(counts.dropped) alerts were dropped: they came faster than they could be sent"])
  }

  @Test("at the end what is under way is ended in time, what waits is given up, and more is not taken")
  func finish() async throws {
    let receiver = try Receiver()
    let hanging = try script("hang", "sleep 1000")
    let sender = try sender(
      #"{"on_failure": [["\#(hanging)"], "\#(receiver.base)/hang/x"]}"#, timeLimit: .seconds(600))
    for _ in 0..<3 { sender.send(.failure, entity: "book", body: "{}") }
    while try receiver.hooks().isEmpty { try await Task.sleep(for: .milliseconds(10)) }
    await sender.finish(within: .milliseconds(50))
    sender.send(.failure, entity: "book", body: "{}")
    #expect(sender.counts == AlertSender.Counts(sent: 0, failed: 2, dropped: 3))
    #expect(
      log.lines.sorted() == [
        "2 alerts were given up, since the program ends",
        "the failure of book could not be told to the command \"\(hanging)\": it was given up, since the program ends",
        "the failure of book could not be told to the webhook at \(receiver.base): it was given up, since the program ends",
      ])
    // Again, and where nothing ever was sent.
    await sender.finish(within: .zero)
  }

  @Test("what the configuration says of targets")
  func targets() async throws {
    func targets(_ json: String) throws -> [String] {
      try plan(#"{"on_failure": \#(json)}"#)[.failure].map(\.description)
    }
    #expect(try targets(#"["mail", "ops"]"#) == [#"the command "mail""#])
    #expect(try targets("[]") == [])
    #expect(try targets(#"[["a"], ["b", "c"]]"#) == [#"the command "a""#, #"the command "b""#])
    #expect(
      try targets(#"["env:H", ["b"], {"url": "https://h:444/p"}, "HTTPS://x.example/y"]"#) == [
        "the webhook of the environment variable H", #"the command "b""#, "the webhook at https://h:444",
        "the webhook at https://x.example",
      ])
    #expect(try plan(#"{"on_failure": ["a"]}"#).runsCommands)
    #expect(try !plan(#"{"on_failure": "env:H"}"#).runsCommands && plan("{}").isEmpty)
    #expect(try plan(#"{"on_guard": {"url": "env:H", "headers": {"A": "command:pass x"}}}"#).runsCommands)

    func fault(_ json: String) -> String {
      do { return "\(try targets(json))" } catch {
        return "\(error)".replacing(#"c.json: "on_failure""#, with: "IT")
      }
    }
    for text in ["hooks.example/hunter22", "https://a:hunter22@h/", "https:///hunter22", "command:hunter22"] {
      #expect(
        fault("\"\(text)\"").hasPrefix("IT ") && !fault("\"\(text)\"").contains("hunter22"),
        "\(fault("\"\(text)\""))")
    }
    #expect(fault("3").hasPrefix("IT has to be a command (a list of texts), a webhook"))
    #expect(fault(#"["mail", 3]"#).hasPrefix("IT is no command: it has to be a list of texts"))
    #expect(fault(#"[["a"], []]"#).hasPrefix("IT, target 2, is no command"))
    #expect(fault(#"["env:H", "mail"]"#).hasPrefix("IT, target 2, is no webhook"))
    #expect(
      fault(#"{"urls": "x"}"#)
        == "IT has an unknown key \"urls\" (did you mean \"url\"?); there are url, headers")
    #expect(fault(#"{"url": 3}"#) == "IT needs a \"url\", which has to be a text")
    #expect(
      fault(#"{"url": "env:H", "headers": {"A B": "x"}}"#).contains("cannot be the name of a header field"))
    #expect(fault(#"{"url": "env:H", "headers": {"A": "hunter22\nB: c"}}"#).contains("has a line break"))
    #expect(fault(#"{"url": "env:H", "headers": {"A": "env:"}}"#).hasPrefix(#"IT "headers", "A": nothing"#))

    await #expect(throws: UsageError.self) { try await plan(#"{"on_guard": "file:/none/hook"}"#).check() }
    try "hooks.example/hunter22".write(toFile: folder.path + "/hook", atomically: true, encoding: .utf8)
    do {
      try await plan(#"{"on_guard": "file:\#(folder.path)/hook"}"#).check()
      Issue.record("an address without a scheme")
    } catch {
      #expect(
        "\(error)".hasPrefix("on_guard: the address of the webhook") && !"\(error)".contains("hunter22"))
    }
  }
}
