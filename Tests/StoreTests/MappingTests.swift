import Foundation
import SyncEngine
import TestSupport
import Testing

/// What happens to missing, null, wrong and repeated values.
@Suite("The mapping contract", .fewAtATime)
struct MappingTests {
  struct Person: Entity {
    var id = 0
    var first = "unknown"
    var last: String?
    var nick: String?
    var score = 7
    static let source = Source(.test, "items", paging: .none)
    static var mapping: Mapping<Person> {
      Key(\.id)
      Field(\.first, "name.first", .nullAsDefault)
      Field(\.last, "name.last")
      Field(\.nick)
      Field(\.score)
    }
  }

  @Test("a missing key keeps the value, null clears it, a null parent is a null for each leaf")
  func missingAndNull() async throws {
    let fixture = try Fixture()
    _ = try await sync(
      Person.self,
      #"[{"id":1,"name":{"first":"Ada","last":"L"},"nick":"al","score":1},{"id":2,"name":{"first":"Bo","last":"M"},"nick":"bm","score":2},{"id":3,"name":{"first":"Cy","last":"N"},"nick":"cn"}]"#,
      in: fixture)
    let (line, rows) = try await sync(
      Person.self,
      #"[{"id":1,"name":{"first":"Ada","last":"L"}},{"id":2,"name":{"first":"Bo"},"nick":null},{"id":3,"name":null},{"id":4,"nick":"dd"}]"#,
      in: fixture)
    expect(line, is: "person: 1 pages, 4 records, 1 inserted, 2 updated, 1 unchanged, 0 deleted, proven")
    expect(
      rows,
      is: """
        1 | Ada | L | al | 1
        2 | Bo | M | ∅ | 2
        3 | unknown | ∅ | cn | 7
        4 | unknown | ∅ | dd | 7
        """)
  }

  struct Tagged: Entity {
    var id = 0
    var tags: [String]?
    static let source = Source(.test, "items", rows: "groups[*].members[*].user", paging: .none)
    static var mapping: Mapping<Tagged> {
      Key(\.id)
      Field(\.tags, "tags[*].name")
      Children(Grant.self, at: "roles[*].grant")
    }
    static let deletion = Deletion<Tagged>.missing(atMost: 1, allowEmpty: true)
  }

  struct Grant: Record {
    var owner = 0
    var name = ""
    static var mapping: Mapping<Grant> {
      Key(\.owner, "@parent.id")
      Key(\.name)
    }
  }

