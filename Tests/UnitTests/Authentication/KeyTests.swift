import Foundation
import HTTP
import TestSupport
import Testing

@testable import SyncEngine

/// Keys and passwords, as a server sees them.
@Suite(.timeLimit(.minutes(15)), .fewAtATime, .once)
struct KeyTests {
  @Test("a key goes in a header, a query or a cookie, several of them together")
  func places() async throws {
    let server = try AuthServer()
    let key = secret("the key&2")
    #expect(try await Caller(server, .header("X-Key", key)).ask("key/items") == "200")
    #expect(try await Caller(server, .query("key", key)).ask("key/items?page=1") == "200")
    let cookies = try Caller(server, .cookie("a", secret("first")), .cookie("key", secret("the-key-1")))
    #expect(await cookies.ask("key/items", headers: ["Cookie": "own=1"]) == "200")
    #expect(
      try await Caller(server, .header("X-Key", key, prefix: "Token ")).ask("key/items").hasPrefix("401"))
    try expect(
      server.log(),
      is: """
        GET /key/items the key&2 - - 200
        GET /key/items?page=1&key=the%20key%262 - the key&2 - 200
        GET /key/items - - the-key-1 200
        GET /key/items Token the key&2 - - 401
        """)
  }

  @Test("user and password, given and from a netrc file")
  func basic() async throws {
    let server = try AuthServer()
    let basic = Authentication.basic(user: secret("ann"), password: secret("pass:word 1"))
    #expect(try await Caller(server, basic).ask("basic/items") == "200")
    let folder = try TemporaryFolder()
    let file = folder.path + "/netrc"
    try """
    # for tests
    machine other.example login x password y
    macdef init
    machine 127.0.0.1 login wrong password wrong

    machine 127.0.0.1
      login ann account none
      password "pass:word 1"
    default login nobody password nothing
    """.write(toFile: file, atomically: true, encoding: .utf8)
    #expect(try await Caller(server, .netrc(file: file)).ask("basic/items") == "200")
    try "machine other.example login x password y".write(toFile: file, atomically: true, encoding: .utf8)
    let error = #expect(throws: DeclarationError.self) { try Caller(server, .netrc(file: file)) }
    #expect(error?.message == "API \"auth\": the netrc file \(file) has no password for 127.0.0.1")
  }

  @Test(
    "netrc files in their forms",
    arguments: [
      ("machine h login a password b", "a b"), ("default login a password b", "a b"),
      ("machine\th\tpassword\tb\r\nlogin a\r\n", "a b"), ("machine H login a password b", "a b"),
      ("machine h login a password #b", "a #b"), ("machine h login a password \"b \\\" c\"", "a b \" c"),
      ("# machine h login x password y\nmachine h login a password b", "a b"),
      ("machine h login a", "-"), ("machine i login a password b", "-"), ("", "-"),
      ("machine h password b machine h login c password d", " b"),
    ])
  func netrc(_ text: String, _ expected: String) {
    let found = Netrc.credentials(for: "h", in: text)
    #expect(found.map { "\($0.login) \($0.password)" } ?? "-" == expected)
  }

  @Test("a secret of a file that was replaced is read again after a 401, once")
  func replacedFile() async throws {
    let server = try AuthServer()
    let folder = try TemporaryFolder()
    let file = folder.path + "/key"
    try "stale-key".write(toFile: file, atomically: true, encoding: .utf8)
    let caller = try Caller(server, .header("X-Key", .file(file)))
    try "the-key-1\n".write(toFile: file, atomically: true, encoding: .utf8)
    #expect(await caller.ask("key/items") == "200")
    #expect(await caller.ask("key/items") == "200")
    try server.set(#"{"refuse": true}"#)
    #expect(await caller.ask("key/items") == #"401 {"message": "*** - - is refused"}"#)
    try expect(
      server.log(),
      is: """
        GET /key/items stale-key - - 401
        GET /key/items the-key-1 - - 200
        GET /key/items the-key-1 - - 200
        GET /key/items the-key-1 - - 401
        """)
  }

  @Test("a secret is what a command prints, and its failure says nothing of that")
  func command() throws {
    func value(_ words: String..., limit: Duration = .seconds(20)) -> String {
      do { return try Secret.command(words, timeLimit: limit).resolve() } catch { return error.message }
    }
    #expect(value("printf", "%s\\n\\n", "a b; $HOME 'c'") == "a b; $HOME 'c'")
    #expect(value("sh", "-c", "cat; sleep 60 & echo one; echo two") == "one\ntwo")
    let start = "its secret comes from the command \"sh\", which "
    #expect(value("sh", "-c", "echo hidden; echo hidden >&2; exit 3") == start + "ended with status 3")
    #expect(value("sh", "-c", "kill -9 $$") == start + "was ended by signal 9")
    #expect(value("sh", "-c", "exec sleep 60", limit: .seconds(1)) == start + "did not end within 1 s")
    #expect(value("sh", "-c", "yes", limit: .seconds(1)) == start + "did not end within 1 s")
    #if os(Linux)
      // Nothing that this process has open; 3 is the folder that is read.
      #expect(value("ls", "/proc/self/fd") == "0\n1\n2\n3")
    #endif
    #expect(value("true").hasSuffix("\"true\", which printed nothing"))
    #expect(value("/nowhere/pass", "show", "x").hasSuffix("cannot be started: No such file or directory"))
    #expect(value().hasSuffix("names no program"))
  }
}
