import Foundation
import SyncEngine
import TestSupport
import Testing

/// What a changed declaration does to the tables that are there.
@Suite("Changed declarations", .fewAtATime)
struct RebuildTests {
  static let plain = Source(.probe, "things", paging: .none)

  /// The declaration that the tables are made from.
  struct V1: Entity {
    var id = 0
    var name = "n"
    var count: Int?
    var ratio: Double?
    var mine = "local"
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<V1> {
      Key(\.id)
      Field(\.name)
      Field(\.count)
      Field(\.ratio)
      Local(\.mine)
      Children(Tag1.self, at: "tags")
    }
    static let deletion = Deletion<V1>.missing(atMost: 1)
  }

  struct Tag1: Record {
    var thing = 0
    var tag = ""
    static let table = "tag"
    static var mapping: Mapping<Tag1> {
      Key(\.thing, "@parent.id")
      Key(\.tag, .root)
    }
  }

  private static let records =
    #"[{"id":1,"name":"10","count":5,"ratio":0.5,"tags":["a","b"]},{"id":2,"name":"-7","count":null,"ratio":2,"tags":["c"]}]"#

  private func stocked(_ records: String = records, _ sql: String = "") async throws -> Scene {
    let scene = try Scene()
    _ = try await scene.run(V1.self, records)
    if !sql.isEmpty { try scene.fixture.execute(sql) }
    return scene
  }

  /// What a rebuild says, or its failure.
  private func rebuild(_ scene: Scene, _ entity: any Entity.Type, dropping: Bool = false) async -> String {
    do {
      let done = try await scene.engine.rebuild(entity, droppingColumns: dropping)
      return done.map {
        "\($0.table): \($0.rows) rows: \($0.changes.joined(separator: "; "))"
      }
      .joined(separator: "\n")
    } catch { return "\(error)" }
  }

  private func differences(_ scene: Scene, _ entity: any Entity.Type) async throws -> String {
    try await scene.engine.differences(of: entity)
      .map { "\($0.table): \($0.differences.joined(separator: "; "))" }.joined(separator: "\n")
  }

  // MARK: Types

  struct V2: Entity {
    var id = ""
    var name = 0
    var count: String?
    var ratio: Decimal?
    var mine = "local"
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<V2> {
      Key(\.id)
      Field(\.name)
      Field(\.count)
      Field(\.ratio)
      Local(\.mine)
      Children(Tag2.self, at: "tags")
    }
    static let deletion = Deletion<V2>.missing(atMost: 1)
  }

  struct Tag2: Record {
    var thing = ""
    var tag = ""
    static let table = "tag"
    static var mapping: Mapping<Tag2> {
      Key(\.thing, "@parent.id")
      Key(\.tag, .root)
    }
  }

  /// The type that a column has in the store.
  private func type(_ column: ColumnType) -> String {
    switch column {
    case .integer: StoreKind.words(sqlite: "INTEGER", postgresql: "bigint")
    case .real: StoreKind.words(sqlite: "REAL", postgresql: "double precision")
    case .decimal: StoreKind.words(sqlite: "TEXT", postgresql: "numeric")
    default: StoreKind.words(sqlite: "TEXT", postgresql: "text")
    }
  }

