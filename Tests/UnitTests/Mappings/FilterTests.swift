import Foundation
import JSON
import SQLiteStore
import SyncEngine
import TestSupport
import Testing

@Suite("Filters, preparations and rejected records", .fewAtATime)
struct FilterTests {
  struct Refusal: Error, CustomStringConvertible { let description: String }

  struct Sale: Entity {
    var id = 0
    var total: Int?
    static let source = Source(
      .probe, "things", rows: "data", paging: .none,
      where: .value("kind.name", in: "sale", "1.0", "true", "é"))
    static var mapping: Mapping<Sale> {
      Key(\.id)
      Field(\.total)
    }
    static let deletion = Deletion<Sale>.missing(atMost: 1)
  }

  struct Refund: Entity {
    var id = 0
    var reason: String?
    static let source = Source(
      .probe, "things", rows: "data", paging: .none,
      where: .matching("refunds") { record in
        if record["boom"] != nil { throw Refusal(description: "boom") }
        return record["kind"]?["name"]?.string == "refund"
      }, badRecords: .quarantine(atMost: 5, share: 0.5))
    static var mapping: Mapping<Refund> {
      Key(\.id)
      Field(\.reason)
    }
    static let deletion = Deletion<Refund>.missing(atMost: 1)
  }

  private static let mixed = """
    {"data":[{"id":1,"kind":{"name":"sale"},"total":5},{"id":2,"kind":{"name":"refund"},"reason":"r"},
    {"id":3,"kind":{"name":"refund"},"total":"not a number"},{"id":"x","kind":{"name":"other"}},
    {"id":4,"kind":{"name":1.0}},{"id":5,"kind":{"name":1}},{"id":6,"kind":{"name":true}},{"id":7,"kind":{"name":"e\\u0301"}},
    {"id":8,"kind":{"name":"\\u00e9"}},{"id":9,"kind":null},{"id":10}]}
    """

