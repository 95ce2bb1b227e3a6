import PostgresStore
import SyncEngine
import TestSupport
import Testing

/// Databases of other encodings and orders, and text that no database of PostgreSQL holds.
@Suite("Text", .timeLimit(.minutes(15)), .fewAtATime)
struct TextTests {
  struct Note: Entity {
    var key = ""
    var text: String?
    var more: JSONText?
    static let table = "note"
    static let source = Source(.place, "items", paging: .none, resume: .never)
    static var mapping: Mapping<Note> {
      Key(\.key)
      Field(\.text)
      Field(\.more)
    }
    static let deletion = Deletion<Note>.missing(atMost: 1)
  }

  struct Kept: Entity {
    var key = ""
    var text: String?
    static let table = "note"
    static let source = Source(
      .place, "items", paging: .none, badRecords: .quarantine(atMost: 9), resume: .never)
    static var mapping: Mapping<Kept> {
      Key(\.key)
      Field(\.text)
    }
  }

  private static let bad = #"""
    [{"key":"a","text":"x\u0000y"},{"key":"b","more":{"t":"\u0000"}},{"key":"c","more":{"\u0000":1}},
     {"key":"d","more":["\ud800"]},{"key":"e\u0000"},{"key":"f","text":"\\u0000"},{"key":"g","more":"\\u0000"}]
    """#

  @Test("NUL and half surrogates are bad records that name key, field and reason")
  func nul() async throws {
    let schema = try PostgresSchema()
    let place = try Place(schema.url)
    expect(
      try await place.run(Note.self, Self.bad),
      is: #"""
        note: 5 bad records, nothing was written:
          page 1, record 1 (key a), field "text": PostgreSQL keeps no text with a NUL in it
          page 1, record 2 (key b), field "more": PostgreSQL keeps no JSON with \u0000 in a text
          page 1, record 3 (key c), field "more": PostgreSQL keeps no JSON with \u0000 in a text
          page 1, record 4 (key d), field "more": PostgreSQL keeps no JSON with half a surrogate pair in a text
          page 1, record 5 (key e\u{0}), field "key": PostgreSQL keeps no text with a NUL in it
        """#)
    // Those that only look like it are kept.
    let good = #"[{"key":"f","text":"\\u0000"},{"key":"g","more":"\\u0000"}]"#
    #expect(try await place.run(Note.self, good).contains("2 inserted"))
    expect(
      try schema.rows("SELECT * FROM note ORDER BY 1"), is: #"f | \u0000 | ∅"# + "\n" + #"g | ∅ | "\\u0000""#)
    // What is left out as bad is kept, without what cannot be.
    let line = try await place.run(
      Kept.self, #"[{"key":"h","text":"x\u0000y"},{"key":"i\u0000","text":"z"},{"key":"f","text":"w"}]"#)
    #expect(line.contains("2 rejected, unproven: 2 records were skipped as bad"), "\(line)")
    #expect(try schema.rows("SELECT text FROM note WHERE key = 'f'") == "w")
    #expect(try await place.store.rejects(of: ["note"]).count == 2)
  }

  struct Initial: Entity {
    var id = 0
    var text = "a\0b"
    static let table = "initial"
    static let source = Source(.place, "items", paging: .none)
    static var mapping: Mapping<Initial> {
      Key(\.id)
      Field(\.text)
    }
  }

  @Test("an initial value with a NUL is refused by name, and not cut")
  func initialValue() async throws {
    let schema = try PostgresSchema()
    let place = try Place(schema.url)
    let line = try await place.run(Initial.self, #"[{"id":1}]"#)
    expect(
      line,
      is:
        "initial: the table \"initial\" cannot be made: the initial value of \"text\" cannot be kept: PostgreSQL keeps no text with a NUL in it"
    )
    #expect(try place.server.requests().isEmpty)
    expect(try schema.rows("SELECT to_regclass('initial') IS NULL"), is: "1")
  }

  @Test(
    "a database in Latin 1 keeps what it has letters for; other text is a bad record that names key, field and reason"
  )
  func latin1() async throws {
    let database = try PostgresDatabase("TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    let place = try Place(database.url)
    let line = try await place.run(
      Note.self, #"[{"key":"é","text":"ÿ £ ½","more":{"å":"ß"}},{"key":"z","text":"Å"}]"#)
    #expect(line.contains("2 inserted"), "\(line)")
    #expect(
      try await place.run(Note.self, #"[{"key":"é","text":"ÿ £ ½","more":{"å":"ß"}},{"key":"z","text":"Å"}]"#)
        .contains("2 unchanged"))
    expect(
      try await place.run(
        Note.self,
        #"[{"key":"é","text":"漢"},{"key":"€"},{"key":"u","more":{"k":"\u20ac"}},{"key":"w","more":{"😀":1}},{"key":"v","text":"e\u0301"},{"key":"x","text":"plain"}]"#
      ),
      is: #"""
        note: 5 bad records, nothing was written:
          page 1, record 1 (key é), field "text": the database's encoding LATIN1 has no form of this text
          page 1, record 2 (key €), field "key": the database's encoding LATIN1 has no form of this text
          page 1, record 3 (key u), field "more": the database's encoding LATIN1 has no form of this text
          page 1, record 4 (key w), field "more": the database's encoding LATIN1 has no form of this text
          page 1, record 5 (key v), field "text": the database's encoding LATIN1 has no form of this text
        """#)
    expect(
      try database.rows("SELECT key, text, more::text FROM note ORDER BY key"),
      is: "z | Å | ∅\né | ÿ £ ½ | {\"å\": \"ß\"}")
    #expect(try place.store.all(Note.self).map(\.text) == ["Å", "ÿ £ ½"])
  }

  @Test("names that the encoding cannot hold are refused with a message")
  func names() async throws {
    struct Odd: Entity {
      var id = 0
      static let table = "漢字"
      static let source = Source(.place, "items", paging: .none)
      static var mapping: Mapping<Odd> { Key(\.id) }
    }
    let database = try PostgresDatabase("TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    let line = try await Place(database.url).run(Odd.self, #"[{"id":1}]"#)
    #expect(line.hasPrefix("漢字: ") && line.contains("LATIN1"), "\(line)")
  }

  @Test("a database without an encoding keeps the bytes")
  func sqlASCII() async throws {
    let database = try PostgresDatabase("TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
    let place = try Place(database.url)
    let body = #"[{"key":"漢","text":"😀","more":{"é":"ß"}}]"#
    let first = try await place.run(Note.self, body)
    #expect(first.contains("1 inserted"), "\(first)")
    #expect(try place.store.first(Note.self, key: "漢")?.text == "😀")
    let again = try await place.run(Note.self, body)
    #expect(again.contains("1 unchanged"), "\(again)")
  }

  @Test(
    "whatever order the database's language has, keys are told apart and sorted by their bytes",
    arguments: [
      "TEMPLATE template0 LOCALE 'C.UTF-8'",
      "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'de-DE' LOCALE 'C.UTF-8'",
      "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'und-u-ks-level1' LOCALE 'C.UTF-8'",
    ])
  func collations(_ options: String) async throws {
    let database = try PostgresDatabase(options)
    let place = try Place(database.url)
    let keys = ["a", "A", "b", "B", "ä", "a\u{308}", "", " a", "a ", "z", "Z", "ß", "ss", "😀", "１", "1"]
    let body = "[\(keys.map { #"{"key":"\#($0)","text":"\#($0)"}"# }.joined(separator: ","))]"
    #expect(try await place.run(Note.self, body).contains("\(keys.count) inserted"))
    let sorted = keys.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
    #expect(try place.store.all(Note.self).map { Array($0.key.utf8) } == sorted.map { Array($0.utf8) })
    #expect(try place.store.first(Note.self, key: "A")?.text == "A")
    #expect(try await place.run(Note.self, body).contains("\(keys.count) unchanged"))
    // A value that the language takes for the same is another one.
    let upper = body.replacing(#""text":"a""#, with: #""text":"A""#)
    let line = try await place.run(Note.self, upper)
    #expect(line.contains("1 updated, \(keys.count - 1) unchanged"), "\(line)")
    let left = try await place.run(Note.self, #"[{"key":"a"},{"key":"ä"},{"key":"SS"}]"#)
    #expect(
      left.hasSuffix("1 inserted, 0 updated, 2 unchanged, \(keys.count - 2) deleted, proven"), "\(left)")
  }

  @Test("a text column of others that folds case still tells that a value has changed")
  func folding() async throws {
    let schema = try PostgresSchema()
    _ = try schema.rows(
      """
      CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
      CREATE TABLE item (id BIGINT PRIMARY KEY, v TEXT COLLATE folding)
      """)
    let place = try Place(schema.url)
    _ = try await place.run(#"{"data":[{"id":1,"v":"a"},{"id":2,"v":"b"}]}"#)
    let line = try await place.run(#"{"data":[{"id":1,"v":"A"},{"id":2,"v":"b"}]}"#)
    #expect(line.hasSuffix("1 updated, 1 unchanged, 0 deleted, proven"), "\(line)")
    expect(try schema.rows("SELECT * FROM item ORDER BY 1"), is: "1 | A\n2 | b")
  }
}
