/// Statements of SQLite in the words of PostgreSQL, so that most tests have one text for both stores.
///
/// Only words in capitals outside quotes are changed, as the tests write SQL's own words. What is not said here has to be
/// said in a way that both understand; functions are in `Tests/Support/sqlite_words.sql`.
public enum Dialect {
  public static func postgres(_ sql: String) -> String {
    let sql = sql.replacing(trigger) { match in
      let (_, name, moment, table, condition, statements) = match.output
      let body = statements.replacing(/SELECT raise\(ABORT, ('[^']*')\)/) { "RAISE EXCEPTION \($0.output.1)" }
      // The row that a trigger before the statement gives back is the one that is written.
      let row = moment.hasPrefix("AFTER") ? "NULL" : moment.hasSuffix("DELETE") ? "old" : "new"
      return """
        CREATE FUNCTION \(name)() RETURNS trigger LANGUAGE plpgsql AS $body$ BEGIN \(body) RETURN \(row); END $body$;
        CREATE TRIGGER \(name) \(moment) ON \(table) FOR EACH ROW\(condition.map { " WHEN (\($0))" } ?? "") \
        EXECUTE FUNCTION \(name)();
        """
    }
    var out = ""
    var rest = sql[...]
    while let start = rest.firstIndex(where: { $0 == "'" || $0 == "\"" }) {
      var end = rest.index(after: start)
      while end < rest.endIndex, rest[end] != rest[start] { end = rest.index(after: end) }
      let plain = rest[..<start]
      // x'00' is a literal of bytes.
      if plain.hasSuffix("x") && !plain.dropLast().hasSuffix("e") {
        out += changed(plain.dropLast()) + "'\\x\(rest[rest.index(after: start)..<end])'::bytea"
      } else {
        out += changed(plain) + rest[start...end]
      }
      rest = rest[rest.index(after: end)...]
    }
    return out + changed(rest)
  }

  nonisolated(unsafe) private static let trigger =
    /CREATE TRIGGER (\w+|"[^"]+") ((?:AFTER|BEFORE) \w+) ON (\w+|"[^"]+")(?: WHEN (.+?))? BEGIN\s+(.+?;)\s+END;?/
    .dotMatchesNewlines()

  private static let words = [
    "INTEGER": "BIGINT", "INT": "BIGINT", "REAL": "DOUBLE PRECISION", "BLOB": "BYTEA", "CLOB": "TEXT",
    "STRICT": "", "rowid": "ctid",
  ]

  private static func changed(_ text: Substring) -> String {
    String(text).replacing(" WITHOUT ROWID", with: "").replacing(/\b[A-Za-z_]+\b/) {
      words[String($0.output)] ?? String($0.output)
    }
  }
}
