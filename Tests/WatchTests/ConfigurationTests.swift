import Foundation
import TestSupport
import Testing

@testable import SyncCommand

/// What holds, where it comes from, and what is refused.
@Suite("Configuration")
struct ConfigurationTests {
  private func call(_ text: String, _ words: String..., environment: [String: String] = [:]) throws
    -> Shell.Result
  {
    let folder = try TemporaryFolder()
    try text.write(toFile: folder.path + "/c.json", atomically: true, encoding: .utf8)
    return try Shell.result(
      [Shell.product("syncd")] + words + ["--config", "c.json"], environment: environment,
      directory: folder.path)
  }

  @Test(
    "config says what holds and why: option, variable, profile, file, declaration, default; secrets by reference"
  )
  func origins() throws {
    let text = """
      { "interval": "1m", "parallel": 2, "wait": "5s", "store": "postgresql://u:S3CR3T@h/d",
        "http_token": "command:pass show 'a b'", "on_failure": "https://hooks.example/T0/S3CR3T",
        "on_guard": [["mail", "-s", "S3CR3T"], "env:HOOK"],
        "apis": { "library": { "url": "http://x:S3CR3T@127.0.0.1/" } },
        "entities": { "hero": { "every": "1h", "jitter": "5m", "aligned": true, "enabled": false } },
        "profiles": { "staging": { "interval": "2m", "entities": { "post": { "every": "90s" } } } } }
      """
    let result = try call(
      text, "config", "--profile", "staging", "--wait", "7s",
      environment: [
        "SYNCD_PARALLEL": "3", "NYT_API_KEY": "S3CR3T", "MARVEL_PUBLIC_KEY": "", "MARVEL_PRIVATE_KEY": "",
      ])
    #expect(result.status == 0 && result.errors == "", "\(result)")
    let lines = Set(
      result.output.split(separator: "\n").map { $0.split(separator: #/ {2,}/#).joined(separator: " | ") })
    for line in [
      "KEY | VALUE | FROM", "profile | staging | c.json", "interval | 2m | c.json, profile staging",
      "parallel | 3 | SYNCD_PARALLEL", "wait | 7s | --wait", "busy | 60s | default",
      "store | postgresql://u:***@h/d | c.json", "http_token | command:pass show 'a b' | c.json",
      "on_failure | the webhook at https://hooks.example | c.json",
      "on_guard | the command \"mail\", the webhook of the environment variable HOOK | c.json",
      "apis.library.url | http://x:***@127.0.0.1/ | c.json", "apis.nytimes.rate | every 12s | declaration",
      "apis.nytimes secret | environment variable NYT_API_KEY | declaration",
      "apis.marvel secret | environment variable MARVEL_PUBLIC_KEY (is not there) | declaration",
      "entities.book.every | 2m | c.json, profile staging",
      "entities.post.every | 90s | c.json, profile staging",
      "entities.hero.every | 1h | c.json", "entities.hero.jitter | 5m | c.json",
      "entities.hero.aligned | true | c.json",
      "entities.hero.enabled | false | c.json", "entities.book.enabled | true | default",
    ] { #expect(lines.contains(line), "\(line) is not in\n\(result.output)") }
    #expect(!result.output.contains("S3CR3T"), "\(result.output)")
    let json = try call(text, "config", "--json")
    #expect(json.output.contains(#"{"from":"c.json","key":"interval","value":"1m"}"#), "\(json)")
    #expect(!json.output.contains("S3CR3T"))
  }

  @Test(
    "what is wrong is named, in profiles that nobody asked for too",
    arguments: [
      (
        #"{"profiles": {"a": {"intreval": "1s"}}}"#,
        #"c.json: "profiles", "a" has an unknown key "intreval" (did you mean "interval"?)"#
      ),
      (#"{"profiles": {"a": {"profiles": {}}}}"#, #"c.json: "profiles", "a" has an unknown key "profiles""#),
      (#"{"profiles": []}"#, #""profiles" has to be an object"#),
      (
        #"{"profiles": {"a": {"entities": {"bok": {}}}}}"#,
        #""entities" has an unknown key "bok" (did you mean "book"?)"#
      ),
      (#"{"parallel": "4"}"#, #"c.json: "parallel" has to be a number from 1 to 64"#),
      (#"{"parallel": 1.5}"#, #""parallel" has to be a number"#),
      (#"{"parallel": 65}"#, #""parallel" has to be a number"#),
      (#"{"aligned": "yes"}"#, #""aligned" has to be true or false"#),
      (#"{"interval": null}"#, #""interval" has to be a text"#),
      (#"{"interval": "0s"}"#, "which is no duration"),
      (#"{"retention": {"runs": "0d"}}"#, #""retention", "runs" is "0d""#),
      (#"{"retention": "90d"}"#, #""retention" has to be an object"#),
      (#"{"on_failure": 3}"#, #""on_failure" has to be a command"#),
      (#"{"on_failure": []} x"#, "is not JSON"), ("", "c.json is empty; write {}"),
      (
        #"{"store": "a", /* "store": */ 'store': "b"}"#,
        #"c.json, line 1: the key "store" is there twice in one object"#
      ),
      (
        "{\"interval\": \"1s\", // \"{\n\"entities\": {\"book\": {}, \"post\": {\"every\": \"1s\"},\n  \"book\": {}}}",
        #"line 3: the key "book""#
      ),
      (#"{"store": ""}"#, #""store" is empty"#), (#"{"parallel": 1e999}"#, #""parallel" has to be a number"#),
      ("null", "the file has to be an object"),
    ])
  func mistakes(_ text: String, _ message: String) throws {
    let result = try call(text, "config")
    #expect(result.status == 2 && result.output == "", "\(result)")
    #expect(result.errors.contains(message), "\(result.errors)")
  }

  @Test("variables and options are read as the file is, and named where they are wrong")
  func variables() throws {
    for (name, value, message) in [
      ("SYNCD_PARALLEL", "many", "SYNCD_PARALLEL has to be a number from 1 to 64"),
      ("SYNCD_ALIGNED", "1", "SYNCD_ALIGNED has to be true or false"),
      (
        "SYNCD_LOG_LEVEL", "inf",
        #"SYNCD_LOG_LEVEL is "inf"; it has to be error, warning, info, debug or trace (did you mean "info"?)"#
      ),
      ("SYNCD_STORE", "env:NOWHERE", "SYNCD_STORE: its secret comes from the environment variable NOWHERE"),
    ] {
      let result = try call("{}", "config", environment: [name: value])
      #expect(result.status == 2, "\(result)")
      #expect(result.errors.contains(message), "\(result.errors)")
    }
    let set = try call(
      "{}", "config",
      environment: [
        "SYNCD_ALIGNED": "true", "SYNCD_HTTP_TOKEN": "x", "SYNCD_STORE": "env:HERE", "HERE": "h.sqlite",
      ])
    #expect(set.errors.contains("the variable SYNCD_HTTP_TOKEN is not known"), "\(set.errors)")
    #expect(
      set.output.contains(/aligned +true +SYNCD_ALIGNED/)
        && set.output.contains(/store +env:HERE +SYNCD_STORE/), "\(set.output)")
  }

  @Test("a declared schedule stands between the file's interval and an option")
  func schedules() throws {
    func schedule(_ text: String, _ words: String...) throws -> String {
      let folder = try TemporaryFolder()
      try text.write(toFile: folder.path + "/c.json", atomically: true, encoding: .utf8)
      let output = try Shell.result(
        [Shell.product("CaseEntities"), "config", "--config", "c.json"] + words,
        environment: ["SYNCD_CASE": "schedule"],
        directory: folder.path
      ).output
      return output.split(separator: "\n").filter { $0.hasPrefix("entities.items") }
        .map { $0.split(separator: #/ {2,}/#).dropFirst().joined(separator: " ") }.joined(separator: "; ")
    }
    #expect(
      try schedule(#"{"interval": "7m"}"#) == "1h declaration; 1m declaration; true declaration; true default"
    )
    #expect(try schedule("{}", "--interval", "9s").hasPrefix("9s --interval; 9s"))
    #expect(
      try schedule(
        #"{"entities": {"items": {"every": "2h", "jitter": "0s", "aligned": false}}}"#, "--interval", "9s")
        == "2h c.json; true default")
  }

  @Test("the documentation and the file that is there to copy from know every key")
  func documented() throws {
    let article = try String(
      contentsOfFile: Repository.root + "/Sources/SyncCommand/SyncCommand.docc/Configuration.md",
      encoding: .utf8)
    let file = try String(contentsOfFile: Repository.root + "/Config/syncd.json", encoding: .utf8)
    let help = CommandOption.allCases.map(\.rawValue)
    for key in ConfigurationKey.all {
      #expect(article.contains("`\(key.name)`"), "\(key.name) is not in Configuration.md")
      if let name = key.path.last {
        #expect(file.contains("\"\(name)\""), "\(key.name) is not in syncd.json")
      }
      if let variable = key.variable { #expect(article.contains("`\(variable)`"), "\(variable)") }
      if let option = key.option {
        #expect(help.contains(option.rawValue) && article.contains("`\(option.rawValue)`"))
      }
    }
    let result = try Shell.result(
      [Shell.product("syncd"), "config", "--config", Repository.root + "/Config/syncd.json"], directory: "/")
    #expect(result.status == 0 && result.errors == "", "\(result)")
  }
}
