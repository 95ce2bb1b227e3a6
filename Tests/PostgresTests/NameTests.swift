import PostgresStore
import SyncEngine
import TestSupport
import Testing

/// Names that need quoting, and names that are no names.
@Suite("Names", .timeLimit(.minutes(15)), .fewAtATime)
struct NameTests {
  /// An entity whose table and column have the names of the test.
  struct Named: Entity {
    var id = 0
    var v: String?
    var w = 7
    @TaskLocal static var table = "named"
    @TaskLocal static var column = "v"
    static let name = "named"
    static let source = Source(.place, "items", paging: .none, resume: .never)
    static var mapping: Mapping<Named> {
      Key(\.id)
      Field(\.v, .key("v"), name: column)
      Field(\.w, .key("w"), name: column + "w")
      Children(Part.self, at: "parts")
    }
    static let deletion = Deletion<Named>.missing(atMost: 1)
  }

  struct Part: Record {
    var owner = 0
    var part = 0
    static var table: String { Named.table + "p" }
    static var mapping: Mapping<Part> {
      Key(\.owner, "@parent.id", name: Named.column)
      Key(\.part, .root)
    }
  }

  private static let odd = [
    "two words", "a\"b", "it's", "MiXed", "Ünïcode 漢😀", "select", "user", "a.b", "$1", "%s", "a\\b", "--",
    "/*", "*/",
    "a;DROP TABLE x", "new", "old", "target", "excluded", "s", "o", "n", "q", "$syncd_body$", "$$", " ",
    "syncd",
    "xmin2", "1st", "tab\there", "line\nbreak", "null", "true", "current_schema", "\u{202E}rtl", "e\u{301}",
  ]

