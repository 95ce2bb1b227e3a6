import SyncEngine

/// The table that an entity's schema asks for.
///
/// ```swift
/// TableDefinition(try TableSchema(Book.self)).sql
/// // CREATE TABLE "book" (
/// //   "id" INTEGER NOT NULL,
/// //   "title" TEXT NOT NULL DEFAULT '',
/// //   PRIMARY KEY ("id")
/// // ) STRICT
/// ```
struct TableDefinition {
  let schema: TableSchema

  init(_ schema: TableSchema) { self.schema = schema }

  var sql: String { sql(named: schema.name, adding: []) }

  /// - Parameter columns: columns of a table that is there, which are taken over without being declared.
  func sql(named name: String, adding kept: [TableDifference.Actual]) -> String {
    let columns =
      schema.columns.map(Self.column)
      + kept.map { "\(quoted($0.name)) \($0.type)" + Self.default(of: $0) }
    let key = Self.names(schema.keys.map(\.name))
    return
      "CREATE TABLE \(quoted(name)) (\n\(columns.map { "  \($0),\n" }.joined())  PRIMARY KEY (\(key))\(references)\n) STRICT"
  }

  /// A column without a default has to take null, since no run gives it a value.
  private static func `default`(of kept: TableDifference.Actual) -> String {
    kept.defaultValue.map { "\(kept.isNotNull ? " NOT NULL" : "") DEFAULT (\($0))" } ?? ""
  }

  /// References are checked at the commit, so that rows may come in any order; what is owned goes with its owner.
  private var references: String {
    schema.references.map { reference in
      ",\n  FOREIGN KEY (\(Self.names(reference.columns))) REFERENCES \(quoted(reference.table)) (\(Self.names(reference.keys)))"
        + (reference.isOwner ? " ON DELETE CASCADE" : "") + " DEFERRABLE INITIALLY DEFERRED"
    }.joined()
  }

  private static func names(_ names: [String]) -> String { names.map(quoted).joined(separator: ", ") }

  /// The definition of one column, as in CREATE TABLE and ADD COLUMN.
  static func column(_ column: Column) -> String {
    var text = "\(quoted(column.name)) \(type(column.type))"
    if !column.isNullable { text += " NOT NULL" }
    if let value = column.defaultValue { text += " DEFAULT \(literal(value, column.type))" }
    return text
  }

  /// One of the types of STRICT tables (sqlite.org/stricttables.html).
  static func type(_ type: ColumnType) -> String {
    switch type {
    case .integer, .boolean, .duration: "INTEGER"
    case .real: "REAL"
    case .blob: "BLOB"
    case .text, .decimal, .timestamp, .day, .uuid, .json: "TEXT"
    }
  }

  static func literal(_ value: StoredValue, _ type: ColumnType) -> String {
    switch (value, type) {
    case (.integer(let value), .timestamp): "'\(Timestamp.text(value))'"
    case (.integer(let value), _): String(value)
    case (.real(let value), _):
      // Infinity has no literal of its own; 9e999 is read as it (sqlite.org/floatingpoint.html).
      value.isFinite ? String(value) : value < 0 ? "-9e999" : "9e999"
    // SQL ends at a NUL.
    case (.text(let text), _) where text.utf8.contains(0):
      "(CAST(x'\(DataEncoding.hex.string(Array(text.utf8)))' AS TEXT))"
    case (.text(let text), _): delimited(text, by: "'")
    case (.blob(let bytes), _): "x'\(DataEncoding.hex.string(bytes))'"
    case (.null, _): "NULL"
    }
  }
}