  @Test(
    "behind a wildcard nothing and null lead to nothing, and what stands in the way is bad: no list is cut by it",
    arguments: [
      (#"{"groups":["x"]}"#, "record 1: a string stands where the path to the records goes on"),
      // A converter from XML has made the list of one into its element.
      (
        #"{"groups":[{"members":{"id":2,"user":{"id":2}}}]}"#,
        "record 1: an object stands where the path to the records goes on"
      ),
      (
        #"{"groups":[{"members":[null,7]}]}"#,
        "record 1: a number stands where the path to the records goes on"
      ),
      (
        #"{"groups":[{"members":[{"user":{"id":1,"tags":[{"name":"a"},"b"]}}]}]}"#,
        #"record 1 (id 1), field "tags" at "tags[*].name": a string stands where the path goes on: "b""#
      ),
      (
        #"{"groups":[{"members":[{"user":{"id":1,"roles":[{"grant":{"name":"a"}},[]]}}]}]}"#,
        #"record 1 (id 1), field "grant" at "roles[*].grant[1]": an array stands where the path to the records goes on"#
      ),
    ])
  func wildcards(body: String, reason: String) async throws {
    let fixture = try Fixture()
    let before =
      #"{"groups":[null,{},{"members":null},{"members":[null,{},{"user":null},{"user":{"id":1,"tags":[{"name":"t"},{},null],"roles":[{"grant":{"name":"g"}},null,{}]}}]}]}"#
    let first = try await sync(Tagged.self, before, in: fixture)
    expect(first.rows, is: #"1 | ["t"]"#)
    let (line, rows) = try await sync(Tagged.self, body, in: fixture)
    expect(line, is: "tagged: 1 bad record, nothing was written:\n  page 1, \(reason)")
    expect(rows, is: first.rows)
    expect(try fixture.rows("SELECT * FROM \"grant\""), is: "1 | g")
  }

  @Test("a scalar in the place of an object is a bad record, and so is a null that a column does not take")
  func wrongShapes() async throws {
    let (line, rows) = try await sync(
      Person.self,
      #"[{"id":1,"name":"Ada"},{"id":2,"score":null},{"id":3,"nick":{"a":1}},{"id":4,"score":"x"},5,null]"#)
    expect(
      line,
      is: """
        person: 6 bad records, nothing was written:
          page 1, record 1 (id 1), field "first" at "name.first": a string stands where the path goes on: "Ada"
          page 1, record 2 (id 2), field "score": null, and the column takes no null
          page 1, record 3 (id 3), field "nick": {"a":1} is an object, not a text
          page 1, record 4 (id 4), field "score": "x" is not an integer of 64 bits
          page 1, record 5: the record is a number, not an object
          page 1, record 6: the record is null, not an object
        """)
    expect(rows, is: "no table")
  }

  @Test("the first ten bad records are named, and all are counted")
  func manyBadRecords() async throws {
    let records = (1...25).map { #"{"id":\#($0),"score":"bad"}"# }.joined(separator: ",")
    let (line, _) = try await sync(Person.self, "[\(records)]")
    #expect(
      line.hasPrefix(
        "person: 25 bad records, nothing was written:\n  page 1, record 1 (id 1), field \"score\""))
    #expect(line.hasSuffix("\n  and 15 more"), "\(line)")
    #expect(line.split(separator: "\n").count == 12)
  }

  @Test(
    "a null or missing key is a bad record, never an invented one",
    arguments: [
      (#"[{"id":null,"nick":"a"}]"#, "page 1, record 1 (id null), field \"id\": the key is null"),
      (#"[{"nick":"a"}]"#, "page 1, record 1, field \"id\": the key is missing"),
      (
        #"[{"id":1,"nick":"a"},{"id":2,"id":2}]"#,
        "page 1, record 2 (id 2), field \"id\": a part of the key stands twice in the record"
      ),
    ])
  func keys(_ body: String, _ message: String) async throws {
    let (line, rows) = try await sync(Person.self, body)
    #expect(line.contains(message), "\(line)")
    expect(rows, is: "no table")
  }

  @Test("a key twice in one object: the last value counts, with nothing left of the first one")
  func doubledMember() async throws {
    let (line, rows) = try await sync(
      Person.self,
      #"[{"id":1,"nick":"a","nick":"b","name":{"first":"X","last":"Y"},"name":{"first":"Z"},"n\u0069ck":"c"}]"#
    )
    #expect(line.contains("1 inserted"), "\(line)")
    expect(rows, is: "1 | Z | ∅ | c | 7")
  }

  @Test("the same key twice in a run: the last record wins, is counted, and disarms deletion")
  func duplicates() async throws {
    let stocked = try Stocked()
    try stocked.server.serve([
      Route("/items", query: ["p": "2"], body: #"{"data":[{"id":1,"v":"c"},{"id":3,"v":"e"}]}"#),
      Route("/items", body: #"{"data":[{"id":1,"v":"x"},{"id":2,"v":"d"},{"id":1,"v":"y"}],"next":"?p=2"}"#),
    ])
    expect(
      await outcome(of: stocked.engine, Item.self),
      is:
        "item: 2 pages, 5 records, 0 inserted, 3 updated, 0 unchanged, 0 deleted, 2 duplicates, unproven: 2 records came twice"
    )
    expect(try stocked.rows(), is: "1 | c\n2 | d\n3 | e\n4 | d")
  }

  struct Vote: Entity {
    var user = ""
    var poll: UInt16 = 0
    var weight = 1.0
    static let source = Source(.test, "items", paging: .none)
    static var mapping: Mapping<Vote> {
      Key(\.user)
      Key(\.poll, "poll.id")
      Field(\.weight)
    }
    static let deletion = Deletion<Vote>.missing(atMost: 1)
  }

  @Test("composite keys: parts do not run into each other, text compares by bytes")
  func compositeKeys() async throws {
    let fixture = try Fixture()
    let (line, rows) = try await sync(
      Vote.self,
      #"[{"user":"a","poll":{"id":1}},{"user":"A","poll":{"id":1}},{"user":"","poll":{"id":11}},{"user":"é","poll":{"id":1}},{"user":"e\u0301","poll":{"id":1},"weight":2.5}]"#,
      in: fixture)
    expect(line, is: "vote: 1 pages, 5 records, 5 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    #expect(rows.split(separator: "\n").count == 5)
    let (later, left) = try await sync(
      Vote.self, #"[{"user":"A","poll":{"id":1}},{"user":"e\u0301","poll":{"id":1},"weight":2.5}]"#,
      in: fixture)
    expect(later, is: "vote: 1 pages, 2 records, 0 inserted, 0 updated, 2 unchanged, 3 deleted, proven")
    expect(left, is: "A | 1 | 1.0\ne\u{301} | 1 | 2.5")
    #expect(try fixture.store.first(Vote.self, key: "A", 1)?.weight == 1)
  }

  @Test("unchanged rows fire no trigger, and a trigger on the table changes no count")
  func triggers() async throws {
    let stocked = try Stocked()
    try stocked.fixture.execute(
      """
      CREATE TABLE seen (op TEXT);
      CREATE TRIGGER i AFTER INSERT ON item BEGIN INSERT INTO seen VALUES ('insert ' || new.id); END;
      CREATE TRIGGER u AFTER UPDATE ON item BEGIN INSERT INTO seen VALUES ('update ' || new.id); END;
      """)
    try stocked.server.serve([
      Route(
        "/items",
        body:
          #"{"data":[{"id":1,"v":"a"},{"id":2,"v":"B"},{"id":3,"v":"c"},{"id":4,"v":"d"},{"id":5,"v":"e"}]}"#)
    ])
    expect(
      await outcome(of: stocked.engine, Item.self),
      is: "item: 1 pages, 5 records, 1 inserted, 1 updated, 3 unchanged, 0 deleted, proven")
    expect(try stocked.fixture.rows("SELECT op FROM seen ORDER BY 1"), is: "insert 5\nupdate 2")
  }

  struct Required: Entity {
    var id = 0
    var name = ""
    var score: Int?
    static let table = "people"
    static let source = Source(.test, "items", paging: .none)
    static var mapping: Mapping<Required> {
      Key(\.id)
      Field(\.name, .required)
      Field(\.score)
    }
  }

  @Test("a partial record updates a row that is there, and names what a new one lacks")
  func partialRecords() async throws {
    let fixture = try Fixture()
    try fixture.execute(
      "CREATE TABLE people(id BIGINT PRIMARY KEY, name TEXT NOT NULL, score BIGINT CHECK (score < 1000)); INSERT INTO people VALUES (1,'ann',5)"
    )
    expect(try await sync(Required.self, #"[{"id":1,"score":9}]"#, in: fixture).rows, is: "1 | ann | 9")
    let failed = try await sync(Required.self, #"[{"id":1,"score":10},{"id":2,"score":1}]"#, in: fixture)
    expect(
      failed.line,
      is: "people: id 2 is a new row, but the record has no value for \"name\", which is required")
    expect(failed.rows, is: "1 | ann | 9")
    let null = try await sync(Required.self, #"[{"id":1,"name":null}]"#, in: fixture)
    #expect(null.line.contains("(id 1), field \"name\": null"), "\(null.line)")
    let mixed = try await sync(Required.self, #"[{"id":1,"score":11},{"id":3,"name":"cy"}]"#, in: fixture)
    expect(
      mixed.line, is: "people: 1 pages, 2 records, 1 inserted, 1 updated, 0 unchanged, 0 deleted, proven")
    expect(mixed.rows, is: "1 | ann | 11\n3 | cy | ∅")
    let checked = try await sync(Required.self, #"[{"id":3,"name":"cy","score":5000}]"#, in: fixture)
    let message = StoreKind.words(
      sqlite: "id 3: SQLite: CHECK constraint failed", postgresql: "violates check constraint")
    #expect(checked.line.contains(message), "\(checked.line)")
    expect(checked.rows, is: "1 | ann | 11\n3 | cy | ∅")
  }

  struct Quarantined: Entity {
    var id = 0
    var n: Int?
    static let table = "item"
    static let source = Source(
      .test, "items", rows: "data", paging: .none, badRecords: .quarantine(atMost: 2))
    static var mapping: Mapping<Quarantined> {
      Key(\.id)
      Field(\.n)
    }
    static let deletion = Deletion<Quarantined>.missing
  }

  @Test(
    "quarantined records are kept with their reason, are counted, and disarm deletion; too many fail the run")
  func quarantine() async throws {
    let fixture = try Fixture()
    _ = try await sync(
      Quarantined.self, #"{"data":[{"id":1,"n":1},{"id":2,"n":2},{"id":3,"n":3}]}"#, in: fixture)
    let (line, rows) = try await sync(
      Quarantined.self, #"{"data":[{"id":1,"n":10},{"id":2,"n":"x"}, {"n":5}]}"#, in: fixture)
    expect(
      line,
      is:
        "item: 1 pages, 3 records, 0 inserted, 1 updated, 0 unchanged, 0 deleted, 2 rejected, unproven: 2 records were skipped as bad"
    )
    expect(rows, is: "1 | 10\n2 | 2\n3 | 3")
    expect(
      try fixture.rows(
        "SELECT entity, page, position, key, field, path, reason, record FROM syncd_rejects ORDER BY id"),
      is: """
        item | 1 | 2 | id 2 | n | n | "x" is not an integer of 64 bits | {"id":2,"n":"x"}
        item | 1 | 3 | ∅ | id | id | the key is missing | {"n":5}
        """)
    let (failed, left) = try await sync(
      Quarantined.self, #"{"data":[{"id":1,"n":11},{},{},{}]}"#, in: fixture)
    #expect(failed.hasPrefix("item: 3 bad records, more than the 2 that may be quarantined:"), "\(failed)")
    expect(left, is: "1 | 10\n2 | 2\n3 | 3")
  }
}
