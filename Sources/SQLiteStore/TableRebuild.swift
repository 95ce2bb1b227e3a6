import CSQLite
import SyncEngine

/// Makes a table of the engine's own what its declaration asks for now, by the procedure of
/// sqlite.org/lang_altertable.html#otheralter: a new table, the rows carried over, the old one dropped.
struct TableRebuild {
  private let schema: TableSchema
  private let difference: TableDifference
  private let kept: [TableDifference.Actual]
  private let dropped: [TableDifference.Actual]
  private let connection: Connection

  /// Nil where there is nothing to do.
  ///
  /// - Throws: `StoreError` for a table that someone else made.
  init?(of schema: TableSchema, droppingColumns: Bool, in connection: Connection) throws {
    difference = try TableDifference.known(of: schema, in: connection)
    guard difference.exists else { return nil }
    let extra = difference.extra.filter { !$0.isGenerated }
    (kept, dropped) = droppingColumns ? ([], extra) : (extra, [])
    if difference.faults.isEmpty && difference.deviations.isEmpty && difference.missing.isEmpty
      && dropped.isEmpty
    {
      return nil
    }
    guard difference.isMade else {
      throw StoreError("the table \"\(schema.name)\" was not made by this program, which leaves it as it is")
    }
    if !droppingColumns, let column = difference.extra.first(where: \.isGenerated) {
      throw StoreError(
        "the column \"\(column.name)\" of \"\(schema.name)\" is generated, and would not be carried over: drop it first, or have columns dropped"
      )
    }
    (self.schema, self.connection) = (schema, connection)
  }

  /// Rebuilds those of the tables that differ, all of them or none.
  static func run(
    _ schemas: [TableSchema], droppingColumns: Bool, in connection: Connection
  ) throws -> [Rebuild] {
    // Neither can be changed inside a transaction (sqlite.org/pragma.html#pragma_foreign_keys).
    try connection.execute("PRAGMA foreign_keys = OFF")
    try connection.execute("PRAGMA legacy_alter_table = ON")
    defer {
      try? connection.execute("PRAGMA legacy_alter_table = OFF")
      try? connection.execute("PRAGMA foreign_keys = ON")
    }
    return try connection.transaction { connection in
      let done = try schemas.compactMap {
        try TableRebuild(of: $0, droppingColumns: droppingColumns, in: connection)?.run()
      }
      if !done.isEmpty,
        let conflict = try ReferenceViolations(of: schemas, andToThem: true, in: connection).conflict
      {
        throw StoreError("\(conflict)")
      }
      return done
    }
  }

  private func run() throws -> Rebuild {
    let table = quoted(schema.name)
    let fresh = quoted("syncd_new_\(schema.name)")
    let belongings = try self.belongings()
    try refuseMisfits()
    try connection.execute("DROP TABLE IF EXISTS \(fresh)")
    try connection.execute(TableDefinition(schema).sql(named: "syncd_new_\(schema.name)", adding: kept))
    let columns = schema.columns.map { quoted($0.name) } + kept.map { quoted($0.name) }
    let values = schema.columns.map(carried) + kept.map { quoted($0.name) }
    do {
      try connection.execute(
        "INSERT INTO \(fresh) (\(columns.joined(separator: ", "))) SELECT \(values.joined(separator: ", ")) FROM \(table)"
      )
    } catch {
      throw StoreError(
        "the rows of \"\(schema.name)\" do not fit its new declaration, nothing was changed: \(error)")
    }
    try connection.execute("DROP TABLE \(table)")
    try connection.execute("ALTER TABLE \(fresh) RENAME TO \(table)")
    for sql in belongings { try connection.execute(sql) }
    return Rebuild(
      table: schema.name,
      changes: difference.missing.map { "the column \"\($0.name)\" was added" }
        + dropped.map { "the column \"\($0.name)\" was dropped" } + difference.faults + difference.deviations,
      rows: Int(try connection.integer("SELECT count(*) FROM \(table)") ?? 0))
  }

  /// Indexes and triggers, which go with the table, as SQL.
  private func belongings() throws -> [String] {
    let statement = try connection.prepare(
      "SELECT sql FROM sqlite_schema WHERE tbl_name = ?1 COLLATE NOCASE AND type IN ('index', 'trigger') AND sql IS NOT NULL"
    )
    try statement.bind([.text(schema.name)])
    var found: [String] = []
    while try connection.step(statement) { found.append(statement.text(0)) }
    return found
  }

  /// The value of a column in the new table, out of a row of the old one.
  private func carried(_ column: Column) -> String {
    let value = column.defaultValue.map { TableDefinition.literal($0, column.type) }
    guard let there = difference.actual[column.name.asciiLowercased], !there.isGenerated else {
      return value ?? "NULL"
    }
    let type = TableDefinition.type(column.type)
    let old = quoted(there.name)
    let converted = there.type == type || type == "BLOB" ? old : "CAST(\(old) AS \(type))"
    // A column that takes no null any more gets its default.
    guard !column.isNullable, let value else { return converted }
    return "coalesce(\(converted), \(value))"
  }

  /// - Throws: `StoreError` naming a row whose value would not survive its new type.
  private func refuseMisfits() throws {
    let key = keyExpression(schema.keys.compactMap { difference.actual[$0.name.asciiLowercased]?.name })
    for column in schema.columns {
      guard let there = difference.actual[column.name.asciiLowercased] else { continue }
      let (old, type) = (quoted(there.name), TableDefinition.type(column.type))
      if there.type != type {
        // The way there and back has to end where it began, and text has to be written as the engine writes it.
        let survives: String
        switch type {
        case "TEXT":
          // SQLite writes a real with 15 digits, which are not always all.
          survives =
            column.type == .text || column.type == .decimal
            ? "typeof(\(old)) IN ('text', 'integer') OR CAST(CAST(\(old) AS TEXT) AS REAL) = \(old) AND typeof(\(old)) = 'real'"
            : "typeof(\(old)) = 'text'"
        case "INTEGER":
          survives =
            "CAST(CAST(\(old) AS INTEGER) AS TEXT) = CAST(\(old) AS TEXT) OR CAST(\(old) AS INTEGER) = \(old) AND typeof(\(old)) = 'real'"
        case "REAL":
          survives =
            "typeof(\(old)) <> 'text' AND CAST(\(old) AS REAL) = \(old) OR CAST(CAST(\(old) AS REAL) AS TEXT) = \(old)"
        default: survives = "typeof(\(old)) = 'blob'"
        }
        let statement = try connection.prepare(
          "SELECT count(*), min(\(key)), quote(\(old)) FROM \(quoted(schema.name)) WHERE \(old) IS NOT NULL AND NOT (\(survives))"
        )
        if try connection.step(statement), statement.integer(0) > 0 {
          throw StoreError(
            "the column \"\(column.name)\" of \"\(schema.name)\" cannot become \(type): \(statement.integer(0)) rows hold what is none, among them \(statement.text(1)): \(statement.text(2)); nothing was changed"
          )
        }
      }
      if !column.isNullable, column.defaultValue == nil {
        let nulls =
          try connection.integer(
            "SELECT count(*) FROM \(quoted(schema.name)) WHERE \(old) IS NULL") ?? 0
        if nulls > 0 {
          throw StoreError(
            "the column \"\(column.name)\" of \"\(schema.name)\" takes no null any more, but \(nulls) rows hold one and it has no default; nothing was changed"
          )
        }
      }
    }
  }
}