  @Test(
    "other types are refused by a run, shown as differences and done by a rebuild; all that hangs on the table stays"
  )
  func types() async throws {
    // What depends on a column's type keeps PostgreSQL from changing it: views, references and conditions of others.
    let dependents = StoreKind.words(
      sqlite: """
        CREATE TABLE other (ref INTEGER REFERENCES thing (id) ON DELETE CASCADE);
        CREATE VIEW seen AS SELECT id, mine FROM thing;
        CREATE INDEX by_name ON thing (name, count DESC) WHERE count > 1;
        """,
      postgresql: """
        CREATE TABLE other (ref INTEGER);
        CREATE VIEW seen AS SELECT mine FROM thing;
        CREATE INDEX by_name ON thing (name, count DESC) WHERE count IS NOT NULL;
        CREATE TRIGGER follow AFTER DELETE ON thing BEGIN DELETE FROM other WHERE ref = CAST(old.id AS INTEGER); END;
        """)
    let scene = try await stocked(
      Self.records,
      """
      UPDATE thing SET mine = 'm' || id;
      \(dependents)
      INSERT INTO other VALUES (1), (2);
      CREATE UNIQUE INDEX "by ""mine" ON thing (mine);
      CREATE TABLE heard (what TEXT);
      CREATE TRIGGER gone AFTER DELETE ON thing BEGIN INSERT INTO heard VALUES ('gone ' || old.id); END;
      CREATE TRIGGER here AFTER INSERT ON thing BEGIN INSERT INTO heard VALUES ('here ' || new.id); END;
      CREATE TRIGGER elsewhere AFTER INSERT ON other BEGIN UPDATE thing SET mine = 'x' WHERE id = new.ref; END;
      """)
    let (integer, text) = (type(.integer), type(.text))
    let faults =
      #"the column "id" is \#(integer), not \#(text); the column "count" is \#(integer), not \#(text); the column "ratio" is \#(type(.real)), not \#(type(.decimal))"#
    let none = StoreKind.words(sqlite: "'n', not 0", postgresql: "'n'::text, not '0'")
    expect(
      try await scene.run(V2.self, "[]"),
      is:
        "thing: the table \"thing\" that is there does not fit the declaration: \(faults); the command rebuild changes it and keeps its rows"
    )
    expect(
      try await differences(scene, V2.self),
      is:
        "thing: \(faults); the column \"name\" is \(text), not \(integer); the default of the column \"name\" is \(none)\ntag: the column \"thing\" is \(integer), not \(text)"
    )
    let before = try scene.rows("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY 1")
    expect(
      await rebuild(scene, V2.self),
      is:
        "thing: 2 rows: \(faults); the column \"name\" is \(text), not \(integer); the default of the column \"name\" is \(none)\ntag: 3 rows: the column \"thing\" is \(integer), not \(text)"
    )
    expect(
      try scene.rows(
        "SELECT *, typeof(id), typeof(name), typeof(count), typeof(ratio) FROM thing ORDER BY 1"),
      is:
        "1 | 10 | 5 | 0.5 | m1 | text | integer | text | text\n2 | -7 | ∅ | \(StoreKind.words(sqlite: "2.0", postgresql: "2")) | m2 | text | integer | null | text"
    )
    expect(
      try scene.rows("SELECT *, typeof(thing) FROM tag ORDER BY 1, 2"),
      is: "1 | a | text\n1 | b | text\n2 | c | text")
    expect(
      try scene.rows("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY 1"), is: before)
    expect(try scene.rows("SELECT * FROM other ORDER BY 1"), is: "1\n2")
    expect(try scene.rows("SELECT * FROM heard"), is: "")
    expect(try scene.rows("SELECT mine FROM seen ORDER BY 1"), is: "m1\nm2")
    expect(try await differences(scene, V2.self), is: "")
    expect(await rebuild(scene, V2.self), is: "")
    let again = try await scene.run(V2.self, #"[{"id":"1","name":10,"tags":["b"]}]"#)
    expect(again, is: "thing: 1 pages, 1 records, 0 inserted, 0 updated, 1 unchanged, 1 deleted, proven")
    expect(try scene.rows("SELECT * FROM tag"), is: "1 | b")
    expect(try scene.rows("SELECT * FROM heard"), is: "gone 2")
    expect(try scene.rows("SELECT * FROM other"), is: "1")
    #expect(try scene.fixture.store.all(V2.self).map(\.ratio) == [Decimal(string: "0.5")])
  }

  @Test(
    "values that do not fit are named, and nothing changes",
    arguments: [
      (
        #"{"id":1,"name":"x1"}"#,
        #"the column "name" of "thing" cannot become INTEGER: 1 rows hold what is none, among them id 1: 'x1'"#
      ),
      (
        #"{"id":1,"name":"007"}"#,
        #"the column "name" of "thing" cannot become INTEGER: 1 rows hold what is none, among them id 1: '007'"#
      ),
      (
        #"{"id":1,"name":"9223372036854775808"}"#,
        #"the column "name" of "thing" cannot become INTEGER: 1 rows hold what is none, among them id 1: '9223372036854775808'"#
      ),
      (
        #"{"id":1,"name":""}"#,
        #"the column "name" of "thing" cannot become INTEGER: 1 rows hold what is none, among them id 1: ''"#
      ),
      (
        #"{"id":1,"name":"1","ratio":0.30000000000000004}"#,
        #"the column "ratio" of "thing" cannot become TEXT: 1 rows hold what is none, among them id 1: "#
          + StoreKind.words(sqlite: "3.00000000000000044408e-01", postgresql: "'0.30000000000000004'")
      ),
    ])
  func misfits(_ record: String, _ message: String) async throws {
    let scene = try await stocked("[\(record)]")
    let all = "SELECT *, typeof(name) FROM thing; SELECT sql FROM sqlite_schema ORDER BY 1"
    let before = try scene.rows(all)
    let said = message.replacingOccurrences(of: "become INTEGER", with: "become \(type(.integer))")
      .replacingOccurrences(of: "become TEXT", with: "become \(type(.decimal))")
    expect(await rebuild(scene, V2.self), is: "thing: \(said); nothing was changed")
    expect(try scene.rows(all), is: before)
  }

  struct QuotedText: Entity {
    var id = 0
    var n = ""
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<QuotedText> {
      Key(\.id, name: "the 'id")
      Field(\.n)
    }
  }

  struct QuotedNumber: Entity {
    var id = 0
    var n = 0
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<QuotedNumber> {
      Key(\.id, name: "the 'id")
      Field(\.n)
    }
  }

  @Test("a row is named whatever its key's column is called")
  func quotedKey() async throws {
    let scene = try Scene()
    _ = try await scene.run(QuotedText.self, #"[{"the 'id": 1, "n": "x"}]"#)
    expect(
      await rebuild(scene, QuotedNumber.self),
      is:
        #"thing: the column "n" of "thing" cannot become \#(type(.integer)): 1 rows hold what is none, among them the 'id 1: 'x'; nothing was changed"#
    )
  }

  struct Reals: Entity {
    var id = 0
    var count: Double?
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<Reals> {
      Key(\.id)
      Field(\.count)
    }
  }

  @Test("an integer that no double holds does not become one")
  func largeIntegers() async throws {
    let scene = try await stocked(
      #"[{"id":1,"count":9007199254740993},{"id":2,"count":9223372036854775807},{"id":3,"count":-9223372036854775808}]"#
    )
    expect(
      await rebuild(scene, Reals.self),
      is:
        #"thing: the column "count" of "thing" cannot become \#(type(.real)): 2 rows hold what is none, among them id 1: \#(StoreKind.words(sqlite: "9007199254740993", postgresql: "'9007199254740993'")); nothing was changed"#
    )
    try scene.fixture.execute("DELETE FROM thing WHERE id < 3")
    _ = await rebuild(scene, Reals.self)
    expect(
      try scene.rows("SELECT id, count, name, mine FROM thing"), is: "3 | -9.22337203685478e+18 | n | local")
  }

  // MARK: Nullability, keys, removed columns

  struct Strict: Entity {
    var id = 0
    var name = "n"
    var count = 9
    var ratio = 0.0
    var added = Data([39])
    // SQLite's names have no case.
    static let table = StoreKind.words(sqlite: "THING", postgresql: "thing")
    static let source = plain
    static var mapping: Mapping<Strict> {
      Key(\.id)
      Field(\.name)
      Field(\.count)
      Field(\.ratio, .required)
      Field(\.added)
    }
  }

  @Test(
    "a column that takes no null any more: its default takes their place, or the rows are counted; the table's name in other letters"
  )
  func nullability() async throws {
    let scene = try await stocked(#"[{"id":1,"ratio":1},{"id":2}]"#, "UPDATE thing SET mine = 'm'")
    expect(
      await rebuild(scene, Strict.self),
      is:
        #"\#(Strict.table): the column "ratio" of "\#(Strict.table)" takes no null any more, but 1 rows hold one and it has no default; nothing was changed"#
    )
    try scene.fixture.execute("UPDATE thing SET ratio = 7 WHERE id = 2")
    expect(
      await rebuild(scene, Strict.self),
      is:
        #"\#(Strict.table): 2 rows: the column "added" was added; the column "count" takes null, but the declaration does not; "#
        + StoreKind.words(
          sqlite:
            #"the default of the column "count" is none, not 9; the column "ratio" takes null, but the declaration does not"#,
          postgresql:
            #"the column "ratio" takes null, but the declaration does not; the default of the column "count" is none, not 9"#
        )
    )
    expect(
      try scene.rows("SELECT id, name, count, ratio, hex(added), mine FROM thing ORDER BY 1"),
      is: "1 | n | 9 | 1.0 | 27 | m\n2 | n | 9 | 7.0 | 27 | m")
    expect(
      try await differences(scene, Strict.self),
      is: #"\#(Strict.table): the column "mine" is not declared (it stays, unless --drop-columns is given)"#)
    expect(
      await rebuild(scene, Strict.self, dropping: true),
      is: #"\#(Strict.table): 2 rows: the column "mine" was dropped"#)
    expect(
      try scene.rows("SELECT id, name, count, ratio, added FROM thing ORDER BY 1"),
      is: "1 | n | 9 | 1.0 | '\n2 | n | 9 | 7.0 | '")
  }

  struct OtherKey: Entity {
    var name = ""
    var ratio: Double?
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<OtherKey> {
      Key(\.name)
      Field(\.ratio)
    }
  }

  @Test(
    "another key: the rows have to tell it apart; columns that are no longer declared stay, also a required one"
  )
  func otherKey() async throws {
    let scene = try await stocked(#"[{"id":1,"name":"a"},{"id":2,"name":"a"}]"#)
    expect(
      try await scene.run(OtherKey.self, "[]"),
      is:
        #"thing: the table "thing" that is there does not fit the declaration: the table's column "id" needs a value that the declaration does not have; the command rebuild changes it and keeps its rows"#
    )
    let refused = await rebuild(scene, OtherKey.self)
    #expect(
      refused.hasPrefix(#"thing: the rows of "thing" do not fit its new declaration, nothing was changed: "#),
      "\(refused)")
    try scene.fixture.execute("UPDATE thing SET name = 'b' WHERE id = 2; DROP TABLE tag")
    _ = await rebuild(scene, OtherKey.self)
    expect(try scene.rows("SELECT name, id, mine FROM thing ORDER BY 1"), is: "a | 1 | local\nb | 2 | local")
    expect(
      try await scene.run(OtherKey.self, #"[{"name":"b","ratio":1},{"name":"c"}]"#),
      is:
        "thing: 1 pages, 2 records, 1 inserted, 1 updated, 0 unchanged, 0 deleted, unproven: the declaration asks for other records than at the last run"
    )
  }

  @Test("a step that fails in the middle leaves all as it was")
  func failing() async throws {
    // An index goes with its column in PostgreSQL.
    let scene = try await stocked(
      Self.records,
      StoreKind.words(
        sqlite: "CREATE INDEX on_mine ON thing (mine)",
        postgresql: "CREATE VIEW on_mine AS SELECT mine FROM thing"))
    let all = "SELECT * FROM thing ORDER BY 1; SELECT sql FROM sqlite_schema ORDER BY 1"
    let before = try scene.rows(all)
    let said = await rebuild(scene, Strict.self, dropping: true)
    #expect(said.contains("mine"), "\(said)")
    expect(try scene.rows(all), is: before)
    if StoreKind.current == .sqlite { expect(try scene.rows("PRAGMA foreign_key_check"), is: "") }
    expect(
      try await scene.run(V1.self, #"[{"id":1},{"id":2}]"#),
      is: "thing: 1 pages, 2 records, 0 inserted, 0 updated, 2 unchanged, 0 deleted, proven")
  }

  @Test("columns that a person added stay with their defaults, expressions among them")
  func addedByHand() async throws {
    let scene = try await stocked(
      "[]",
      """
      ALTER TABLE thing ADD COLUMN note TEXT DEFAULT (upper('x'));
      ALTER TABLE thing ADD COLUMN "odd ""name" INTEGER NOT NULL DEFAULT -5;
      ALTER TABLE thing ADD COLUMN blob BLOB DEFAULT x'00';
      INSERT INTO thing (id, note) VALUES (1, 'kept');
      """)
    _ = await rebuild(scene, V2.self)
    try scene.fixture.execute("INSERT INTO thing (id) VALUES ('2')")
    #expect(throws: TestFailure.self) {
      try scene.fixture.execute(#"UPDATE thing SET "odd ""name" = NULL"#)
    }
    expect(
      try scene.rows(#"SELECT id, note, "odd ""name", hex(blob) FROM thing ORDER BY 1"#),
      is: "1 | kept | -5 | 00\n2 | X | -5 | 00")
  }

  @Test("a generated column that a person added is not lost unsaid")
  func generated() async throws {
    let scene = try await stocked(
      Self.records,
      StoreKind.words(
        sqlite: "ALTER TABLE thing ADD COLUMN twice INTEGER AS (count * 2) VIRTUAL",
        postgresql: "ALTER TABLE thing ADD COLUMN twice INTEGER GENERATED ALWAYS AS (count * 2) STORED"))
    expect(
      await rebuild(scene, Reals.self),
      is: StoreKind.words(
        sqlite:
          #"thing: the column "twice" of "thing" is generated, and would not be carried over: drop it first, or have columns dropped"#,
        postgresql:
          #"thing: the rows of "thing" do not fit its new declaration, nothing was changed: PostgreSQL: cannot alter type of a column used by a generated column (Column "count" is used by generated column "twice".)"#
      ))
    expect(try scene.rows("SELECT id, twice FROM thing ORDER BY 1"), is: "1 | 10\n2 | ∅")
    _ = await rebuild(scene, Reals.self, dropping: true)
    expect(try scene.rows(), is: "1 | 5.0\n2 | ∅")
  }

  @Test("a table that someone else made is never rebuilt")
  func tablesOfOthers() async throws {
    let scene = try Scene(
      "CREATE TABLE thing (id INTEGER PRIMARY KEY, name INTEGER, count INTEGER, ratio INTEGER, mine INTEGER); INSERT INTO thing VALUES (1, 2, 3, 4, 5)"
    )
    let refusal = #"thing: the table "thing" was not made by this program, which leaves it as it is"#
    expect(await rebuild(scene, V1.self), is: refusal)
    expect(try scene.rows(), is: "1 | 2 | 3 | 4 | 5")
  }

  // MARK: References

  struct Referring: Entity {
    var id = 0
    var name = "n"
    var count: Int?
    var ratio: Double?
    var mine = "local"
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<Referring> {
      Key(\.id)
      Field(\.name)
      Field(\.count, references: Referring.self)
      Field(\.ratio)
      Local(\.mine)
    }
  }

  @Test("a reference that is declared later is a difference, and is held after a rebuild")
  func laterReference() async throws {
    let scene = try await stocked("[]")
    expect(
      try await differences(scene, Referring.self), is: "thing: the reference of count to thing is missing")
    _ = try await scene.run(V1.self, #"[{"id":1,"count":8}]"#)
    let refused = await rebuild(scene, Referring.self)
    #expect(refused.contains("thing id 1: there is no row of thing that it refers to"), "\(refused)")
    _ = try await scene.run(V1.self, #"[{"id":1,"count":1}]"#)
    expect(
      await rebuild(scene, Referring.self), is: "thing: 1 rows: the reference of count to thing is missing")
    expect(await rebuild(scene, Referring.self), is: "")
    #expect(
      try await scene.run(Referring.self, #"[{"id":1,"count":8}]"#).contains("refers to what is not there"))
    expect(
      try await differences(scene, V1.self), is: "thing: the reference of count to thing is not declared")
    expect(
      await rebuild(scene, V1.self), is: "thing: 1 rows: the reference of count to thing is not declared")
    _ = try await scene.run(V1.self, #"[{"id":1,"count":9,"tags":["t"]}]"#)
    expect(try scene.rows("SELECT id, count FROM thing"), is: "1 | 9")
  }
}
