import Foundation
import TestSupport
import Testing

@testable import SyncCommand

/// What the shells offer, asked in the shells themselves.
@Suite("Completions and the manual", .fewAtATime, .once)
struct CompletionTests {
  private static let odd = ["book", "it's", "two words", "$(touch x)", "q\"b\\", "übung", "a:b[c]"]

  private func offers(
    _ shell: Completions.Shell, _ words: String..., entities: [String] = ["book", "article", "hero"]
  ) throws -> [String] {
    let folder = try TemporaryFolder()
    let script = folder.path + "/script"
    try Completions(program: "syncd", entities: entities).script(for: shell)
      .write(toFile: script, atomically: true, encoding: .utf8)
    let drivers = Repository.root + "/Tests/CommandTests/Shells"
    let line = words.joined(separator: " ")
    let call =
      switch shell {
      case .bash: ["bash", "--norc", "\(drivers)/complete.bash", script] + words
      case .zsh: ["zsh", "-f", "\(drivers)/complete.zsh", script, line]
      case .fish: ["fish", "--no-config", "-c", "source \(script); complete -C \"$argv[1]\"", "--", line]
      }
    let result = try Shell.result(
      ["/usr/bin/env"] + call, environment: ["LC_ALL": "C.UTF-8", "HOME": folder.path], directory: folder.path
    )
    #expect(result.errors == "", "\(result)")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/x"))
    return result.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
  }

  @Test("each shell completes commands, options, values and entities", arguments: Completions.Shell.allCases)
  func words(_ shell: Completions.Shell) throws {
    #expect(Set(try offers(shell, "syncd", "")).isSuperset(of: CommandName.allCases.map(\.rawValue)))
    #expect(try offers(shell, "syncd", "compl") == ["completions"])
    #expect(try offers(shell, "syncd", "once", "b") == ["book"])
    #expect(try offers(shell, "syncd", "once", "b", entities: ["éclair", "book"]) == ["book"])
    #expect(
      Set(try offers(shell, "syncd", "watch", "--")) == Set(CommandName.watch.options.map(\.rawValue)))
    #expect(try offers(shell, "syncd", "once", "book", "--log-f") == ["--log-format"])
    #expect(try offers(shell, "syncd", "once", "--log-format", "j").contains("json"))
    #expect(try offers(shell, "syncd", "completions", "f") == ["fish"])
    #expect(try offers(shell, "syncd", "watch", "--interval", "") == [])
    #expect(try offers(shell, "syncd", "manual", "b") == [])
  }

  @Test("what was given is not offered again", arguments: [Completions.Shell.bash, .zsh])
  func givenOnce(_ shell: Completions.Shell) throws {
    #expect(Set(try offers(shell, "syncd", "once", "book", "")) == ["article", "hero"])
  }

  @Test("bash: --option=value in one word and in three, files where a file may stand")
  func bash() throws {
    #expect(try offers(.bash, "syncd", "once", "--log-format=j").contains("--log-format=json"))
    #expect(try offers(.bash, "syncd", "once", "--log-format", "=", "j").contains("json"))
    #expect(try offers(.bash, "syncd", "once", "--log-format", "=").contains("text"))
    #expect(try offers(.bash, "syncd", "once", "--config", "") == ["<files>"])
  }

  @Test("zsh and fish complete files where a file may stand", arguments: [Completions.Shell.zsh, .fish])
  func files(_ shell: Completions.Shell) throws {
    #expect(try offers(shell, "syncd", "once", "--config", "scri").contains { $0.hasSuffix("script") })
  }

  @Test("names that mean something to a shell are completed as they are and run nothing")
  func oddNames() throws {
    #expect(
      Set(try offers(.fish, "syncd", "once", "", entities: Self.odd)) == Set(Self.odd), "fish")
    #expect(Set(try offers(.zsh, "syncd", "once", "", entities: Self.odd)) == Set(Self.odd), "zsh")
    let bash = try offers(.bash, "syncd", "once", "", entities: Self.odd)
    let read = try Shell.result(["/bin/bash", "-c", "printf '%s\\n' \(bash.joined(separator: " "))"])
    #expect(read.output.split(separator: "\n").map(String.init) == Self.odd, "\(bash)")
  }

  @Test("the scripts of a program with another name are its own")
  func otherName() throws {
    for shell in Completions.Shell.allCases {
      let script = Completions(program: "my-shelf 2", entities: ["book"]).script(for: shell)
      #expect(!script.contains("_syncd") && !script.contains("-c syncd"), "\(shell)")
      let result = try Shell.result(
        ["/usr/bin/env", shell.rawValue, "-n"], input: Data(script.utf8))
      #expect(result.status == 0 && result.errors == "", "\(shell): \(result)")
    }
  }

  @Test("the commands need no configuration, store or secret")
  func commands() throws {
    let folder = try TemporaryFolder()
    for words in [["completions", "bash"], ["completions", "zsh"], ["completions", "fish"], ["manual"]] {
      let result = try Shell.result(
        [Shell.product("syncd")] + words, environment: ["SYNCD_CONFIG": "/nowhere"], directory: folder.path)
      #expect(result.status == 0 && result.errors == "" && result.output.contains("rebuild"), "\(result)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    let wrong = try Shell.result([Shell.product("syncd"), "completions", "fsh"])
    #expect(wrong.status == 2)
    expect(
      wrong.errors,
      is: """
        syncd: completions does not know "fsh" (did you mean "zsh"?); there are bash, zsh, fish
        See 'syncd --help'.

        """)
    let missing = try Shell.result([Shell.product("syncd"), "completions"])
    #expect(missing.errors.contains("completions needs one word behind it: completions bash|zsh|fish"))
  }

  @Test("roff: what begins with a dot, and what roff has a meaning for, is text")
  func roff() {
    expect(Roff.paragraph(".SH is \\ text"), is: "\\&.SH is \\e text")
    expect(
      Roff.escaped("a-b 'c' \"d\" ~^` …→"), is: "a\\-b \\(aqc\\(aq \\(dqd\\(dq \\(ti\\(ha\\(ga ...\\[u2192]")
    let long = Roff.paragraph(String(repeating: "word ", count: 100))
    #expect(long.split(separator: "\n").allSatisfy { $0.utf8.count <= 76 })
  }

  @Test(
    "the manual passes mandoc's and groff's checks, also with odd names, and has every command and option")
  func manual() throws {
    let page = Manual(program: "shelf-2", version: "1.0", entities: Self.odd + [".SH"]).text
    let lint = try Shell.result(["/usr/bin/env", "mandoc", "-T", "lint"], input: Data((page + "\n").utf8))
    expect(lint.output + lint.errors, is: "")
    let groff = try Shell.result(
      ["/usr/bin/env", "groff", "-man", "-Tutf8", "-ww", "-z"], input: Data((page + "\n").utf8))
    expect(groff.errors, is: "")
    let shown = try Shell.result(
      ["/usr/bin/env", "mandoc", "-T", "utf8", "-O", "width=300"], input: Data((page + "\n").utf8)
    ).output.replacing(/.\u{8}/, with: "")
    for command in CommandName.allCases { #expect(shown.contains("shelf-2 \(command.rawValue)")) }
    for option in CommandOption.allCases { #expect(shown.contains(option.rawValue)) }
    for status in ExitStatus.meanings { #expect(shown.contains(status.meaning)) }
    for name in Self.odd { #expect(shown.contains(name), "\(name)") }
  }
}
