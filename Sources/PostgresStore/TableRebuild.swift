import SyncEngine

/// Makes a table of the engine's own what its declaration asks for now, by ALTER TABLE in one transaction.
struct TableRebuild {
  private let schema: TableSchema
  private let difference: TableDifference
  private let dropped: [TableDifference.Actual]
  private let connection: Connection

  /// Nil where there is nothing to do.
  ///
  /// - Throws: `StoreError` for a table that someone else made.
  private init?(of schema: TableSchema, droppingColumns: Bool, in connection: Connection) throws {
    difference = try TableDifference(of: schema, in: connection)
    guard difference.exists else { return nil }
    dropped = droppingColumns ? difference.extra : []
    if difference.faults.isEmpty && difference.deviations.isEmpty && difference.missing.isEmpty
      && dropped.isEmpty
    {
      return nil
    }
    guard difference.isMade else {
      throw StoreError("the table \"\(schema.name)\" was not made by this program, which leaves it as it is")
    }
    (self.schema, self.connection) = (schema, connection)
  }

  /// Rebuilds those of the tables that differ, all of them or none.
  static func run(
    _ schemas: [TableSchema], droppingColumns: Bool, in connection: Connection
  ) throws -> [Rebuild] {
    try connection.transaction {
      let rebuilds = try schemas.compactMap {
        try TableRebuild(of: $0, droppingColumns: droppingColumns, in: connection)
      }
      // A column that others refer to takes no other type before they do.
      for rebuild in rebuilds { try rebuild.dropReferences() }
      let done = try rebuilds.map { try $0.run() }
      for rebuild in rebuilds { try rebuild.addReferences() }
      if !done.isEmpty, let conflict = try ReferenceViolations.conflict(of: schemas, in: connection) {
        throw StoreError("\(conflict)")
      }
      for rebuild in rebuilds { try rebuild.validateReferences() }
      return done
    }
  }

  private func dropReferences() throws {
    for (name, _) in try TableDifference.references(of: schema, in: connection) {
      try alter("DROP CONSTRAINT \(quoted(name))")
    }
  }

  /// Adds the references without looking at the rows: which of them violate one is told with their keys.
  private func addReferences() throws {
    for reference in schema.references
    where try connection.text("SELECT to_regclass($1)", .text(quoted(reference.table))) != nil {
      try alter("ADD \(TableDefinition.reference(reference)) NOT VALID")
    }
  }

  private func validateReferences() throws {
    for (name, _) in try TableDifference.references(of: schema, in: connection) {
      try alter("VALIDATE CONSTRAINT \(quoted(name))")
    }
  }

  private var table: String { quoted(schema.name) }

  private func run() throws -> Rebuild {
    let keys = try primaryKey()
    let isOtherKey = keys.columns != Set(schema.keys.map(\.name))
    if isOtherKey, let name = keys.name { try alter("DROP CONSTRAINT \(quoted(name))") }
    // First what goes: generated columns would hold on to the types of others.
    for column in difference.extra {
      if dropped.contains(where: { $0.name == column.name }) {
        try alter("DROP COLUMN \(quoted(column.name))")
      } else if column.isNotNull && column.defaultValue == nil && !column.isGenerated {
        // No run gives it a value.
        try alter("ALTER COLUMN \(quoted(column.name)) DROP NOT NULL")
      }
    }
    for column in schema.columns {
      if let there = difference.actual[column.name] { try change(there, to: column) } else { try add(column) }
    }
    if isOtherKey { try alter("ADD PRIMARY KEY (\(schema.keyList))") }
    let changes =
      difference.missing.map { "the column \"\($0.name)\" was added" }
      + dropped.map { "the column \"\($0.name)\" was dropped" } + difference.faults + difference.deviations
    return Rebuild(
      table: schema.name, changes: changes,
      rows: try connection.integer("SELECT count(*) FROM \(table)") ?? 0)
  }

  private func alter(_ action: String) throws {
    do { try connection.execute("ALTER TABLE \(table) \(action)") } catch let error as PostgresError {
      throw StoreError(
        "the rows of \"\(schema.name)\" do not fit its new declaration, nothing was changed: \(error)")
    }
  }

  private func primaryKey() throws -> (name: String?, columns: Set<String>) {
    let rows = try connection.run(
      """
      SELECT c.conname, a.attname FROM pg_constraint c CROSS JOIN LATERAL unnest(c.conkey) k (attnum)
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum
      WHERE c.contype = 'p' AND c.conrelid = to_regclass($1)
      """, [.text(table)])
    return (
      rows.count > 0 ? rows.text(0, 0) : nil, Set((0..<rows.count).compactMap { rows.text($0, 1) })
    )
  }

  private func add(_ column: Column) throws {
    if !column.isNullable, column.defaultValue == nil {
      let rows = try connection.integer("SELECT count(*) FROM \(table)") ?? 0
      if rows > 0 {
        throw StoreError(
          "the column \"\(column.name)\" of \"\(schema.name)\" is new and required, but has no default for the \(rows) rows that are there; nothing was changed"
        )
      }
    }
    try alter("ADD COLUMN \(TableDefinition.column(column))")
  }

