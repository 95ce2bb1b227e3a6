import Foundation
import SyncEngine
import TestSupport
import Testing

/// What happens to missing, null, repeated and misshapen values (design §4).
@Suite("Rules of rows", .fewAtATime)
struct RowRuleTests {
  struct Person: Entity {
    var id = 0
    var first = "?"
    var last: String?
    var city: String?
    var score = 7
    var mark = 5
    var extra: [String: Int]?
    var inner = "mine"
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Person> {
      Key(\.id)
      Field(\.first, "name.first", .nullAsDefault)
      Field(\.last, "name.last", .emptyAsNull)
      Field(\.city, "homes[1].city")
      Field(\.score)
      Field(\.mark, .nullAsDefault)
      Field(\.extra)
      Local(\.inner)
    }
  }

  @Test("a new row takes defaults for what is missing, an old one keeps what it has, a null clears")
  func missingAndNull() async throws {
    let scene = try Scene()
    _ = try await scene.run(
      Person.self, #"[{"id":1},{"id":2,"name":{"first":"F","last":"L"},"score":1,"mark":2}]"#)
    expect(try scene.rows(), is: "1 | ? | ∅ | ∅ | 7 | 5 | ∅ | mine\n2 | F | L | ∅ | 1 | 2 | ∅ | mine")
    let second = try await scene.run(
      Person.self,
      #"[{"id":1,"name":{},"homes":[{},{"city":"C"}],"extra":{"a":1}},{"id":2,"name":{"last":null},"mark":null}]"#
    )
    expect(second, is: "thing: 1 pages, 2 records, 0 inserted, 2 updated, 0 unchanged, 0 deleted, proven")
    expect(
      try scene.rows(), is: "1 | ? | ∅ | C | 7 | 5 | {\"a\":1} | mine\n2 | F | ∅ | ∅ | 1 | 5 | ∅ | mine")
    let third = try await scene.run(
      Person.self,
      #"[{"id":1,"name":null,"homes":null,"extra":null},{"id":2,"name":{"last":""},"homes":[{"city":"x"}]}]"#)
    expect(third, is: "thing: 1 pages, 2 records, 0 inserted, 1 updated, 1 unchanged, 0 deleted, proven")
    expect(try scene.rows(), is: "1 | ? | ∅ | ∅ | 7 | 5 | ∅ | mine\n2 | F | ∅ | ∅ | 1 | 5 | ∅ | mine")
  }

  @Test("the same record again, in another order and with other white space, changes nothing")
  func unchanged() async throws {
    let scene = try Scene()
    _ = try await scene.run(
      Person.self, #"[{"id":1,"name":{"first":"é","last":"L"},"score":1,"extra":{"a":1,"b":2}}]"#)
    let again = try await scene.run(
      Person.self,
      #"[ { "extra" : { "a" : 1 , "b" : 2 } , "score" : 1.0, "name" : {"last":"\u004c","first":"\u00e9"},"id":"1"} ]"#
    )
    expect(again, is: "thing: 1 pages, 1 records, 0 inserted, 0 updated, 1 unchanged, 0 deleted, proven")
  }

  @Test("what stands where the path goes on is a bad record, for each kind of value and place")
  func obstacles() async throws {
    let line = try await Scene().run(
      Person.self,
      #"[{"id":1,"name":"x"},{"id":2,"name":[]},{"id":3,"homes":{"1":{}}},{"id":4,"homes":[0,true]},{"id":5,"score":null},{"id":6,"name":7}]"#
    )
    expect(
      line,
      is: """
        thing: 6 bad records, nothing was written:
          page 1, record 1 (id 1), field "first" at "name.first": a string stands where the path goes on: "x"
          page 1, record 2 (id 2), field "first" at "name.first": an array stands where the path goes on: []
          page 1, record 3 (id 3), field "city" at "homes[1].city": an object stands where the path goes on: {"1":{}}
          page 1, record 4 (id 4), field "city" at "homes[1].city": a boolean stands where the path goes on: true
          page 1, record 5 (id 5), field "score": null, and the column takes no null
          page 1, record 6 (id 6), field "first" at "name.first": a number stands where the path goes on: 7
        """)
  }

  @Test("a key twice in one object: the last value counts, and nothing of the first is left")
  func doubledMembers() async throws {
    let scene = try Scene()
    _ = try await scene.run(
      Person.self,
      #"[{"id":1,"score":"bad","score":2,"name":{"first":"A","last":"B"},"name":{"last":"C"},"\u0073core":3},{"id":2,"name":{"first":"A"},"name":null},{"id":3,"name":"bad","name":{"first":"Z"}},{"id":4,"name":null,"name":{}}]"#
    )
    expect(
      try scene.rows("SELECT id, first, last, score FROM thing ORDER BY 1"),
      is: "1 | ? | C | 3\n2 | ? | ∅ | 7\n3 | Z | ∅ | 7\n4 | ? | ∅ | 7")
  }

  struct Vote: Entity {
    var user = ""
    var poll = 0
    var weight: Double?
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Vote> {
      Key(\.user, "by.name")
      Key(\.poll)
      Field(\.weight)
    }
    static let deletion = Deletion<Vote>.missing(atMost: 1)
  }

  @Test("a key part that is null, missing or there twice is a bad record, never an invented key")
  func keyParts() async throws {
    let scene = try Scene()
    let line = try await scene.run(
      Vote.self,
      #"[{"by":{"name":"u"},"poll":null},{"by":{"name":"u"}},{"by":null,"poll":1},{"poll":1},{"by":{"name":"a","name":"a"},"poll":1},{"by":{"name":"a"},"by":{"name":"a"},"poll":1},{"by":{"name":"a"},"poll":"x"},{"by":{"name":"a"},"poll":""},{"by":{"name":{}},"poll":1},{"by":{"name":"\ud800"},"poll":1}]"#
    )
    expect(
      line,
      is: """
        thing: 10 bad records, nothing was written:
          page 1, record 1 (user u, poll null), field "poll": the key is null
          page 1, record 2 (user u), field "poll": the key is missing
          page 1, record 3 (user null, poll 1), field "user" at "by.name": the key is null
          page 1, record 4 (poll 1), field "user" at "by.name": the key is missing
          page 1, record 5 (user a), field "user" at "by.name": a part of the key stands twice in the record
          page 1, record 6 (user a), field "user" at "by.name": a part of the key stands twice in the record
          page 1, record 7 (user a, poll x), field "poll": "x" is not an integer of 64 bits
          page 1, record 8 (user a, poll ), field "poll": "" is not an integer of 64 bits
          page 1, record 9 (user {}, poll 1), field "user" at "by.name": {} is an object, not a text
          page 1, record 10 (poll 1), field "user" at "by.name": half a surrogate pair, which no text can hold: "\\ud800"
        """)
    #expect(throws: TestFailure.self) { try scene.rows() }
  }

  @Test("a key part that stands twice is named itself")
  func doubledKeyPart() async throws {
    let line = try await Scene().run(Vote.self, #"[{"by":{"name":"a"},"poll":1,"poll":1}]"#)
    expect(
      line,
      is: """
        thing: 1 bad record, nothing was written:
          page 1, record 1 (user a, poll 1), field "poll": a part of the key stands twice in the record
        """)
  }

  @Test("composite keys compare by bytes and values, part by part")
  func compositeKeys() async throws {
    let scene = try Scene()
    // A text of PostgreSQL holds no NUL.
    let withNUL = StoreKind.words(
      sqlite: [#"{"name":"a\u0000b"},"poll":1"#, #"{"name":"a\u0000c"},"poll":1"#], postgresql: [])
    let keys =
      withNUL + [
        #"{"name":"a"},"poll":1"#, #"{"name":"A"},"poll":1"#, #"{"name":"a1"},"poll":1"#,
        #"{"name":"a"},"poll":11"#, #"{"name":"\u00e9"},"poll":1"#, #"{"name":"e\u0301"},"poll":1"#,
        #"{"name":"a "},"poll":1"#,
      ]
    let line = try await scene.run(
      Vote.self, "[" + keys.map { "{\"by\":\($0)}" }.joined(separator: ",") + "]")
    let (all, rest) = (keys.count, keys.count - 2)
    expect(
      line, is: "thing: 1 pages, \(all) records, \(all) inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    let later = try await scene.run(
      Vote.self,
      "[" + keys.reversed().dropFirst(2).map { "{\"weight\":null,\"by\":\($0)}" }.joined(separator: ",") + "]"
    )
    expect(
      later,
      is: "thing: 1 pages, \(rest) records, 0 inserted, 0 updated, \(rest) unchanged, 2 deleted, proven")
    expect(
      try scene.rows("SELECT hex(\"user\"), poll FROM thing ORDER BY 1, 2"),
      is: "41 | 1\n61 | 1\n61 | 11\n\(withNUL.isEmpty ? "" : "610062 | 1\n610063 | 1\n")6131 | 1\nC3A9 | 1")
  }

  @Test("the same key in other notations is the same key: the last record wins, and nothing is deleted")
  func duplicates() async throws {
    let scene = try Scene(Scene.stock)
    let line = try await scene.run(
      Thing.self,
      #"{"data":[{"id":1,"v":"x"},{"id":"1","v":"y"},{"id":2,"v":"b"},{"id":1.0},{"id":1e0,"v":"z"}]}"#)
    expect(
      line,
      is:
        "thing: 1 pages, 5 records, 0 inserted, 1 updated, 1 unchanged, 0 deleted, 3 duplicates, unproven: 3 records came twice"
    )
    expect(try scene.rows(), is: "1 | z\n2 | b\n3 | c\n4 | d")
  }

  @Test("the first ten of 25 bad records are named, on whichever page they stand, and all are counted")
  func manyBadRecords() async throws {
    let scene = try Scene(Scene.stock)
    let bad = (1...12).map { #"{"id":"x\#($0)"}"# }.joined(separator: ",")
    let line = try await scene.run(
      Thing.self,
      [
        things(#"{"data":[\#(bad),{"id":9}],"next":"?p=3"}"#, query: ["p": "2"]),
        things(#"{"data":[\#(bad)]}"#, query: ["p": "3"]),
        things(#"{"data":[{"id":1},{"v":"k"}],"next":"?p=2"}"#),
      ])
    let named = (1...9).map {
      "\n  page 2, record \($0) (id x\($0)), field \"id\": \"x\($0)\" is not an integer of 64 bits"
    }.joined()
    expect(
      line,
      is:
        "thing: 25 bad records, nothing was written:\n  page 1, record 2, field \"id\": the key is missing\(named)\n  and 15 more"
    )
    expect(try scene.rows(), is: "1 | a\n2 | b\n3 | c\n4 | d")
  }

  struct Kept: Entity {
    var id = 0
    var n: Int?
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none, badRecords: .quarantine(atMost: 2))
    static var mapping: Mapping<Kept> {
      Key(\.id)
      Field(\.n)
    }
    static let deletion = Deletion<Kept>.missing
  }

  @Test("quarantined records are kept with their reason and counted, and nothing is deleted")
  func quarantine() async throws {
    let scene = try Scene(
      "CREATE TABLE thing (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO thing VALUES (1, 1), (2, 2)")
    let line = try await scene.run(Kept.self, #"[{"id":1,"n":5},{"id":3,"n":"é'x"},[1]]"#)
    expect(
      line,
      is:
        "thing: 1 pages, 3 records, 0 inserted, 1 updated, 0 unchanged, 0 deleted, 2 rejected, unproven: 2 records were skipped as bad"
    )
    expect(try scene.rows(), is: "1 | 5\n2 | 2")
    expect(
      try scene.rows(
        "SELECT entity, page, position, key, field, path, reason, record FROM syncd_rejects ORDER BY id"),
      is: """
        thing | 1 | 2 | id 3 | n | n | "é'x" is not an integer of 64 bits | {"id":3,"n":"é'x"}
        thing | 1 | 3 | ∅ | ∅ | ∅ | the record is an array, not an object | [1]
        """)
  }

  @Test("more bad records than may be quarantined fail the run, and ten of them are named all the same")
  func quarantineOverflow() async throws {
    let scene = try Scene()
    let records = (1...12).map { #"{"id":\#($0),"n":"x"}"# }.joined(separator: ",")
    let line = try await scene.run(Kept.self, "[\(records)]")
    let named = (1...10).map {
      "\n  page 1, record \($0) (id \($0)), field \"n\": \"x\" is not an integer of 64 bits"
    }.joined()
    expect(
      line, is: "thing: 12 bad records, more than the 2 that may be quarantined:\(named)\n  and 2 more")
  }
}
