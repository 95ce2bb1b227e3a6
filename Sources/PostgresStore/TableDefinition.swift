import SyncEngine

/// The table that an entity's schema asks for.
///
/// ```swift
/// TableDefinition(try TableSchema(Book.self)).sql
/// // CREATE TABLE "book" (
/// //   "id" bigint NOT NULL,
/// //   "title" text NOT NULL DEFAULT '',
/// //   PRIMARY KEY ("id")
/// // )
/// ```
struct TableDefinition {
  let schema: TableSchema

  init(_ schema: TableSchema) { self.schema = schema }

  var sql: String { sql(referring: schema.references) }

  /// - Parameter references: those whose tables are there.
  func sql(referring references: [Reference]) -> String {
    let columns = schema.columns.map { "  \(Self.column($0)),\n" }.joined()
    return
      "CREATE TABLE \(quoted(schema.name)) (\n\(columns)  PRIMARY KEY (\(schema.keyList))\(references.map { ",\n  \(Self.reference($0))" }.joined())\n)"
  }

  /// References are checked at the commit, so that rows may come in any order; what is owned goes with its owner.
  static func reference(_ reference: Reference) -> String {
    "FOREIGN KEY (\(names(reference.columns))) REFERENCES \(quoted(reference.table)) (\(names(reference.keys)))"
      + (reference.isOwner ? " ON DELETE CASCADE" : "") + " DEFERRABLE INITIALLY DEFERRED"
  }

  private static func names(_ names: [String]) -> String { names.map(quoted).joined(separator: ", ") }

  /// The definition of one column, as in CREATE TABLE and ADD COLUMN.
  static func column(_ column: Column) -> String {
    var text = "\(quoted(column.name)) \(type(column.type))"
    // Keys compare and sort by bytes, whatever language the database is in.
    if column.role == .key, type(column.type) == "text" { text += " COLLATE \"C\"" }
    if !column.isNullable { text += " NOT NULL" }
    if let value = column.defaultValue { text += " DEFAULT \(literal(value, column.type))" }
    return text
  }

  /// The type's name as `format_type` writes it.
  static func type(_ type: ColumnType) -> String {
    switch type {
    case .integer, .duration: "bigint"
    case .boolean: "boolean"
    case .real: "double precision"
    case .blob: "bytea"
    case .text: "text"
    case .decimal: "numeric"
    case .timestamp: "timestamp(3) with time zone"
    case .day: "date"
    case .uuid: "uuid"
    case .json: "jsonb"
    }
  }

  /// A value of a column's type; its text form where the column is of text.
  static func literal(_ value: StoredValue, _ type: ColumnType, asText: Bool = false) -> String {
    if asText { return value.columnText(type).map { delimited($0, by: "'") } ?? "NULL" }
    switch (value, type) {
    case (.null, _): return "NULL"
    case (.integer(let value), .timestamp): return "'\(Timestamp.text(value))'::timestamptz"
    case (.integer(let value), .boolean): return value == 0 ? "false" : "true"
    // The smallest one is no literal of its own: the sign is an operator.
    case (.integer(let value), _): return value < 0 ? "'\(value)'::bigint" : String(value)
    case (.real(let value), _):
      return
        "'\(value.isNaN ? "NaN" : value.isFinite ? "\(value)" : value < 0 ? "-Infinity" : "Infinity")'::float8"
    case (.blob(let bytes), _): return "'\\x\(DataEncoding.hex.string(bytes))'::bytea"
    case (.text(let text), .text): return delimited(text, by: "'")
    case (.text(let text), _): return "\(delimited(text, by: "'"))::\(self.type(type))"
    }
  }
}

extension StoredValue {
  /// The value as a column of text holds it, the same in every store; nil for null.
  func columnText(_ type: ColumnType) -> String? {
    switch (self, type) {
    case (.null, _): nil
    case (.integer(let value), .timestamp): Timestamp.text(value)
    case (.integer(let value), _): String(value)
    case (.real(let value), _): String(value)
    case (.text(let value), _): value
    case (.blob(let bytes), _): DataEncoding.base64.string(bytes)
    }
  }
}
