import Foundation
import HTTP
import SyncEngine
import TestSupport
import Testing

extension Resume {
  fileprivate static let always = within(.seconds(3600), after: .zero)
}

/// Runs that end before they commit, and those that go on from there. Kills are in `KillTests`.
@Suite("Runs that go on", .timeLimit(.minutes(15)), .fewAtATime)
struct ResumeTests {
  private static let server = Result { try LocalServer("pages.py") }

  /// A store, and a session of the server that it is synced from.
  private struct Session {
    let fixture = Result { try Fixture() }
    let base: String

    init() throws { base = try "\(ResumeTests.server.get().base)/\(UUID().uuidString)" }

    func serve(_ options: String) async throws {
      _ = try await CurlTransport().text(base + "/_options", by: "PUT", body: "{\(options)}")
    }

    private struct Log: Decodable { var requests: [String] }

    func requests() async throws -> [String] {
      try JSONDecoder().decode(Log.self, from: Data(try await CurlTransport().text(base + "/_log").utf8))
        .requests
    }

    /// One run; its line with `BASE` for the server's address.
    func sync(
      _ source: Source, as entity: any Entity.Type = Row.self, resumes: Bool = true, inFull: Bool = false
    ) async throws -> String {
      // Another program each time.
      let engine = Engine(
        store: try fixture.get().store,
        options: .init(urls: ["pages": base + "/"], asksInFull: inFull, resumes: resumes))
      return await Row.$source.withValue(source) { await outcome(of: engine, entity) }
        .replacing(base, with: "BASE")
    }

