import Foundation
import SyncEngine
import TestSupport
import Testing

/// Programs that the engine runs.
@Suite("A command that is run", .fewAtATime)
struct CommandRunTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// What a shell prints, or why not.
  private func shell(
    _ script: String, limit: Duration = .seconds(60), input: String = "", environment: [String: String]? = nil
  ) async -> String {
    var run = CommandRun(["sh", "-c", script], timeLimit: limit)
    run.input = Array(input.utf8)
    run.environment = environment
    run.outputLimit = 4 << 20
    do { return String(decoding: try await run.output(), as: UTF8.self) } catch { return "which \(error)" }
  }

  /// Waits until a process that wrote its number to a file has ended.
  private func expectEnd(_ name: String) async throws {
    let text = try String(contentsOfFile: folder.path + "/" + name, encoding: .utf8)
    let process = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
    for _ in 0..<1000 {
      // In a container nobody may collect it: a zombie has ended too.
      let state = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
      if kill(process, 0) != 0 || state?.contains(") Z ") == true { return }
      try await Task.sleep(for: .milliseconds(20))
    }
    Issue.record("the process \(process) of \(name) is still there")
    kill(process, SIGKILL)
  }

  @Test("it reads what it is given, of any size, and reads /dev/stdin as well")
  func input() async {
    #expect(await shell("cat", input: "a\nb ✓") == "a\nb ✓")
    #expect(await shell("cat /dev/stdin", input: "again") == "again")
    let large = String(repeating: "0123456789", count: 200_000)
    #expect(await shell("cat", input: large) == large)
    #expect(await shell("exit 0", input: large) == "")
    #expect(await shell("cat") == "")
  }

  @Test("it gets the variables that are said, and no others")
  func variables() async {
    #expect(
      await shell(
        "env | grep -v '^PWD=\\|^SHLVL=\\|^_=\\|^OLDPWD=' | sort", environment: ["A": "1 2", "B": "é"])
        == "A=1 2\nB=é\n")
    #expect(await shell("echo $HOME") == (getenv("HOME").map { String(cString: $0) } ?? "") + "\n")
  }

  @Test("signals do to it what they do to any program, whatever this one ignores")
  func signals() async {
    #expect(await shell("kill -TERM $$; echo no") == "which was ended by signal 15")
    #expect(await shell("kill -PIPE $$; echo no") == "which was ended by signal 13")
  }

  @Test("what it started ends with it: when it is done, at its time limit, when the task is cancelled")
  func group() async throws {
    let start = "cd '\(folder.path)'; sleep 1000 & echo $! >"
    #expect(await shell("\(start) done; echo one") == "one\n")
    try await expectEnd("done")
    #expect(await shell("\(start) late; wait", limit: .seconds(1)) == "which did not end within 1 s")
    try await expectEnd("late")
    // Deaf to all that can be ignored.
    let deaf = "trap '' TERM INT HUP; (sleep 1000; sleep 1000) & echo $! > '\(folder.path)/cancelled'; wait"
    let task = Task { await shell(deaf, limit: .seconds(600)) }
    while (try? String(contentsOfFile: folder.path + "/cancelled", encoding: .utf8))?.hasSuffix("\n") != true
    {
      try await Task.sleep(for: .milliseconds(10))
    }
    task.cancel()
    #expect(await task.value == "which was ended before it was done")
    try await expectEnd("cancelled")
  }

  @Test("a task that is cancelled already gets no further than a start")
  func cancelledBefore() async {
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return await shell("sleep 1000", limit: .seconds(600))
    }
    task.cancel()
    #expect(await task.value == "which was ended before it was done")
  }

  @Test("many that hang hold up no task")
  func threads() async throws {
    let hanging = (0..<40).map { _ in Task.detached { await shell("sleep 1000", limit: .seconds(600)) } }
    for number in 0..<20 { #expect(await Task.detached { number * 2 }.value == number * 2) }
    #expect(await shell("echo through") == "through\n")
    for task in hanging { task.cancel() }
    for task in hanging { #expect(await task.value == "which was ended before it was done") }
  }

  @Test("a secret of a command is ended with its task")
  func secret() async throws {
    let secret = Secret.command(["sh", "-c", "sleep 1000"], timeLimit: .seconds(600))
    let task = Task { () -> String in
      do { return try await secret.resolved() } catch { return "\(error)" }
    }
    task.cancel()
    #expect(await task.value.hasSuffix("the command \"sh\", which was ended before it was done"))
  }
}

@Suite("Secrets by reference")
struct SecretReferenceTests {
  private func fault(_ text: String) -> String {
    do { return "\(try Secret(reference: text).reference)" } catch { return error.message }
  }

  @Test(
    "the text of a reference is read and written",
    arguments: [
      ("env:TOKEN", Secret.environment("TOKEN")), ("file:/etc/syncd/to ken", .file("/etc/syncd/to ken")),
      ("file:a:b", .file("a:b")), ("credential:hook", .credential("hook")),
      ("command:pass show shop/token", .command(["pass", "show", "shop/token"])),
      (#"command:pass show "shop/web token" """#, .command(["pass", "show", "shop/web token", ""])),
      (#"command:printf "a\"b\\c\nd\te" "it's""#, .command(["printf", "a\"b\\c\nd\te", "it's"])),
    ])
  func both(text: String, secret: Secret) throws {
    #expect(try Secret(reference: text) == secret)
    #expect(secret.reference == text)
  }

  @Test(
    "words are divided as in systemd's Exec lines",
    arguments: [
      ("a b", ["a", "b"]), ("  a\t b\n", ["a", "b"]), ("a 'b c' d", ["a", "b c", "d"]),
      (#"a "it's" 'say "x"'"#, ["a", "it's", #"say "x""#]), (#"a\ b c\sd"#, ["a b", "c d"]),
      (#"a b'c d'e"#, ["a", "bc de"]), ("a $HOME ~ * ; |", ["a", "$HOME", "~", "*", ";", "|"]),
      ("grüße ✓", ["grüße", "✓"]),
    ])
  func words(line: String, expected: [String]) throws {
    #expect(try CommandWords.words(of: line) == expected)
    #expect(try CommandWords.words(of: CommandWords.line(expected)) == expected)
  }

  @Test("a text that is none is refused without being shown")
  func faults() {
    let none = "a secret has to be a reference: env:NAME, file:PATH, credential:NAME or command:WORDS"
    #expect(fault("hunter22") == none)
    #expect(fault("vault:hunter22") == none)
    #expect(fault("ENV:hunter22") == none)
    #expect(fault("env:") == "nothing that can be used stands behind \"env:\"")
    #expect(
      fault("env:A=hunter22") == "\"env:\" has to be followed by the name of a variable, not by its value")
    #expect(fault("credential:../x") == "\"credential:\" has to be followed by a name, not by a path")
    let start = "the words behind \"command:\" cannot be read: the command "
    #expect(fault("command:  ") == start + "names no program")
    #expect(fault("command:'' a") == start + "names no program")
    #expect(fault("command:a 'hunter22") == start + "has a quote that does not end")
    #expect(
      fault(#"command:a \x"#) == start
        + #"has a backslash that stands before none of \ " ' n t s and a blank"#)
  }
}
