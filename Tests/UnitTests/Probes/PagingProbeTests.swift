import SyncEngine
import TestSupport
import Testing

/// Pages whose records are bad, known already, or counted from elsewhere.
@Suite("Pages and their records", .fewAtATime, .once)
struct PagingProbeTests {
  struct Offset: Entity {
    var id = 0
    var v: String?
    static let table = "thing"
    static let source = Source(
      .probe, "things", rows: "data", paging: .offset("offset", size: 2), badRecords: .quarantine(atMost: 9))
    static var mapping: Mapping<Offset> {
      Key(\.id)
      Field(\.v)
    }
  }
  struct Failing: Entity {
    var id = 0
    var v: String?
    static let table = "thing"
    static let source = Source(.probe, "things", rows: "data", paging: .offset("offset", size: 2))
    static var mapping: Mapping<Failing> {
      Key(\.id)
      Field(\.v)
    }
  }

  private static let badPage = [
    things(list([1, 2]), query: ["offset": "0"]),
    things(#"{"data":[{"id":"x"},{"v":"y"}]}"#, query: ["offset": "2"]),
    things(#"{"data":[{"id":5,"v":"e"},{"id":"z"}]}"#, query: ["offset": "4"]),
    things(#"{"data":[]}"#, query: ["offset": "6"]),
  ]

  @Test("a page of bad records is no end: the pages behind it are read")
  func badPage() async throws {
    let scene = try Scene()
    let line = try await scene.run(Offset.self, Self.badPage)
    #expect(line.contains("6 records, 3 inserted"), "\(line)")
    expect(try scene.rows("SELECT id FROM thing"), is: "1\n2\n5")
  }

  @Test("all bad records of all pages are counted before the run fails")
  func badPageCount() async throws {
    let line = try await Scene().run(Failing.self, Self.badPage)
    #expect(line.hasPrefix("thing: 3 bad records, nothing was written:"), "\(line)")
  }

  struct Tag: Entity {
    var id = 0
    static let source = Source(.probe, "tags", paging: .none)
    static var mapping: Mapping<Tag> { Key(\.id) }
  }
  struct Tagged: Entity {
    var id = 0
    static let table = "thing"
    static let source = Source(
      .probe, "tags/{parent.id}", rows: "data", paging: .offset("offset", size: 2), parents: Parents(Tag.self)
    )
    static var mapping: Mapping<Tagged> { Key(\.id) }
  }

  @Test("a page of records that another parent has too is no end of this parent's pages")
  func sharedChildren() async throws {
    let scene = try Scene()
    _ = try await scene.run(Tag.self, [Route("/tags", body: #"[{"id":1},{"id":2}]"#)])
    func page(_ tag: Int, _ offset: Int, _ ids: [Int]) -> Route {
      Route("/tags/\(tag)", query: ["offset": "\(offset)"], body: list(ids))
    }
    let line = try await scene.run(
      Tagged.self,
      [
        page(1, 0, [1, 2]), page(1, 2, []), page(2, 0, [1, 2]), page(2, 2, [3]), page(2, 3, []),
      ])
    #expect(line.contains("3 inserted"), "\(line)")
    expect(try scene.rows("SELECT id FROM thing"), is: "1\n2\n3")
  }

  struct FromFirst: Entity {
    var id = 0
    var v: String?
    static let table = "thing"
    static let source = Source(.probe, "things", rows: "data", paging: .page("page", from: 1))
    static var mapping: Mapping<FromFirst> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<FromFirst>.missing
  }
  struct FromSecond: Entity {
    var id = 0
    var v: String?
    static let table = "thing"
    static let source = Source(.probe, "things", rows: "data", paging: .page("page", from: 2))
    static var mapping: Mapping<FromSecond> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<FromSecond>.missing
  }

  @Test("pages counted from another number are another list: the first run deletes nothing")
  func changedStart() async throws {
    let scene = try Scene()
    let routes = [
      things(list([1, 2]), query: ["page": "1"]), things(list([3, 4]), query: ["page": "2"]),
      things(list([]), query: ["page": "3"]),
    ]
    #expect(try await scene.run(FromFirst.self, routes).contains("4 inserted"))
    let line = try await scene.run(FromSecond.self, routes)
    #expect(line.contains("unproven: the declaration asks for other records"), "\(line)")
    expect(try scene.rows("SELECT id FROM thing"), is: "1\n2\n3\n4")
  }

  @Test(
    "a status is said even where the body's encoding is damaged or the body is empty", arguments: [404, 204])
  func statusBehindEncoding(_ status: Int) async throws {
    let line = try await Scene().run(
      Thing.self, [Route("/things", status: status, answer: ["Content-Encoding": "gzip"], body: "")])
    #expect(line.contains("HTTP \(status)"), "\(line)")
  }

  struct Flagged: Entity {
    var id = 0
    var v: String?
    static let table = "thing"
    static let source = Source(
      .probe, "things", rows: "data", paging: .cursor("meta.next", parameter: "after", more: "meta.more"))
    static var mapping: Mapping<Flagged> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<Flagged>.missing
  }

  @Test(
    "a flag for more pages is a boolean, and true needs a cursor",
    arguments: [
      (#"{"next":"A","more":"yes"}"#, "the flag at \"meta.more\" is a string, not a boolean"),
      (#"{"next":"A","more":1}"#, "the flag at \"meta.more\" is a number, not a boolean"),
      (
        #"{"next":null,"more":true}"#,
        "\"meta.more\" says that there is more, but there is no cursor at \"meta.next\""
      ),
      (#"7"#, "the paging field \"meta.more\": \"meta\" is a number"),
      (
        #"{"more":false,"more":true,"next":"A"}"#,
        "the paging field \"meta.more\": the key \"meta.more\" stands twice"
      ),
    ])
  func flags(_ meta: String, _ message: String) async throws {
    let scene = try Scene(Scene.stock)
    let line = try await scene.run(Flagged.self, list([1, 2], "\"meta\":\(meta)"))
    expect(line, is: "thing: page 1 (BASE/things): \(message)")
    expect(try scene.rows(), is: "1 | a\n2 | b\n3 | c\n4 | d")
  }
}
