import SyncEngine
import TestSupport
import Testing

/// Several entities in one transaction.
@Suite("Entities that are written together", .timeLimit(.minutes(15)), .fewAtATime)
struct TogetherTests {
  private static let family: [any Entity.Type] = [Grandchild.self, Child.self, Owner.self]

  private func run(_ scene: Scene, _ routes: [Route]) async throws -> String {
    try scene.serve(routes)
    do {
      return try await scene.engine.sync(together: Self.family).map(line).joined(separator: "\n")
    } catch { return "\(error)".replacing(scene.server.base, with: "BASE") }
  }

  private func owners(_ ids: String...) -> Route {
    Route("/owners", body: "[\(ids.map { #"{"id":"\#($0)"}"# }.joined(separator: ","))]")
  }

  private func children(_ owner: String, _ ids: String..., pause: Double? = nil) -> Route {
    Route(
      "/o/\(owner)/c", body: #"{"data":[\#(ids.map { #"{"id":"\#($0)"}"# }.joined(separator: ","))]}"#,
      fault: pause == nil ? nil : "slow", pause: pause)
  }

  private func grandchildren(_ child: String, _ ids: String...) -> Route {
    Route("/c/\(child)", body: "[\(ids.map { #"{"id":"\#($0)"}"# }.joined(separator: ","))]")
  }

  @Test("children are asked for with the rows that their parents are going to have, and all are seen at once")
  func family() async throws {
    let scene = try Scene()
    let routes = [
      owners("a", "b"), children("a", "a1", "a2"), children("b", "b1"),
      grandchildren("a1", "x"), grandchildren("a2"), grandchildren("b1", "y", "z"),
    ]
    expect(
      try await run(scene, routes),
      is: """
        owner: 1 pages, 2 records, 2 inserted, 0 updated, 0 unchanged, 0 deleted, proven
        child: 2 pages, 3 records, 3 inserted, 0 updated, 0 unchanged, 0 deleted, proven
        grandchild: 3 pages, 3 records, 3 inserted, 0 updated, 0 unchanged, 0 deleted, proven
        """)
    expect(try scene.rows("SELECT * FROM child ORDER BY 1"), is: "a1 | a\na2 | a\nb1 | b")
    #expect(try scene.rows("SELECT * FROM grandchild ORDER BY 1") == "x\ny\nz")

    // While the children are asked for, a reader sees the owners as they were, and a writer is not kept waiting.
    try scene.serve([
      owners("a", "c"), children("c", "c1", pause: 2), children("a", "a1"), children("b", "b1"),
      grandchildren("a1", "x"), grandchildren("b1", "y", "z"), grandchildren("c1", "w"),
    ])
    let engine = scene.engine
    try scene.server.reset()
    let task = Task { try await engine.sync(together: Self.family).map(line).joined(separator: "\n") }
    while try !scene.requests().contains(where: { $0.path == "/o/c/c" }) {
      try await Task.sleep(for: .milliseconds(5))
    }
    #expect(try scene.rows("SELECT id FROM owner ORDER BY 1") == "a\nb")
    try scene.fixture.write("CREATE TABLE other (x INTEGER)")
    let lines = try await task.value.split(separator: "\n")
    #expect(
      lines.count == 3 && lines[1].hasSuffix("1 inserted, 0 updated, 2 unchanged, 1 deleted, proven"),
      "\(lines)")
    #expect(try scene.rows("SELECT id FROM owner ORDER BY 1") == "a\nb\nc")
    #expect(try scene.rows("SELECT id FROM child ORDER BY 1") == "a1\nb1\nc1")
  }

  @Test("where one fails, nothing of the others is written, and each run says why")
  func failure() async throws {
    let scene = try Scene()
    let good = [owners("a"), children("a", "a1", "a2", "a3", "a4"), grandchildren("a1", "x")]
    let failed = try await run(scene, good)
    #expect(failed.hasPrefix("grandchild: page 2 (BASE/c/a2): HTTP 404"), "\(failed)")
    #expect(try scene.fixture.tables() == "")
    expect(
      try scene.rows("SELECT entity, outcome, reason FROM syncd_runs ORDER BY id").replacing(
        scene.server.base, with: "BASE"),
      is: """
        owner | failed | nothing was written, since grandchild failed
        child | failed | nothing was written, since grandchild failed
        grandchild | failed | page 2 (BASE/c/a2): HTTP 404 Not Found: no such route: /c/a2
        """)
    let all = good + [grandchildren("a2"), grandchildren("a3"), grandchildren("a4")]
    #expect(try await run(scene, all).contains("child: 1 pages, 4 records, 4 inserted"))
    // The guard of one refuses for all.
    let refused = try await run(
      scene,
      [
        owners("a", "b"), children("a", "a1"), children("b", "b1"), grandchildren("a1", "x"),
        grandchildren("b1", "new"),
      ])
    #expect(refused.hasPrefix("child: the run would delete 3 of 4 rows"), "\(refused)")
    #expect(try scene.rows("SELECT id FROM owner") == "a")
    #expect(try scene.rows("SELECT id FROM grandchild") == "x")
    #expect(
      try scene.rows("SELECT entity, outcome FROM syncd_runs ORDER BY id DESC LIMIT 3")
        == "grandchild | failed\nchild | refused\nowner | failed")
  }

  struct Left: Entity {
    var id = 0
    var v: String?
    static let name = "left"
    static let table = "shared"
    static let source = Source(.probe, "left", paging: .none)
    static var mapping: Mapping<Left> {
      Key(\.id)
      Field(\.v)
    }
  }

  struct Right: Entity {
    var id = 0
    var v: String?
    static let name = "right"
    static let table = "shared"
    static let source = Source(.probe, "right", paging: .none)
    static var mapping: Mapping<Right> {
      Key(\.id)
      Field(\.v)
    }
  }

  @Test("a page that is as it was is asked for in full where another entity has changed its table before it")
  func shared() async throws {
    let scene = try Scene()
    let tag = ["ETag": "\"t\""]
    try scene.serve([
      Route("/left", body: #"[{"id":1,"v":"left"},{"id":2,"v":"left"}]"#),
      Route("/right", headers: ["if-none-match": "\"t\""], status: 304, answer: tag),
      Route("/right", answer: tag, body: #"[{"id":1,"v":"right"}]"#),
    ])
    for run in 1...2 {
      let lines = try await scene.engine.sync(together: [Left.self, Right.self]).map(line)
      #expect(
        lines[1].contains(run == 1 ? "1 inserted" : "1 updated") || lines[1].contains("1 updated"), "\(lines)"
      )
      #expect(try scene.rows("SELECT * FROM shared ORDER BY 1") == "1 | right\n2 | left")
    }
    #expect(
      try scene.requests().map { $0.path + ($0.headers["if-none-match"] == nil ? "" : " if changed") } == [
        "/left", "/right", "/left", "/right if changed", "/left", "/right",
      ])
  }
}