  @Test("one endpoint for two entities: each takes its own, texts and numbers as they are written")
  func twoEntities() async throws {
    let scene = try Scene()
    expect(
      try await scene.run(Sale.self, Self.mixed),
      is: "sale: 1 pages, 11 records, 4 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    expect(
      try await scene.run(Refund.self, Self.mixed),
      is: "refund: 1 pages, 11 records, 2 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    expect(try scene.rows("SELECT * FROM sale ORDER BY 1"), is: "1 | 5\n4 | ∅\n6 | ∅\n8 | ∅")
    expect(try scene.rows("SELECT * FROM refund ORDER BY 1"), is: "2 | r\n3 | ∅")
    expect(
      try await scene.run(
        Sale.self, #"{"data":[{"id":1,"kind":{"name":"sale"}},{"id":4,"kind":{"name":"x"}}]}"#),
      is: "sale: 1 pages, 2 records, 0 inserted, 0 updated, 1 unchanged, 3 deleted, proven")
  }

  @Test(
    "records that all are another's are no empty answer in disguise: the guard asks before the table is emptied"
  )
  func nothingLeft() async throws {
    let scene = try Scene()
    _ = try await scene.run(Sale.self, Self.mixed)
    let line = try await scene.run(Sale.self, #"{"data":[{"id":1,"kind":{"name":"x"}}]}"#)
    #expect(line.hasPrefix("sale: the run would delete 4 of 4 rows"), "\(line)")
    expect(try scene.rows("SELECT count(*) FROM sale"), is: "4")
  }

  @Test("bad records: only those that pass count; what a filter throws or cannot read is bad")
  func badRecords() async throws {
    let scene = try Scene()
    expect(
      try await scene.run(
        Sale.self,
        #"{"data":[{"id":1,"kind":"sale"},5,{"id":2,"kind":{"name":"sale"},"total":"x"},{"id":3,"kind":{"name":"y"},"total":"x"},{"id":4,"kind":{"name":"a","name":"sale"}},{"id":6,"kind":{"name":["sale"]}}]}"#
      ),
      is: """
        sale: 4 bad records, nothing was written:
          page 1, record 1: "kind" is a string
          page 1, record 2: the record is a number, not an object
          page 1, record 3 (id 2), field "total": "x" is not an integer of 64 bits
          page 1, record 5: the key "kind.name" stands twice
        """)
    expect(
      try await scene.run(
        Refund.self,
        #"{"data":[{"id":1,"boom":1},{"id":2,"kind":{"name":"refund"}},{"id":null,"kind":{"name":"refund"}},{"id":4}]}"#
      ),
      is:
        "refund: 1 pages, 4 records, 1 inserted, 0 updated, 0 unchanged, 0 deleted, 2 rejected, unproven: 2 records were skipped as bad"
    )
  }

  // MARK: Paging

  struct Paged: Entity {
    var id = 0
    static let table = "thing"
    static let source = Source(
      .probe, "things", rows: "data", paging: .offset("o", limit: "l", size: 2), where: .value("k", in: "a"))
    static var mapping: Mapping<Paged> { Key(\.id) }
    static let deletion = Deletion<Paged>.missing(atMost: 1)
  }

  struct Numbered: Entity {
    var id = 0
    static let table = "thing"
    static let source = Source(
      .probe, "things", rows: "data", paging: .page("p", size: 2, sizeParameter: "n", total: "total"),
      where: .value("k", in: "a"))
    static var mapping: Mapping<Numbered> { Key(\.id) }
    static let deletion = Deletion<Numbered>.missing(atMost: 1)
  }

  @Test("pages without a record that passes end nothing: the walk goes on behind them")
  func filteredPages() async throws {
    func page(_ key: String, _ value: String, _ ids: [Int], _ kind: String) -> Route {
      let records = ids.map { #"{"id":\#($0),"k":"\#(kind)"}"# }.joined(separator: ",")
      return Route("/things", query: [key: value], body: #"{"data":[\#(records)],"total":7}"#)
    }
    let offsets = try Scene()
    let line = try await offsets.run(
      Paged.self,
      [
        page("o", "0", [1, 2], "b"), page("o", "2", [3, 4], "b"), page("o", "4", [5, 6], "a"),
        page("o", "6", [7], "b"), page("o", "7", [], ""), page("o", "8", [], ""),
      ])
    expect(line, is: "thing: 5 pages, 7 records, 2 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    let numbers = try Scene()
    let other = try await numbers.run(
      Numbered.self,
      [
        page("p", "1", [1, 2], "b"), page("p", "2", [3, 4], "a"), page("p", "3", [5, 6], "b"),
        page("p", "4", [7], "b"),
      ])
    expect(other, is: "thing: 4 pages, 7 records, 2 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    expect(try numbers.rows(), is: "3\n4")
  }

  // MARK: A changed filter

  struct Before: Entity {
    var id = 0
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none, where: .value("k", in: "a", "b"))
    static var mapping: Mapping<Before> {
      Key(\.id)
    }
    static let deletion = Deletion<Before>.missing(atMost: 1)
  }

  struct After: Entity {
    var id = 0
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none, where: .value("k", in: "a"))
    static var mapping: Mapping<After> {
      Key(\.id)
    }
    static let deletion = Deletion<After>.missing(atMost: 1)
  }

  @Test("the first run with another filter deletes nothing, the second one does")
  func changedFilter() async throws {
    let scene = try Scene()
    let body = #"[{"id":1,"k":"a"},{"id":2,"k":"b"}]"#
    _ = try await scene.run(Before.self, body)
    expect(
      try await scene.run(After.self, body),
      is:
        "thing: 1 pages, 2 records, 0 inserted, 0 updated, 1 unchanged, 0 deleted, unproven: the declaration asks for other records than at the last run"
    )
    expect(try scene.rows(), is: "1\n2")
    expect(
      try await scene.run(After.self, body),
      is: "thing: 1 pages, 2 records, 0 inserted, 0 updated, 1 unchanged, 1 deleted, proven")
  }

  // MARK: Preparations

  struct Prepared: Entity {
    var code = ""
    var name: String?
    var list: [Int]?
    var raw: JSONText?
    var at = -1
    static let table = "thing"
    static let source = Source(
      .probe, "things", rows: .byKey("data"), paging: .none,
      where: .matching("kept") { $0["skip"] == nil },
      prepare: .setting { record in
        if record["boom"] != nil { throw Refusal(description: "boom é \"quoted\"") }
        guard let first = record["first"]?.string else { return [:] }
        return [
          "name": .text("\(first) \"\\\u{1}\u{7F}é \(record["last"]?.string ?? "")"),
          "list": .list([.integer(1), .integer(.min)]), "raw": record["deep"].map { .value($0) } ?? .null,
        ]
      }, badRecords: .quarantine(atMost: 9))
    static var mapping: Mapping<Prepared> {
      Key(\.code, "@key")
      Field(\.name)
      Field(\.list)
      Field(\.raw)
      Field(\.at, "@index")
      Children(PreparedTag.self, at: "tags")
    }
    static let deletion = Deletion<Prepared>.missing(atMost: 1)
  }

  struct PreparedTag: Record {
    var code = ""
    var tag = ""
    var upper = ""
    static var mapping: Mapping<PreparedTag> {
      Key(\.code, "@parent.code")
      Key(\.tag, .root)
      Field(\.upper, .root) { ($0.string ?? "").uppercased() }
    }
  }

  @Test("what a preparation sets replaces what is there; the record's key and position are still its own")
  func prepared() async throws {
    let scene = try Scene()
    let line = try await scene.run(
      Prepared.self,
      #"{"data":{"first-key":{"first":"A","last":"B","name":"old","n\u0061me":"older","deep":{"a": [1.0, null]},"tags":["x","y"]},"skipped":{"skip":1},"k\"2":{"name":"n","list":[],"tags":["z"]},"third":{"boom":1},"fourth":7}}"#
    )
    expect(
      line,
      is:
        "thing: 1 pages, 5 records, 2 inserted, 0 updated, 0 unchanged, 0 deleted, 2 rejected, unproven: 2 records were skipped as bad"
    )
    expect(
      try scene.rows("SELECT code, hex(name), list, raw, at FROM thing ORDER BY at"),
      is:
        "first-key | 4120225C017FC3A92042 | [1,-9223372036854775808] | {\"a\":[1.0,null]} | 0\nk\"2 | 6E | [] | ∅ | 2"
    )
    expect(
      try scene.rows("SELECT * FROM prepared_tag ORDER BY 1, 2"),
      is: "first-key | x | X\nfirst-key | y | Y\nk\"2 | z | Z")
    expect(
      try scene.rows("SELECT position, key, field, reason, record FROM syncd_rejects"),
      is: #"""
        4 | ∅ | ∅ | boom é "quoted" | {"boom":1}
        5 | ∅ | ∅ | the record is a number, not an object | 7
        """#)
  }

  struct Twins: Entity {
    var id = 0
    var one: String?
    var two: String?
    static let table = "thing"
    static let source = Source(
      .probe, "things", paging: .none,
      prepare: .setting { _ in ["\u{E9}": .text("set"), "id": .integer(7)] })
    static var mapping: Mapping<Twins> {
      Key(\.id)
      Field(\.one, .key("\u{E9}"))
      Field(\.two, .key("e\u{301}"))
    }
  }

  @Test("a preparation replaces members of the same bytes, a key among them; one that only looks alike stays")
  func twins() async throws {
    let scene = try Scene()
    let line = try await scene.run(Twins.self, #"[{"id":1,"\u00e9":"a","e\u0301":"b"}]"#)
    expect(line, is: "thing: 1 pages, 1 records, 1 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    expect(try scene.rows(), is: "7 | set | b")
  }

  struct Whole: Entity {
    var id = 0
    var all = JSONText("{}")
    static let table = "thing"
    static let source = Source(
      .probe, "things", paging: .none, prepare: .setting { _ in ["v": .null] })
    static var mapping: Mapping<Whole> {
      Key(\.id)
      Field(\.all, .root)
    }
  }

  @Test("a preparation leaves all other members as they were sent, also those whose key is no text")
  func otherMembers() async throws {
    let scene = try Scene()
    _ = try await scene.run(
      Whole.self, #"[{"id":1,"\u00e9\/":"\u00e9","v":2,"\ud800":[1.0, 2],"\ud800":{},"":3}]"#)
    expect(
      try scene.rows(),
      is: #"1 | {"id":1,"\u00e9\/":"\u00e9","\ud800":[1.0,2],"\ud800":{},"":3,"v":null}"#)
  }

  // MARK: Rejects

  struct Shared: Entity {
    var id = 0
    var n: Int?
    static let table = "book"
    static let source = Source(
      API(
        "secretive", url: "https://secretive.example.invalid/",
        auth: .bearer(.environment("PATH"))), "things", paging: .none,
      badRecords: .quarantine(atMost: 3, share: 0.5))
    static var mapping: Mapping<Shared> {
      Key(\.id)
      Field(\.n)
    }
    static let deletion = Deletion<Shared>.missing(atMost: 1)
  }

  @Test("the share and the number of bad records are limits of their own; exactly the share passes")
  func limits() async throws {
    let scene = try Scene()
    let engine = scene.fixture.engine(scene.server, apis: ["secretive"])
    func run(_ bad: Int, _ good: Int) async throws -> String {
      let records =
        (0..<bad).map { #"{"id":\#($0),"n":"x"}"# } + (0..<good).map { #"{"id":\#(100 + $0)}"# }
      try scene.serve([Route("/things", body: "[\(records.joined(separator: ","))]")])
      return await outcome(of: engine, Shared.self)
    }
    expect(
      try await run(2, 2),
      is:
        "book: 1 pages, 4 records, 2 inserted, 0 updated, 0 unchanged, 0 deleted, 2 rejected, unproven: 2 records were skipped as bad"
    )
    #expect(
      try await run(2, 1).hasPrefix(
        "book: 2 of 3 records are bad, more than the share of 0.5 that may be quarantined:\n"))
    #expect(try await run(4, 40).hasPrefix("book: 4 bad records, more than the 3 that may be quarantined:\n"))
    #expect(try await run(3, 3).contains("3 rejected"))
    #expect(try await run(1, 0).hasPrefix("book: 1 of 1 records are bad"))
  }

  @Test("rejected records are listed by the command as text and as JSON, without secrets")
  func command() async throws {
    let scene = try Scene()
    let engine = scene.fixture.engine(scene.server, apis: ["secretive"])
    let secret = ProcessInfo.processInfo.environment["PATH"] ?? ""
    try scene.serve([
      Route(
        "/things",
        body: #"[{"id":1,"n":"a\u001b[2J\n\#(secret)","s":"\#(secret)"},{"id":2},{"id":3,"n":"é"},{"id":4}]"#)
    ])
    #expect(await outcome(of: engine, Shared.self).contains("2 rejected"))
    let rejects = try await scene.fixture.store.rejects(of: ["book"])
    #expect(rejects.count == 2)
    #expect(!rejects.contains { "\($0)".contains(secret) }, "\(rejects)")
    let text = try Shell.result(
      [Shell.product("syncd"), "rejects", "--store", scene.fixture.path], directory: scene.fixture.folder.path
    )
    expect(
      text.output.replacing(/[0-9a-f]{12}/, with: "RUN").replacing(#/ +/#, with: " ").replacingOccurrences(
        of: " \n", with: "\n"),
      is: #"""
        RUN ENTITY PAGE POSITION KEY FIELD REASON
        RUN book 1 1 id 1 n "a\u{1b}[2J\u{a}***" is not an integer of 64 bits
        RUN book 1 3 id 3 n "é" is not an integer of 64 bits

        """#)
    let json = try Shell.result(
      [Shell.product("syncd"), "rejects", "book", "--store", scene.fixture.path, "--log-format", "json"],
      directory: scene.fixture.folder.path)
    let lines = json.output.split(separator: "\n").map { $0.replacing(/[0-9a-f]{12}/, with: "RUN") }
    #expect(lines.count == 2)
    expect(
      lines.last.map { String($0) } ?? "",
      is:
        #"{"entity":"book","field":"n","key":"id 3","page":1,"path":"n","position":3,"reason":"\"é\" is not an integer of 64 bits","record":"{\"id\":3,\"n\":\"é\"}","run":"RUN"}"#
    )
    #expect(!json.output.contains(secret))
    let none = try Shell.result(
      [Shell.product("syncd"), "rejects", "post", "--store", scene.fixture.path],
      directory: scene.fixture.folder.path)
    expect(none.output, is: "no record was left out\n")
  }
}