  /// Runs that insert, change, delete and read with the given names: what went wrong, or `good`.
  private func use(_ table: String, _ column: String) async throws -> String {
    let schema = try PostgresSchema()
    let place = try Place(schema.url)
    return try await Named.$table.withValue(table) {
      try await Named.$column.withValue(column) {
        func records(_ values: [(Int, String)], _ parts: String) -> String {
          "[\(values.map { #"{"id":\#($0.0),"v":"\#($0.1)","parts":\#(parts)}"# }.joined(separator: ","))]"
        }
        let first = try await place.run(Named.self, records([(1, "a"), (2, "b"), (3, "c")], "[1,2]"))
        guard first.hasSuffix("3 inserted, 0 updated, 0 unchanged, 0 deleted, proven") else { return first }
        // A value that is unique takes the way through rows one by one.
        let names = [table, column].map { "\"\($0.replacing("\"", with: "\"\""))\"" }
        try await PostgresSession.make(schema, "ALTER TABLE \(names[0]) ADD UNIQUE (\(names[1]))")
        let second = try await place.run(Named.self, records([(1, "b"), (2, "c"), (4, "d")], "[2]"))
        guard second.hasSuffix("1 inserted, 2 updated, 0 unchanged, 1 deleted, proven") else { return second }
        guard try place.store.all(Named.self).map(\.v) == ["b", "c", "d"] else { return "other rows" }
        guard try place.store.all(Part.self).map(\.owner) == [1, 2, 4] else { return "other parts" }
        guard try place.store.first(Named.self, key: 2)?.w == 7 else { return "no row" }
        let plan = try await place.engine.plan(Named.self)
        guard plan.record.unchanged == 3, plan.changes.isEmpty else { return "a plan: \(plan.changes)" }
        let bad = try await place.run(Named.self, records([(1, "d")], "[]"))
        return bad.hasSuffix("1 updated, 0 unchanged, 2 deleted, proven") ? "good" : bad
      }
    }
  }

  @Test("names of every kind are quoted in every statement", arguments: odd)
  func quoted(_ name: String) async throws {
    #expect(try await use(name, "v") == "good", "as a table")
    #expect(try await use("named", name) == "good", "as a column")
    #expect(try await use(name, name) == "good", "as both")
  }

  @Test("63 bytes are a name, 64 are refused and not cut")
  func long() async throws {
    let name = String(repeating: "n", count: 62)
    #expect(try await use(name, "v") == "good")
    #expect(try await use("named", name) == "good")
    let wide = String(repeating: "漢", count: 20) + "ab"
    #expect(try await use(wide, wide) == "good")
    for name in [String(repeating: "n", count: 64), String(repeating: "漢", count: 21) + "x"] {
      expect(
        try await use(name, "v"),
        is: "named: the table \"\(name)\" cannot be made: the name \"\(name)\" has more than 63 bytes")
      let column = String(name.dropLast())
      expect(
        try await use("named", column),
        is:
          "named: the table \"named\" cannot be made: the name \"\(column)w\" has more than 63 bytes"
      )
    }
  }

  @Test("names of tables and columns keep their case, and two that differ in it are two")
  func letterCase() async throws {
    let schema = try PostgresSchema()
    for table in ["Thing", "thing", "THING"] {
      let place = try Place(schema.url)
      let line = try await Named.$table.withValue(table) {
        try await place.run(Named.self, #"[{"id":1,"v":"\#(table)"}]"#)
      }
      #expect(line.hasSuffix("1 inserted, 0 updated, 0 unchanged, 0 deleted, proven"), "\(table): \(line)")
    }
    expect(
      try schema.rows("SELECT v FROM \"Thing\"; SELECT v FROM thing; SELECT v FROM \"THING\""),
      is: "Thing\nthing\nTHING")
  }

  @Test(
    "the server's own columns cannot be declared, and the message says so",
    arguments: ["ctid", "xmin", "tableoid"])
  func systemColumns(_ name: String) async throws {
    let line = try await use("named", name)
    #expect(line.contains("\"\(name)\"") && line.contains("system column"), "\(line)")
  }

  @Test(
    "columns that are called as the store calls its own",
    arguments: ["syncd_position", "syncd_present_0", "syncd_row"])
  func ownNames(_ name: String) async throws {
    let line = try await use("named", name)
    #expect(line == "good" || line.contains(name), "\(line)")
  }

  @Test("a schema of any name, and one of several on the search path")
  func schemas() async throws {
    let database = try PostgresDatabase()
    let name = "My \"odd\" schema, 漢"
    let quoted = "\"\(name.replacing("\"", with: "\"\""))\""
    try Postgres.rows(database.url, "CREATE SCHEMA \(quoted)", "CREATE SCHEMA second")
    // In a connection's options a blank stands behind a backslash (postgresql.org/docs/15/libpq-connect.html).
    func url(_ path: String) -> String {
      let option = "-csearch_path=\(path.replacing("\\", with: "\\\\").replacing(" ", with: "\\ "))"
      let encoded = option.utf8.map { byte in
        let isPlain =
          (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        return isPlain ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16)
      }
      return database.url + "?options=" + encoded.joined()
    }
    let place = try Place(url("\(quoted), public"))
    #expect(try await place.walk("a").hasSuffix("3 inserted, 0 updated, 0 unchanged, 0 deleted, proven"))
    expect(try Postgres.rows(database.url, "SELECT count(*) FROM \(quoted).item"), is: "3")
    expect(try Postgres.rows(database.url, "SELECT to_regclass('public.item') IS NULL"), is: "1")
    // A schema that comes first and has no table yet gets one of its own? The table that is seen is used.
    let both = try Place(url("second, \(quoted)"))
    let line = try await both.walk("b")
    #expect(line.contains("3 updated") || line.contains("3 inserted"), "\(line)")
    let counts = try Postgres.rows(
      database.url, "SELECT count(*) FROM \(quoted).item WHERE v = 'b'",
      "SELECT to_regclass('second.item') IS NULL")
    #expect(counts == "3\n1" || counts == "0\n0", "\(line): \(counts)")
  }
}
