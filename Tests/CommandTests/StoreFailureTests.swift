import Foundation
import HTTP
import SyncEngine
import Synchronization
import TestSupport
import Testing

/// A store that cannot take what a run brings, and other programs that work with it.
@Suite("A store in trouble", .timeLimit(.minutes(15)), .fewAtATime)
struct StoreFailureTests {
  private static func books(_ count: Int, _ title: String) -> Route {
    let books = (1...count).map { #"{"id": \#($0), "title": "\#(title) \#($0)"}"# }
    return Route("/books", body: "[\(books.joined(separator: ","))]")
  }

  /// Runs `syncd once book` in a folder of its own, by a command of the shell in front of it.
  private struct Program {
    let folder: TemporaryFolder
    let server: AnswerServer

    init() throws {
      folder = try TemporaryFolder()
      server = try AnswerServer([books(20, "old")])
      try #"{"store": "t.sqlite", "apis": {"library": {"url": "\#(server.base)/"}}}"#
        .write(toFile: folder.path + "/c.json", atomically: true, encoding: .utf8)
    }

    func once(_ front: String = "") throws -> Shell.Result {
      try Shell.result(
        ["sh", "-c", "\(front) exec \"$0\" once book --config c.json", Shell.product("syncd")],
        directory: folder.path)
    }

    func titles() throws -> String {
      try SQLiteFile.text(
        folder.path + "/t.sqlite", "PRAGMA integrity_check; SELECT count(*), min(title) FROM book")
    }
  }

  @Test(
    "a disk that is full: the first error is told, and the table is as before",
    .only(.sqlite, "the server's disk is not the program's"))
  func full() throws {
    let program = try Program()
    #expect(try program.once().status == 0)
    try program.server.serve([Self.books(2000, String(repeating: "new ", count: 200))])
    // Files of 200 kB at most; the signal that would end the program is not sent.
    let result = try program.once("trap '' XFSZ; ulimit -f 400;")
    #expect(result.status == 1)
    #expect(result.errors.hasPrefix("syncd: book: SQLite: "), "\(result)")
    #expect(result.errors.contains("disk") || result.errors.contains("full"), "\(result)")
    expect(try program.titles(), is: "ok\n20 | old 1")
    #expect(try program.once().status == 0)
    #expect(try program.titles().hasPrefix("ok\n2000 | new"))
  }

  @Test(
    "a store that may not be written: status 1 with the reason, and nothing is lost",
    .only(.sqlite, "a role's rights are in PostgresTests"))
  func readOnly() throws {
    let program = try Program()
    #expect(try program.once().status == 0)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.folder.path)
    try program.server.serve([Self.books(20, "new")])
    guard try Shell.result(["setpriv", "--reuid=65534", "--clear-groups", "true"]).status == 0 else {
      return print("skipped: setpriv cannot take another user here")
    }
    let other = try Shell.result(
      [
        "setpriv", "--reuid=65534", "--clear-groups", Shell.product("syncd"), "once", "book", "--config",
        "c.json",
      ], directory: program.folder.path)
    #expect(other.status == 1 || other.status == 2, "\(other)")
    #expect(other.errors.contains("t.sqlite") || other.errors.contains("readonly"), "\(other)")
    expect(try program.titles(), is: "ok\n20 | old 1")
  }

  /// Lets another program write into the store at each request.
  private struct WritingTransport: Transport {
    let fixture: Fixture
    let writes = Counter()
    let inner = CurlTransport()

    final class Counter: Sendable {
      let failures = Mutex<[String]>([])
      let count = Mutex(0)
    }

    func send(_ request: HTTPRequest, limits: HTTPLimits) async throws -> HTTPResponse {
      do {
        // PostgreSQL locks rows and tables, not the whole store: whoever still looks at the table would be in the way.
        let lock =
          "DO $$ BEGIN IF to_regclass('book') IS NOT NULL THEN LOCK TABLE book, syncd_state; END IF; END $$;"
        try fixture.write(
          StoreKind.words(sqlite: "", postgresql: lock) + "INSERT INTO other VALUES (1)")
        writes.count.withLock { $0 += 1 }
      } catch { writes.failures.withLock { $0.append("\(request.url): \(error)") } }
      return try await inner.send(request, limits: limits)
    }
  }

  struct Book: Entity {
    var id = 0
    var title = ""
    var cover: URL?
    var image: Data?
    static let source = Source(
      API("library", url: "https://library.example.invalid/", concurrency: 1), "books",
      paging: .offset("offset", limit: "limit", size: 2))
    static let deletion = Deletion<Book>.missing.verified(by: "books/{id}")
    static var mapping: Mapping<Book> {
      Key(\.id)
      Field(\.title)
      Field(\.cover)
      Blob(\.image, from: \.cover)
    }
  }

  @Test("no lock is held while a run waits for the network: another program writes at each request")
  func unlocked() async throws {
    let fixture = try Fixture()
    let server = try fixture.server()
    try fixture.execute(
      StoreKind.words(sqlite: "PRAGMA journal_mode = WAL;", postgresql: "") + "CREATE TABLE other (n INTEGER)"
    )
    let transport = WritingTransport(fixture: fixture)
    let engine = Engine(
      store: fixture.store, options: .init(urls: ["library": server.base + "/"]), transport: transport)
    func page(_ offset: Int, _ ids: [Int]) -> Route {
      let books = ids.map { #"{"id": \#($0), "title": "b", "cover": "{{base}}/cover\#($0)"}"# }
      return Route("/books", query: ["offset": "\(offset)"], body: "[\(books.joined(separator: ","))]")
    }
    let covers = (1...4).map { Route("/cover\($0)", body: "image") }
    try server.serve([page(0, [1, 2]), page(2, [3, 4]), page(4, [])] + covers)
    #expect(await outcome(of: engine, Book.self).hasSuffix("0 deleted, proven"))
    try server.serve([page(0, [1, 2]), page(2, [3]), page(3, []), Route("/books/4", status: 404)] + covers)
    #expect(await outcome(of: engine, Book.self).hasSuffix("1 deleted, proven"))
    #expect(transport.writes.failures.withLock { $0 } == [])
    // Three pages and four files; two walks over three pages and one row.
    #expect(transport.writes.count.withLock { $0 } == 14)
    #expect(try fixture.rows("SELECT count(*) FROM other") == "14")
  }
}
