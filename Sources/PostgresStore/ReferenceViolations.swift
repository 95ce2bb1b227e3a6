import SyncEngine

/// Rows that refer to rows which are not there.
enum ReferenceViolations {
  /// Nil where all references of the tables, and those to them, hold.
  static func conflict(of schemas: [TableSchema], in connection: Connection) throws -> RowConflict? {
    var named: [String] = []
    var count = 0
    let names = Set(schemas.map { quoted($0.name) }).sorted().map { "to_regclass(\(delimited($0, by: "'")))" }
      .joined(separator: ", ")
    let references = try connection.run(
      """
      SELECT c.conrelid::regclass::text, c.confrelid::regclass::text,
        (SELECT string_agg(quote_ident(a.attname), ',' ORDER BY k.i) FROM unnest(c.conkey) WITH ORDINALITY k (n, i)
          JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.n),
        (SELECT string_agg(quote_ident(a.attname), ',' ORDER BY k.i) FROM unnest(c.confkey) WITH ORDINALITY k (n, i)
          JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.n),
        (SELECT string_agg(quote_literal(a.attname || ' ') || ' || ' || quote_ident(a.attname) || '::text', ' || '', '' || '
            ORDER BY k.i) FROM pg_index x CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY k (n, i)
          JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.n
          WHERE x.indrelid = c.conrelid AND x.indisprimary),
        own.relname, other.relname
      FROM pg_constraint c JOIN pg_class own ON own.oid = c.conrelid JOIN pg_class other ON other.oid = c.confrelid
      WHERE c.contype = 'f' AND (c.conrelid IN (\(names)) OR c.confrelid IN (\(names)))
      ORDER BY c.conrelid::regclass::text, c.conname
      """)
    for row in 0..<references.count {
      func text(_ column: Int) -> String { references.text(row, column) ?? "" }
      // Of names only, quoted where they have to be: a comma in one is inside of quotes.
      let (own, other) = (Self.names(text(2)), Self.names(text(3)))
      let isSet = own.map { "r.\($0) IS NOT NULL" }.joined(separator: " AND ")
      let matches = zip(own, other).map { "r.\($0) = o.\($1)" }.joined(separator: " AND ")
      let condition = "\(isSet) AND NOT EXISTS (SELECT FROM \(text(1)) o WHERE \(matches))"
      let missing = try connection.integer("SELECT count(*) FROM \(text(0)) r WHERE \(condition)") ?? 0
      guard missing > 0 else { continue }
      count += missing
      let key = references.text(row, 4) ?? "''"
      let rows = try connection.run(
        "SELECT \(key) FROM \(text(0)) r WHERE \(condition) ORDER BY 1 LIMIT \(max(0, 10 - named.count))")
      for index in 0..<rows.count {
        let place = rows.text(index, 0).map { $0.isEmpty ? "" : " \($0)" } ?? ""
        named.append("\n  \(text(5))\(place): there is no row of \(text(6)) that it refers to")
      }
    }
    guard count > 0 else { return nil }
    let more = count > named.count ? "\n  and \(count - named.count) more" : ""
    return RowConflict(
      "\(count) \(count == 1 ? "row refers" : "rows refer") to what is not there, nothing was written:\(named.joined())\(more)"
    )
  }

  /// Splits a list of identifiers at commas that are not inside of quotes.
  private static func names(_ list: String) -> [String] {
    var names = [""]
    var isQuoted = false
    for character in list.unicodeScalars {
      if character == "\"" { isQuoted.toggle() }
      if character == ",", !isQuoted {
        names.append("")
      } else {
        names[names.count - 1].unicodeScalars.append(character)
      }
    }
    return names
  }
}
