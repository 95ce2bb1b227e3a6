import Foundation
import SQLiteStore
import SyncEngine
import TestSupport
import Testing

/// Tables that someone else made, and names that mean something to SQL.
@Suite("Stored tables", .fewAtATime)
struct StoredTableTests {
  private static let answer = #"{"data":[{"id":1,"v":"A"},{"id":3,"v":"1.10"}]}"#

  @Test(
    "a column of type ANY in a table that is not STRICT turns 1.10 into a number: it is refused",
    .only(.sqlite, "PostgreSQL has no type ANY"))
  func anyColumn() async throws {
    // sqlite.org/datatype3.html: without STRICT, ANY is NUMERIC like every name that no rule knows.
    let scene = try Scene("CREATE TABLE thing (id INTEGER PRIMARY KEY, v ANY)")
    let line = try await scene.run(Thing.self, Self.answer)
    #expect(line.contains("does not fit the declaration"), "\(line)")
    expect(try scene.rows(), is: "")
  }

  @Test(
    "a column of type ANY in a STRICT table keeps what it is given",
    .only(.sqlite, "PostgreSQL has no type ANY"))
  func strictAnyColumn() async throws {
    let scene = try Scene("CREATE TABLE thing (id INTEGER PRIMARY KEY, v ANY) STRICT")
    _ = try await scene.run(Thing.self, Self.answer)
    expect(try scene.rows(), is: "1 | A\n3 | 1.10")
  }

  struct Noted: Entity {
    var id = 0
    var v: String?
    var note = "mine"
    static let table = "thing"
    static let source = Source(.probe, "things", rows: "data", paging: .none)
    static var mapping: Mapping<Noted> {
      Key(\.id)
      Field(\.v)
      Local(\.note)
    }
  }

  @Test("a local column that someone else made without a default still gets the declared one in new rows")
  func localDefault() async throws {
    let scene = try Scene("CREATE TABLE thing (id INTEGER PRIMARY KEY, v TEXT, note TEXT)")
    _ = try await scene.run(Noted.self, Self.answer)
    expect(try scene.rows(), is: "1 | A | mine\n3 | 1.10 | mine")
    _ = try scene.fixture.store.all(Noted.self)
  }

  @Test("a local column without default that takes no null is filled, or refused before any request")
  func localWithoutNull() async throws {
    let scene = try Scene("CREATE TABLE thing (id INTEGER PRIMARY KEY, v TEXT, note TEXT NOT NULL)")
    let line = try await scene.run(Noted.self, Self.answer)
    #expect(line.contains("2 inserted") || line.contains("does not fit the declaration"), "\(line)")
  }

  struct Excluded: Entity {
    var id = 0
    var v: String?
    var w = 5
    static let table = "excluded"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Excluded> {
      Key(\.id)
      Field(\.v)
      Field(\.w)
    }
  }