  /// The column's values as the new type, as SQL, if all of them can be had back from it.
  private func demandConversion(
    of there: TableDifference.Actual, to column: Column, _ type: String
  ) throws -> String {
    let (conversion, value) = (Conversion(there.type, column.type), quoted(there.name))
    let converted = conversion.expression(value)
    do {
      // Null for what is no value of the new type, which would end the statement otherwise.
      let body =
        "BEGIN RETURN \(conversion.back(conversion.expression("$1"))); EXCEPTION WHEN data_exception THEN RETURN NULL; END"
      try connection.execute(
        "CREATE OR REPLACE FUNCTION pg_temp.syncd_back(\(there.type)) RETURNS \(there.type) LANGUAGE plpgsql AS \(delimited(body, by: "'"))"
      )
      let key = keyExpression(schema.keys.compactMap { difference.actual[$0.name]?.name })
      let lost = try connection.run(
        "SELECT \(key), quote_literal(\(value)), count(*) OVER () FROM \(table) WHERE \(value) IS NOT NULL AND pg_temp.syncd_back(\(value)) IS DISTINCT FROM \(value) ORDER BY 1 LIMIT 1"
      )
      guard lost.count > 0 else { return converted }
      throw StoreError(
        "the column \"\(column.name)\" of \"\(schema.name)\" cannot become \(type): \(lost.integer(0, 2)) rows hold what is none, among them \(lost.text(0, 0) ?? ""): \(lost.text(0, 1) ?? ""); nothing was changed"
      )
    } catch let error as PostgresError {
      throw StoreError(
        "the column \"\(column.name)\" of \"\(schema.name)\" cannot become \(type): \(error); nothing was changed"
      )
    }
  }

  private func change(_ there: TableDifference.Actual, to column: Column) throws {
    let (name, type) = (quoted(column.name), TableDefinition.type(column.type))
    if there.isGenerated {
      throw StoreError(
        "the column \"\(column.name)\" of \"\(schema.name)\" is generated by the table itself; nothing was changed"
      )
    }
    // A default need not fit the new type.
    if there.defaultValue != nil { try alter("ALTER COLUMN \(name) DROP DEFAULT") }
    if there.type != type {
      let converted = try demandConversion(of: there, to: column, type)
      let collation = column.role == .key && type == "text" ? " COLLATE \"C\"" : ""
      try alter("ALTER COLUMN \(name) TYPE \(type)\(collation) USING \(converted)")
    }
    let value = column.defaultValue.map { TableDefinition.literal($0, column.type) }
    if !column.isNullable {
      // A column that takes no null any more gets its default.
      if let value { try connection.execute("UPDATE \(table) SET \(name) = \(value) WHERE \(name) IS NULL") }
      let nulls = try connection.integer("SELECT count(*) FROM \(table) WHERE \(name) IS NULL") ?? 0
      if nulls > 0 {
        throw StoreError(
          "the column \"\(column.name)\" of \"\(schema.name)\" takes no null any more, but \(nulls) rows hold one and it has no default; nothing was changed"
        )
      }
      try alter("ALTER COLUMN \(name) SET NOT NULL")
    } else if there.isNotNull, column.role != .key {
      try alter("ALTER COLUMN \(name) DROP NOT NULL")
    }
    if let value { try alter("ALTER COLUMN \(name) SET DEFAULT \(value)") }
  }
}

/// How values of a column become values of another type, and back.
struct Conversion {
  private let old: String
  private let new: ColumnType

  init(_ old: String, _ new: ColumnType) { (self.old, self.new) = (old, new) }

  private static let instant = "YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\""

  func expression(_ value: String) -> String {
    let type = TableDefinition.type(new)
    switch (old, type) {
    case ("timestamp(3) with time zone", "text"):
      return "to_char(\(value) AT TIME ZONE 'UTC', '\(Self.instant)')"
    case ("text", "bytea"): return "decode(\(value), 'base64')"
    case ("bytea", "text"): return "replace(encode(\(value), 'base64'), E'\\n', '')"
    case ("boolean", "bigint"): return "\(value)::int::bigint"
    case ("boolean", "text"): return "\(value)::int::text"
    case ("bigint", "boolean"): return "\(value)::int::boolean"
    default: return "\(value)::\(type)"
    }
  }

  func back(_ value: String) -> String {
    switch (TableDefinition.type(new), old) {
    case ("text", "timestamp(3) with time zone"): return "(\(value))::timestamptz(3)"
    case ("text", "bytea"): return "decode(\(value), 'base64')"
    case ("bytea", "text"): return "replace(encode(\(value), 'base64'), E'\\n', '')"
    case ("bigint", "boolean"), ("text", "boolean"): return "(\(value))::int::boolean"
    case ("boolean", "bigint"): return "(\(value))::int::bigint"
    case ("timestamp(3) with time zone", "text"):
      return "to_char((\(value)) AT TIME ZONE 'UTC', '\(Self.instant)')"
    default: return "(\(value))::\(old)"
    }
  }
}
