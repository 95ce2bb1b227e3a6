import Foundation
import PostgresStore
import SyncEngine
import TestSupport
import Testing

/// Tables that someone else made: which columns take which values, and what becomes of values that do not fit.
@Suite("Tables of others in PostgreSQL", .timeLimit(.minutes(15)), .fewAtATime)
struct OthersTableTests {
  /// A key and one value.
  struct One<Value: ColumnValue>: Entity {
    var id = 0
    var x: Value?
    static var table: String { "thing" }
    static var source: Source { Source(.place, "items", paging: .none, resume: .never) }
    static var mapping: Mapping<One> {
      Key(\.id)
      Field(\.x)
    }
  }

  private static let types = [
    "bigint", "integer", "smallint", "numeric", "numeric(5,2)", "real", "double precision", "boolean", "text",
    "varchar", "varchar(200)", "char(20)", "name", "date", "timestamp", "timestamptz", "timestamptz(3)",
    "timestamptz(0)", "timestamptz(6)", "interval", "uuid", "bytea", "json", "jsonb", "xml", "inet", "money",
    "text[]",
    "oid", "mood", "short",
  ]

  /// The types that take the values, and those that are refused.
  private func judge<Value: ColumnValue>(_ type: Value.Type, _ json: String) async throws -> String {
    var taken: [String] = []
    for name in Self.types {
      let schema = try PostgresSchema()
      try await PostgresSession.make(
        schema,
        "CREATE TYPE mood AS ENUM ('a'); CREATE DOMAIN short AS text CHECK (length(VALUE) < 5); CREATE TABLE thing (id bigint PRIMARY KEY, x \(name))"
      )
      let place = try Place(schema.url)
      let line = try await place.run(One<Value>.self, #"[{"id":1,"x":\#(json)},{"id":2,"x":null}]"#)
      if line.contains("2 inserted") {
        taken.append(name)
        let again = try await place.run(One<Value>.self, #"[{"id":1,"x":\#(json)},{"id":2,"x":null}]"#)
        #expect(again.contains("2 unchanged"), "\(type) \(name): \(again)")
        let read = try place.store.all(One<Value>.self)
        #expect(read.count == 2 && read[0].x != nil && read[1].x == nil, "\(type) \(name): \(read)")
      } else {
        #expect(
          line.hasPrefix(
            "thing: the table \"thing\" that is there does not fit the declaration: the column \"x\" is "),
          "\(type) \(name): \(line)")
        #expect(try place.server.requests().isEmpty, "\(type) \(name)")
      }
    }
    return "\(type): " + taken.joined(separator: ", ")
  }

  @Test("each type of a column is taken or refused by its name before any request")
  func types() async throws {
    let texts = "text, varchar, varchar(200)"
    expect(try await judge(Int.self, "12"), is: "Int: bigint, integer, smallint, numeric, \(texts)")
    expect(try await judge(Double.self, "1.5"), is: "Double: double precision, \(texts)")
    expect(try await judge(Bool.self, "true"), is: "Bool: boolean, \(texts)")
    expect(try await judge(String.self, "\"abc\""), is: "String: \(texts)")
    expect(try await judge(Decimal.self, "1.50"), is: "Decimal: numeric, \(texts)")
    expect(
      try await judge(Date.self, "\"2026-02-02T01:01:01.001Z\""),
      is: "Date: \(texts), timestamptz, timestamptz(3), timestamptz(6)")
    expect(try await judge(Day.self, "\"2026-02-28\""), is: "Day: \(texts), date")
    expect(
      try await judge(Duration.self, "0.001"), is: "Duration: bigint, integer, smallint, numeric, \(texts)")
    expect(try await judge(UUID.self, "\"00112233-4455-6677-8899-aabbccddeeff\""), is: "UUID: \(texts), uuid")
    expect(try await judge(Data.self, "\"AAEC\""), is: "Data: \(texts), bytea")
    expect(try await judge([Int].self, "[1,2]"), is: "Array<Int>: \(texts), jsonb")
  }

  @Test(
    "a value that is too large for its column fails the run, and the message names the row and the column",
    arguments: [
      ("smallint", "40000"), ("integer", "3000000000"), ("varchar(3)", "1234"),
    ])
  func tooLarge(_ type: String, _ value: String) async throws {
    let schema = try PostgresSchema()
    try await PostgresSession.make(
      schema, "CREATE TABLE thing (id bigint PRIMARY KEY, x \(type)); INSERT INTO thing VALUES (1, 5), (2, 6)"
    )
    let place = try Place(schema.url)
    let line = try await place.run(One<Int>.self, #"[{"id":1,"x":7},{"id":2,"x":\#(value)},{"id":3,"x":8}]"#)
    #expect(!line.contains("proven"), "\(type): \(line)")
    #expect(line.contains("id 2") && line.contains("\"x\""), "\(type): \(line)")
    expect(try schema.rows("SELECT * FROM thing ORDER BY 1"), is: "1 | 5\n2 | 6")
  }

  @Test("text that is longer than its column is neither cut nor kept, blanks at its end neither")
  func tooLong() async throws {
    let schema = try PostgresSchema()
    try await PostgresSession.make(
      schema, "CREATE TABLE thing (id bigint PRIMARY KEY, x varchar(3)); INSERT INTO thing VALUES (1, 'old')")
    let place = try Place(schema.url)
    for text in ["abcd", "abc ", "é漢😀x"] {
      let line = try await place.run(One<String>.self, #"[{"id":1,"x":"\#(text)"}]"#)
      #expect(line.contains("id 1") && line.contains("\"x\""), "\(text): \(line)")
      expect(try schema.rows("SELECT x FROM thing"), is: "old")
    }
    #expect(try await place.run(One<String>.self, #"[{"id":1,"x":"é漢😀"}]"#).contains("1 updated"))
    expect(try schema.rows("SELECT x FROM thing"), is: "é漢😀")
  }

  struct Noted: Entity {
    var id = 0
    var v: String?
    var note: String?
    var rank = 5
    static let table = "thing"
    static let source = Source(.place, "items", paging: .none, resume: .never)
    static var mapping: Mapping<Noted> {
      Key(\.id)
      Field(\.v)
      Local(\.note)
      Local(\.rank)
    }
    static let deletion = Deletion<Noted>.missing(atMost: 1)
  }

  @Test("local columns and what else a person added survive runs and rebuilds")
  func locals() async throws {
    let schema = try PostgresSchema()
    let place = try Place(schema.url)
    _ = try await place.run(Noted.self, #"[{"id":1,"v":"a"},{"id":2,"v":"b"},{"id":3,"v":"c"}]"#)
    _ = try schema.rows(
      """
      ALTER TABLE thing ADD COLUMN mine text DEFAULT 'd', ADD COLUMN twice bigint GENERATED ALWAYS AS (rank * 2) STORED;
      UPDATE thing SET note = 'n' || id, rank = id * 10, mine = 'm'; GRANT SELECT ON thing TO PUBLIC;
      CREATE INDEX by_note ON thing (note); CREATE VIEW seen AS SELECT id, note FROM thing
      """)
    let line = try await place.run(Noted.self, #"[{"id":1,"v":"z"},{"id":2,"v":"b"},{"id":4,"v":"d"}]"#)
    #expect(line.hasSuffix("1 inserted, 1 updated, 1 unchanged, 1 deleted, proven"), "\(line)")
    let rows = "1 | z | n1 | 10 | m | 20\n2 | b | n2 | 20 | m | 40\n4 | d | ∅ | 5 | d | 10"
    expect(try schema.rows("SELECT id, v, note, rank, mine, twice FROM thing ORDER BY 1"), is: rows)
    struct Wider: Entity {
      var id = 0
      var v = ""
      var more: Int?
      var note: String?
      var rank = 5
      static let table = "thing"
      static let source = Source(.place, "items", paging: .none, resume: .never)
      static var mapping: Mapping<Wider> {
        Key(\.id)
        Field(\.v)
        Field(\.more)
        Local(\.note)
        Local(\.rank)
      }
    }
    _ = try await place.engine.rebuild(Wider.self)
    expect(try schema.rows("SELECT id, v, note, rank, mine, twice FROM thing ORDER BY 1"), is: rows)
    expect(try schema.rows("SELECT * FROM seen ORDER BY 1"), is: "1 | n1\n2 | n2\n4 | ∅")
    expect(
      try schema.rows(
        "SELECT count(*) FROM pg_class WHERE relname = 'by_note' AND relnamespace = current_schema()::regnamespace"
      ), is: "1")
    #expect(try await place.run(Wider.self, #"[{"id":1,"v":"y","more":1}]"#).contains("1 updated"))
    expect(try schema.rows("SELECT note, rank, mine FROM thing WHERE id = 1"), is: "n1 | 10 | m")
  }

  @Test(
    "tables of other kinds",
    arguments: [
      // A partitioned table is one table.
      (
        "CREATE TABLE item (id bigint PRIMARY KEY, v text) PARTITION BY RANGE (id); CREATE TABLE low PARTITION OF item FOR VALUES FROM (MINVALUE) TO (3); CREATE TABLE high PARTITION OF item FOR VALUES FROM (3) TO (MAXVALUE)",
        ""
      ),
      ("CREATE UNLOGGED TABLE item (id bigint PRIMARY KEY, v text)", ""),
      ("CREATE TABLE base (id bigint, v text); CREATE TABLE item (PRIMARY KEY (id)) INHERITS (base)", ""),
      (
        "CREATE TABLE item (v text, gone int, id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY); ALTER TABLE item DROP COLUMN gone",
        ""
      ),
      ("CREATE TABLE item (id bigint NOT NULL, v text, UNIQUE (id) INCLUDE (v))", ""),
      ("CREATE TABLE item (id bigint PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, v text)", ""),
      (
        "CREATE TABLE item (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text)",
        "the column \"id\" is generated by the table itself"
      ),
      (
        "CREATE TABLE item (id bigint NOT NULL, v text); CREATE UNIQUE INDEX i ON item (id) WHERE id > 0",
        "no primary key or unique index covers exactly id"
      ),
      (
        "CREATE TABLE item (id bigint NOT NULL, v text); CREATE UNIQUE INDEX i ON item ((id + 1))",
        "no primary key or unique index covers exactly id"
      ),
      (
        "CREATE MATERIALIZED VIEW item AS SELECT 1::bigint AS id, 'a' AS v",
        "is a materialized view, not a table"
      ),
      ("CREATE SEQUENCE item", "is something else, not a table"),
      ("CREATE TYPE item AS (id bigint, v text)", "is something else, not a table"),
    ])
  func kinds(_ definition: String, _ fault: String) async throws {
    let schema = try PostgresSchema()
    try await PostgresSession.make(schema, definition)
    let place = try Place(schema.url)
    let line = try await place.walk("a")
    guard fault.isEmpty else {
      #expect(line.contains(fault), "\(definition): \(line)")
      return
    }
    #expect(line.hasSuffix("3 inserted, 0 updated, 0 unchanged, 0 deleted, proven"), "\(definition): \(line)")
    let next = try await place.run(#"{"data":[{"id":1,"v":"a"},{"id":3,"v":"c"},{"id":5,"v":"e"}]}"#)
    #expect(next.hasSuffix("1 inserted, 1 updated, 1 unchanged, 1 deleted, proven"), "\(definition): \(next)")
    expect(try schema.rows("SELECT id, v FROM item ORDER BY 1"), is: "1 | a\n3 | c\n5 | e")
    let plan = try await place.engine.plan(Item.self)
    #expect(plan.isEmpty, "\(definition)")
  }

  @Test("a trigger that changes what is written, one that forbids it, and one that writes elsewhere")
  func triggers() async throws {
    let schema = try PostgresSchema()
    let place = try Place(schema.url)
    _ = try await place.walk("old")
    try await PostgresSession.make(
      schema,
      """
      CREATE TABLE heard (what text);
      CREATE FUNCTION hear() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO heard VALUES (lower(TG_OP) || ' ' || coalesce(new.id, old.id)); RETURN NULL; END $$;
      CREATE TRIGGER hear AFTER INSERT OR UPDATE OR DELETE ON item FOR EACH ROW EXECUTE FUNCTION hear();
      CREATE FUNCTION forbid() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF new.v = 'bad' THEN RAISE EXCEPTION 'no % here', new.v; END IF; RETURN new; END $$;
      CREATE TRIGGER forbid BEFORE INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION forbid();
      """)
    let line = try await place.run(#"{"data":[{"id":1,"v":"old"},{"id":2,"v":"new"},{"id":4,"v":"new"}]}"#)
    #expect(line.hasSuffix("1 inserted, 1 updated, 1 unchanged, 1 deleted, proven"), "\(line)")
    expect(try schema.rows("SELECT * FROM heard ORDER BY 1"), is: "delete 3\ninsert 4\nupdate 2")
    let bad = try await place.run(#"{"data":[{"id":1,"v":"x"},{"id":2,"v":"bad"}]}"#)
    expect(bad, is: "item: PostgreSQL: no bad here")
    expect(try schema.rows("SELECT * FROM item ORDER BY 1"), is: "1 | old\n2 | new\n4 | new")
  }
}

extension PostgresSession {
  /// Runs statements of PostgreSQL's own in a schema.
  static func make(_ schema: PostgresSchema, _ sql: String) async throws {
    _ = try PostgresSession(schema.url, speaksSQLite: false).rows(sql)
  }
}