  @Test("a table named excluded is written like any other (sqlite.org/lang_upsert.html)")
  func excluded() async throws {
    let scene = try Scene()
    let sql = "SELECT * FROM excluded ORDER BY 1"
    _ = try await scene.run(Excluded.self, #"[{"id":1,"v":"a","w":1}]"#)
    let partial = try await scene.run(Excluded.self, #"[{"id":1,"v":"b"}]"#)
    let partialRows = try scene.rows(sql)
    let full = try await scene.run(Excluded.self, #"[{"id":1,"v":"c","w":3}]"#)
    let fullRows = try scene.rows(sql)
    expect(
      partial, is: "excluded: 1 pages, 1 records, 0 inserted, 1 updated, 0 unchanged, 0 deleted, proven")
    expect(partialRows, is: "1 | b | 1")
    expect(full, is: "excluded: 1 pages, 1 records, 0 inserted, 1 updated, 0 unchanged, 0 deleted, proven")
    expect(fullRows, is: "1 | c | 3")
  }

  @Test("text keys that differ in case are two rows, or the table is refused, whatever index there is")
  func caselessIndex() async throws {
    let scene = try Scene(
      StoreKind.words(
        sqlite:
          "CREATE TABLE thing (user TEXT NOT NULL, poll INTEGER NOT NULL, weight REAL); CREATE UNIQUE INDEX k ON thing (user COLLATE NOCASE, poll)",
        postgresql:
          "CREATE TABLE thing (\"user\" TEXT NOT NULL, poll INTEGER NOT NULL, weight REAL); CREATE UNIQUE INDEX k ON thing (lower(\"user\"), poll)"
      )
    )
    let line = try await scene.run(
      RowRuleTests.Vote.self,
      #"[{"by":{"name":"a"},"poll":1,"weight":1},{"by":{"name":"A"},"poll":1,"weight":2}]"#)
    let rows = try scene.rows()
    #expect(line.contains("does not fit the declaration"), "\(line)")
    expect(rows, is: "")
  }

  @Test("a trigger hears of rows that change, and of no other")
  func triggers() async throws {
    let scene = try Scene(
      Scene.stock + """
        CREATE TABLE heard (what TEXT);
        CREATE TRIGGER i AFTER INSERT ON thing BEGIN INSERT INTO heard VALUES ('insert ' || new.id); END;
        CREATE TRIGGER u AFTER UPDATE ON thing BEGIN INSERT INTO heard VALUES ('update ' || new.id); END;
        CREATE TRIGGER d AFTER DELETE ON thing BEGIN INSERT INTO heard VALUES ('delete ' || old.id); END;
        """)
    let line = try await scene.run(
      Thing.self, #"{"data":[{"id":1,"v":"a"},{"id":2},{"id":3,"v":"C"},{"id":5,"v":null}]}"#)
    expect(line, is: "thing: 1 pages, 4 records, 1 inserted, 1 updated, 2 unchanged, 1 deleted, proven")
    expect(
      try scene.rows("SELECT what FROM heard ORDER BY what"), is: "delete 4\ninsert 5\nupdate 3")
  }

  @Test("rows that a trigger inserts into the table itself falsify no count")
  func selfInsertingTrigger() async throws {
    let scene = try Scene(
      "CREATE TABLE thing (id INTEGER PRIMARY KEY, v TEXT, note TEXT); CREATE TRIGGER c AFTER INSERT ON thing WHEN new.id < 100 BEGIN INSERT INTO thing VALUES (new.id + 100, 'copy', NULL); END"
    )
    let line = try await scene.run(Noted.self, list([1, 2]))
    expect(line, is: "thing: 1 pages, 2 records, 2 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
  }

  private static let unique = Scene.stock.replacingOccurrences(of: "v TEXT", with: "v TEXT UNIQUE")

  @Test("a unique value that a row leaves behind may be taken by another one in the same run")
  func reusedUniqueValue() async throws {
    let scene = try Scene(Self.unique)
    let line = try await scene.run(
      Thing.self, #"{"data":[{"id":1,"v":"a"},{"id":2,"v":"b"},{"id":3,"v":"c"},{"id":5,"v":"d"}]}"#)
    expect(line, is: "thing: 1 pages, 4 records, 1 inserted, 0 updated, 3 unchanged, 1 deleted, proven")
    expect(try scene.rows(), is: "1 | a\n2 | b\n3 | c\n5 | d")
  }

  @Test("rows that pass unique values on to each other are written in whatever order they come")
  func movedUniqueValues() async throws {
    let scene = try Scene(Self.unique)
    for (texts, rows) in [
      (["b", "c", "d", "e"], "1 | b\n2 | c\n3 | d\n4 | e"),
      (["a", "b", "c", "d"], "1 | a\n2 | b\n3 | c\n4 | d"),
    ] {
      let records = texts.enumerated().map { #"{"id":\#($0 + 1),"v":"\#($1)"}"# }.joined(separator: ",")
      let line = try await scene.run(Thing.self, #"{"data":[\#(records)]}"#)
      expect(line, is: "thing: 1 pages, 4 records, 0 inserted, 4 updated, 0 unchanged, 0 deleted, proven")
      expect(try scene.rows(), is: rows)
    }
  }

  @Test("two rows that swap a unique value fail with its name, and nothing is written")
  func swappedUniqueValues() async throws {
    let scene = try Scene(Self.unique)
    let line = try await scene.run(
      Thing.self, #"{"data":[{"id":1,"v":"b"},{"id":2,"v":"a"},{"id":3,"v":"c"},{"id":4,"v":"d"}]}"#)
    let constraint = StoreKind.words(
      sqlite: "UNIQUE constraint failed: thing.v", postgresql: "unique constraint \"thing_v_key\"")
    #expect(line.contains(constraint), "\(line)")
    expect(try scene.rows(), is: "1 | a\n2 | b\n3 | c\n4 | d")
  }

  @Test(
    "a store in memory is synced, read and reconciled like a file",
    .only(.sqlite, "PostgreSQL has no store in memory"))
  func inMemory() async throws {
    let scene = try Scene()
    try scene.serve([things(list([1, 2, 3]), times: 1), things(list([1, 2]))])
    let engine = Engine(
      store: try SQLite.open(":memory:"), options: .init(urls: ["probe": scene.server.base + "/"]))
    #expect(await outcome(of: engine, Thing.self).contains("3 inserted"))
    expect(
      await outcome(of: engine, Thing.self),
      is: "thing: 1 pages, 2 records, 0 inserted, 0 updated, 2 unchanged, 1 deleted, proven")
    #expect(try engine.store.all(Thing.self).map(\.id) == [1, 2])
  }
}
