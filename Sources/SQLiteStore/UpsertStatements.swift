import SyncEngine

/// The SQL of an upsert.
///
/// ```sql
/// INSERT OR ABORT INTO "book" AS "target" ("id", "title") VALUES (?1, ?2)
/// ON CONFLICT ("id") DO UPDATE SET "title" = excluded."title"
/// WHERE ("target"."title") IS NOT (excluded."title")
/// ```
///
/// The alias keeps the table apart from `excluded`, also where that is its own name.
///
/// The condition passes over rows that would not change: no write, no trigger (sqlite.org/lang_upsert.html).
struct UpsertStatements {
  let schema: TableSchema
  /// For records that have every column.
  let full: String
  /// For all rows of a ``RowTable``, which have every column.
  let all: String
  /// For a partial record whose row may be new: a missing column keeps its value, or takes its default. The last
  /// parameters are bit masks of the columns that are there, 62 to a parameter.
  let partial: String
  /// For a partial record without a required column: only a row that exists can take it.
  let update: String
  let exists: String
  let forms: CellForms
  /// The name of the table that ``all`` reads.
  static let rows = "syncd_rows"

  static let bitsPerMask = 62

  init(_ schema: TableSchema, _ difference: TableDifference) {
    self.schema = schema
    let columns = schema.synced
    let count = columns.count
    let names = columns.map { quoted($0.name) }
    let remote = columns.indices.filter { columns[$0].role != .key }
    let compared = remote.filter { columns[$0].marksChange }
    forms = CellForms(columns, asText: difference.asText)

    func isPresent(_ column: Int) -> String {
      "?\(count + 1 + column / Self.bitsPerMask) & \(1 << (column % Self.bitsPerMask))"
    }
    /// What the table holds, compared by bytes.
    func stored(_ column: Int, in prefix: String = "") -> String {
      let name = prefix + names[column]
      return difference.collated.contains(columns[column].name) ? "\(name) COLLATE BINARY" : name
    }
    let table = quoted(schema.name)
    // A table that someone else made does not know the defaults of local columns: new rows are given them.
    let locals = difference.locals
    let localNames = locals.map { ", " + quoted($0.name) }.joined()
    let localValues = locals.map { column in
      ", " + (column.defaultValue.map { TableDefinition.literal($0, column.type) } ?? "NULL")
    }.joined()
    // ABORT, whatever conflict clauses the table itself declares: a row of another key is never replaced.
    let insert = "INSERT OR ABORT INTO \(table) AS \"target\" (\(names.joined(separator: ", "))\(localNames))"
    let conflict = "ON CONFLICT (\(schema.keyList)) DO"

    func statement(values: [String], of rows: String? = nil, new: (Int) -> String) -> String {
      let list = "\(values.joined(separator: ", "))\(localValues)"
      // WHERE keeps ON from being read as that of a join (sqlite.org/lang_upsert.html#parsing_ambiguity).
      let source = rows.map { "SELECT \(list) FROM \($0) WHERE true" } ?? "VALUES (\(list))"
      let head = "\(insert) \(source) \(conflict)"
      if compared.isEmpty { return "\(head) NOTHING" }
      let sets = remote.map { "\(names[$0]) = \(new($0))" }.joined(separator: ", ")
      let before = compared.map { stored($0, in: "\"target\".") }.joined(separator: ", ")
      let after = compared.map(new).joined(separator: ", ")
      return "\(head) UPDATE SET \(sets) WHERE (\(before)) IS NOT (\(after))"
    }

    full = statement(values: columns.indices.map { "?\($0 + 1)" }, new: { "excluded.\(names[$0])" })
    all = statement(
      values: columns.indices.map(RowTable.column), of: Self.rows, new: { "excluded.\(names[$0])" })
    partial = statement(
      values: columns.indices.map { column in
        guard columns[column].role != .key else { return "?\(column + 1)" }
        let value =
          columns[column].defaultValue.map { TableDefinition.literal($0, columns[column].type) } ?? "NULL"
        return "CASE WHEN \(isPresent(column)) THEN ?\(column + 1) ELSE \(value) END"
      },
      new: { "CASE WHEN \(isPresent($0)) THEN excluded.\(names[$0]) ELSE \"target\".\(names[$0]) END" })

    let matches = columns.indices.filter { columns[$0].role == .key }.map { "\(names[$0]) = ?\($0 + 1)" }
      .joined(separator: " AND ")
    func kept(_ column: Int) -> String {
      "CASE WHEN \(isPresent(column)) THEN ?\(column + 1) ELSE \(names[column]) END"
    }
    let sets = remote.map { "\(names[$0]) = \(kept($0))" }.joined(separator: ", ")
    update =
      compared.isEmpty
      ? ""
      : "UPDATE OR ABORT \(table) SET \(sets) WHERE \(matches) AND (\(compared.map { stored($0) }.joined(separator: ", "))) IS NOT (\(compared.map(kept).joined(separator: ", ")))"
    exists = "SELECT 1 FROM \(table) WHERE \(matches)"
  }
}