    /// A run that is stopped while its last request, the one of this number, is under way.
    func stop(
      at request: Int, _ options: String, _ source: Source, as entity: any Entity.Type = Row.self
    ) async throws {
      try await serve(options + #", "stall": \#(request)"#)
      let task = Task { try await sync(source, as: entity) }
      while try await requests().count < request { try await Task.sleep(for: .milliseconds(5)) }
      task.cancel()
      #expect(try await task.value == "CancellationError()")
    }

    func rows() throws -> String { try fixture.get().rows("SELECT id, v FROM thing ORDER BY id") }
    /// The file of SQLite in which pages wait for the next run.
    func journal(_ entity: String = "thing") throws -> String {
      try fixture.get().location + "-syncd-pages-\(entity)"
    }

    /// Whether pages wait for the next run: in a table of PostgreSQL, or in a file that its owner alone may read.
    func keepsPages(of entity: String = "thing") throws -> Bool {
      if StoreKind.current == .postgresql {
        return try fixture.get().rows("SELECT count(*) FROM syncd_journal WHERE entity = '\(entity)'") != "0"
      }
      let attributes = try? FileManager.default.attributesOfItem(atPath: journal(entity))
      if let mode = attributes?[.posixPermissions] as? Int { #expect(mode == 0o600) }
      return attributes != nil
    }

    /// Changes what is kept of pages, in the file or by statements.
    func damage(_ damage: Damage) throws {
      if StoreKind.current == .postgresql { return try fixture.get().execute(damage.statements) }
      var file = try Data(contentsOf: URL(fileURLWithPath: journal()))
      damage.change(&file)
      try file.write(to: URL(fileURLWithPath: journal()))
    }
  }

  struct Damage {
    var statements: String
    var change: (inout Data) -> Void
  }

  fileprivate static func source(
    _ path: String = "next", _ paging: Paging = .next("next"), query: Query = [:], resume: Resume = .always,
    concurrency: Int = 1
  ) -> Source {
    Source(.pages(concurrency: concurrency), path, query: query, rows: "data", paging: paging, resume: resume)
  }

  static let styles: [(path: String, paging: Paging, options: String)] = [
    ("next", .next("next"), ""), ("next-header", .next(header: "Next-Page"), ""), ("link", .linkHeader, ""),
    ("cursor", .cursor("cursor", parameter: "after"), ""),
    ("cursor", .cursor("cursor", parameter: "X-After", in: .header), ""),
    ("offset", .offset("offset", limit: "limit", size: 3, total: "total"), #", "total": true"#),
    ("offset", .offset("offset", limit: "limit", size: 3), ""),
    ("page", .page("page", size: 3, sizeParameter: "per_page"), ""),
    ("page", .page("page", pages: "pages"), #", "pages": true"#),
    ("keyset", .keyset("after", field: "n", isUnique: true, size: 3, sizeParameter: "limit"), ""),
    ("range", .range("items", size: 3), ""),
  ]

  @Test(
    "the pages that were read are not asked for again, in every style", arguments: styles.indices)
  func everyStyle(_ index: Int) async throws {
    let style = Self.styles[index]
    let source = Self.source(style.path, style.paging)
    let options = #""n": 24, "size": 3"# + style.options
    let clean = try Session()
    try await clean.serve(options)
    _ = try await clean.sync(source)
    let whole = try await clean.requests()

    let session = try Session()
    try await session.stop(at: 6, options, source)
    #expect(try session.keepsPages())
    try await session.serve(options)
    let line = try await session.sync(source)
    #expect(
      line.contains("24 records, 24 inserted, 0 updated, 0 unchanged, 0 deleted, unproven")
        && line.contains("5 of its pages were read by a run that did not end"), "\(line)")
    #expect(try session.rows() == clean.rows())
    let rest = try await session.requests()
    // A request that the first run gave up may be noted late.
    #expect(Set(rest) == Set(whole.dropFirst(5)), "\(rest)")
    #expect(try !session.keepsPages())
    let last = try await session.sync(source)
    #expect(last.hasSuffix("24 unchanged, 0 deleted, proven"), "\(last)")
  }

  @Test("a resumed run deletes nothing and moves no watermark; the next one does")
  func unproven() async throws {
    let session = try Session()
    let options = #""n": 9, "size": 3"#
    try await session.serve(options)
    _ = try await session.sync(Self.source())
    try await session.stop(at: 2, options + #", "gone": [8]"#, Self.source())
    try await session.serve(options + #", "gone": [8]"#)
    #expect(try await session.sync(Self.source()).contains("0 deleted, unproven"))
    #expect(try await session.sync(Self.source()).hasSuffix("1 deleted, proven"))
  }

  @Test("a run that failed is done anew")
  func contents() async throws {
    let session = try Session()
    let options = #""n": 9, "size": 3"#
    // Two pages, and a third one that is none, or leads back.
    for fault in [#", "fail": {"3": 404}"#, #", "fail": {"3": 503}"#, #", "jump": {"2": 1}"#] {
      try await session.serve(options + fault)
      let failed = try await session.sync(Self.source())
      #expect(!failed.contains("records"), "\(failed)")
      #expect(try !session.keepsPages(), "\(failed)")
    }
    try await session.serve(options)
    #expect(
      try await session.sync(Self.source()).hasSuffix("9 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    )
    #expect(try await session.requests().count == 3)
  }

  @Test("an old cursor that is refused makes the run begin again")
  func refused() async throws {
    let scene = try Scene()
    let source = Source(.probe, "things", rows: "data", paging: .next("next"), resume: .always)
    func page(_ query: [String: String]?, _ ids: [Int], next: String, status: Int = 200) -> Route {
      Route("/things", query: query, status: status, body: list(ids, #""next": \#(next)"#))
    }
    let last = try await Row.$source.withValue(source) {
      var stalling = page(["c": "old2"], [], next: "null")
      (stalling.fault, stalling.pause) = ("slow", 60)
      try scene.serve([
        stalling, page(["c": "old1"], [2], next: #""?c=old2""#), page(nil, [1], next: #""?c=old1""#),
      ])
      let task = Task { await outcome(of: scene.engine, Row.self) }
      while try scene.requests().count < 3 { try await Task.sleep(for: .milliseconds(5)) }
      task.cancel()
      #expect(await task.value == "CancellationError()")
      try scene.server.reset()
      // The cursor that the kept pages lead to is not known any more.
      return try await scene.run(
        Row.self,
        [
          page(["c": "old2"], [], next: "null", status: 410), page(["c": "new1"], [2], next: #""?c=new2""#),
          page(["c": "new2"], [3], next: "null"), page(nil, [1], next: #""?c=new1""#),
        ])
    }
    #expect(
      last == "thing: 3 pages, 3 records, 3 inserted, 0 updated, 0 unchanged, 0 deleted, proven", "\(last)")
    #expect(
      try scene.requests().map(\.target) == ["/things?c=old2", "/things", "/things?c=new1", "/things?c=new2"])
  }

  @Test("pages are void when they are old, when another declaration asks, on demand, and after another run")
  func void() async throws {
    let options = #""n": 9, "size": 3"#
    func requests(
      _ change: String, _ first: Source, _ second: Source, resumes: Bool = true, inFull: Bool = false
    )
      async throws
    {
      let session = try Session()
      try await session.stop(at: 3, options, first)
      try await session.serve(options)
      let line = try await session.sync(second, resumes: resumes, inFull: inFull)
      #expect(line.hasSuffix("0 deleted, proven"), "\(change): \(line)")
      #expect(try await session.requests().count == 3, "\(change)")
      #expect(try !session.keepsPages(), "\(change)")
    }
    let kept = Self.source()
    try await requests("age", kept, Self.source(resume: .within(.zero, after: .zero)))
    try await requests("never", Self.source(resume: .never), kept)
    try await requests("--no-resume", kept, kept, resumes: false)
    try await requests("--full", kept, kept, inFull: true)
    try await requests("declaration", kept, Self.source(query: ["q": "1"]))

    // Another run committed meanwhile: what was read before it is older than the rows.
    let session = try Session()
    try await session.stop(at: 3, options, kept)
    var journal = Data()
    try session.damage(Damage(statements: "CREATE TABLE kept AS TABLE syncd_journal") { journal = $0 })
    try await session.serve(options)
    _ = try await session.sync(kept)
    if StoreKind.current == .sqlite {
      let (path, mode) = (try session.journal(), [FileAttributeKey.posixPermissions: 0o600])
      #expect(FileManager.default.createFile(atPath: path, contents: nil, attributes: mode))
    }
    try session.damage(
      Damage(statements: "INSERT INTO syncd_journal OVERRIDING SYSTEM VALUE TABLE kept") { $0 = journal })
    #expect(try session.keepsPages())
    #expect(try await session.sync(kept).hasSuffix("9 unchanged, 0 deleted, proven"))
  }

  @Test("what is kept is bounded, and what is damaged is asked for again")
  func bounds() async throws {
    let options = #""n": 30, "size": 3, "prefix": "\#(String(repeating: "x", count: 300))""#
    /// - Returns: pages that were kept, of nine.
    func kept(
      _ resume: Resume = .always, _ statements: String = "",
      _ change: @escaping (inout Data) -> Void = { _ in }
    ) async throws -> Int {
      let session = try Session()
      let source = Self.source(resume: resume)
      try await session.stop(at: 10, options, source)
      try session.damage(Damage(statements: statements, change: change))
      try await session.serve(options)
      let line = try await session.sync(source)
      #expect(line.contains("30 records, 30 inserted"), "\(line)")
      #expect(try session.rows().split(separator: "\n").count == 30)
      return try await 10 - session.requests().count
    }
    #expect(try await kept() == 9)
    #expect(try await kept(.within(.seconds(3600), bytes: 3000, after: .zero)) == 2)
    let last = "DELETE FROM syncd_journal WHERE id = (SELECT max(id) FROM syncd_journal)"
    let middle =
      "UPDATE syncd_journal SET page = set_byte(page, 2, 9) WHERE id = (SELECT min(id) + 4 FROM syncd_journal)"
    #expect(try await kept(.always, last) { $0.removeLast() } == 8)
    #expect(try await kept(.always, "") { $0.append(contentsOf: Array("SYNP\u{1}".utf8)) } == 9)
    #expect(try await kept(.always, middle) { $0[$0.count / 2] ^= 1 } == 8)
    #expect(try await kept(.always, "DELETE FROM syncd_journal") { $0 = Data() } == 0)
    #expect(
      try await kept(.always, "UPDATE syncd_journal SET page = decode(repeat('00', 900), 'hex')") {
        $0 = Data(repeating: 0, count: 9000)
      } == 0)
    #expect(
      try await kept(.always, "UPDATE syncd_journal SET page = substr(page, 1, 9)") {
        $0 = Data($0.prefix(20))
      } == 0)
  }

  /// A row that is marked where the source says that it is gone.
  struct Marked: Entity {
    var id = 0
    var goneAt: Date?
    static let table = "thing"
    static var source: Source { Row.source }
    static var mapping: Mapping<Marked> {
      Key(\.id)
      Local(\.goneAt)
    }
    static let deletion = Deletion<Marked>.marked(\.goneAt).tombstone(at: "v", is: "gone")
  }

  @Test("a tombstone in an old page neither marks a row nor clears its mark")
  func marks() async throws {
    let session = try Session()
    let options = #""n": 9, "size": 3"#
    func marked() throws -> String {
      try session.fixture.get().rows("SELECT group_concat(id) FROM thing WHERE gone_at IS NOT NULL")
    }
    for texts in ["", #", "texts": {"2": "gone"}"#] {
      try await session.serve(options + texts)
      _ = try await session.sync(Self.source(), as: Marked.self)
    }
    #expect(try marked() == "2")
    try await session.stop(
      at: 3, options + #", "texts": {"2": "gone", "3": "gone"}"#, Self.source(), as: Marked.self)
    try await session.serve(options)
    let line = try await session.sync(Self.source(), as: Marked.self)
    #expect(line.contains("0 deleted, unproven: 2 of its pages"), "\(line)")
    #expect(try marked() == "2")
    _ = try await session.sync(Self.source(), as: Marked.self)
    #expect(try marked() == "∅")
  }

  @Test("without a declaration pages are kept that took their time")
  func slow() async throws {
    let session = try Session()
    let options = #""n": 9, "size": 3, "latency": 30"#
    let source = Source(.pages(), "next", rows: "data", paging: .next("next"))
    try await session.stop(at: 3, options, source)
    try await session.serve(options)
    #expect(try await session.sync(source).contains("2 of its pages were read by a run that did not end"))
    #expect(try await session.requests().count == 1)
  }

  @Test("where an old page repeats a record of a new one, the run begins again: the new one counts")
  func repeated() async throws {
    let session = try Session()
    let options = #""n": 9, "size": 3"#
    try await session.stop(at: 3, options, Self.source())
    // The first page is damaged, so that it comes anew, and a record of the second one has moved there.
    try session.damage(
      Damage(statements: "DELETE FROM syncd_journal WHERE id = (SELECT min(id) FROM syncd_journal)") { file in
        guard let first = file.range(of: Data(#""v1""#.utf8)) else { return }
        file[first.lowerBound + 2] = UInt8(ascii: "x")
      })
    try await session.serve(options + #", "gone": [1], "texts": {"4": "new"}"#)
    let line = try await session.sync(Self.source())
    #expect(line.hasSuffix("8 inserted, 0 updated, 0 unchanged, 0 deleted, proven"), "\(line)")
    #expect(try session.rows().contains("4 | new"))
  }

  @Test("where validators are known they count for more: a stopped run keeps them, and no pages")
  func validators() async throws {
    let session = try Session()
    let options = #""n": 12, "size": 3, "tags": "strong""#
    try await session.serve(options)
    _ = try await session.sync(Self.source())
    try await session.stop(at: 4, options + #", "texts": {"1": "a", "5": "b"}"#, Self.source())
    #expect(try !session.keepsPages())
    try await session.serve(options + #", "texts": {"1": "a", "5": "b"}"#)
    #expect(try await session.sync(Self.source()).hasSuffix("2 updated, 10 unchanged, 0 deleted, proven"))
    #expect(try await session.requests().allSatisfy { $0.hasSuffix("if changed") })
  }

  @Test("a page with a secret in it is not kept")
  func secrets() async throws {
    struct Secretive: Entity {
      var id = 0
      static let api = API(
        "pages", url: "https://pages.example.invalid/",
        auth: .query("key", .command(["printf", "hunter22"])), concurrency: 1, retry: .none)
      static let source = Source(api, "next", rows: "data", paging: .next("next"), resume: .always)
      static var mapping: Mapping<Secretive> { Key(\.id) }
    }
    let session = try Session()
    try await session.stop(
      at: 3, #""n": 9, "size": 3, "prefix": "hunter22""#, Self.source(), as: Secretive.self)
    #expect(try !session.keepsPages(of: "secretive"))
  }
}
