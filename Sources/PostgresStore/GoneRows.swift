import SyncEngine

/// Rows of a table, kept by their keys in a temporary table: what a deletion removes is decided before the first row is
/// written.
struct GoneRows: NotedRows {
  let schema: TableSchema
  private(set) var count: Int
  let rowsInScope: Int
  /// The temporary table.
  private let noted: String
  private let writer: TableWriter

  /// Notes the rows of the table for which a condition holds; the rows themselves are `"target"`.
  ///
  /// - Parameter inScope: which rows are looked at.
  init(
    where condition: String, inScope: String = "true", of writer: TableWriter, as noted: String,
    in connection: Connection
  ) throws {
    (schema, self.writer, self.noted) = (writer.schema, writer, noted)
    let table = "\(quoted(schema.name)) AS \"target\""
    // A unique index takes rows without a key too, which are nobody's.
    let inScope = ([inScope] + schema.keys.map { "\"target\".\(quoted($0.name)) IS NOT NULL" })
      .joined(separator: ") AND (")
    let keys = schema.keys.map { "\"target\".\(quoted($0.name))" }.joined(separator: ", ")
    try connection.execute("DROP TABLE IF EXISTS pg_temp.\(noted)")
    count = try connection.run(
      "CREATE TEMP TABLE \(noted) ON COMMIT DROP AS SELECT \(keys) FROM \(table) WHERE (\(inScope)) AND (\(condition))"
    ).changes
    rowsInScope = try connection.integer("SELECT count(*) FROM \(table) WHERE (\(inScope))") ?? 0
  }

  /// No rows, of so many that were looked at.
  init(noneOf rowsInScope: Int, in writer: TableWriter) {
    (schema, self.writer, self.rowsInScope) = (writer.schema, writer, rowsInScope)
    (noted, count) = ("syncd_none", 0)
  }

  /// The key as JSON, by which rows are known from run to run.
  private var key: String { "json_build_array(\(schema.keyList))::text" }

  /// Counts one more run in which the rows are missing, and leaves those that were in enough of them.
  mutating func keepThoseMissing(inRuns runs: Int, of entity: String, in connection: Connection) throws {
    if count == 0 {
      // There need not be a table of none.
      try connection.run("DELETE FROM syncd_absent WHERE entity = $1", [.text(entity)])
      return
    }
    try connection.run(
      "DELETE FROM syncd_absent WHERE entity = $1 AND key NOT IN (SELECT \(key) FROM \(noted))",
      [.text(entity)])
    try connection.run(
      "INSERT INTO syncd_absent AS a (entity, key, runs) SELECT $1, \(key), 1 FROM \(noted) ON CONFLICT (entity, key) DO UPDATE SET runs = a.runs + 1",
      [.text(entity)])
    try connection.run(
      "DELETE FROM \(noted) WHERE \(key) IN (SELECT key FROM syncd_absent WHERE entity = $1 AND runs < $2::bigint)",
      [.text(entity), .integer(Int64(runs))])
    count = try connection.integer("SELECT count(*) FROM \(noted)") ?? 0
  }

  /// Writes a value into a column of the rows, and returns their number.
  func mark(_ column: String, _ value: String, in connection: Connection) throws -> Int {
    guard count > 0 else { return 0 }
    return try connection.run(
      "UPDATE \(quoted(schema.name)) AS \"target\" SET \(quoted(column)) = \(value) FROM \(noted) n WHERE \(writer.matches("\"target\"", "n"))"
    ).changes
  }

  /// Deletes the rows and returns their number.
  func delete(in connection: Connection) throws -> Int {
    guard count > 0 else { return 0 }
    return try connection.run(
      "DELETE FROM \(quoted(schema.name)) AS \"target\" USING \(noted) n WHERE \(writer.matches("\"target\"", "n"))"
    ).changes
  }

  /// Calls `body` with the keys of the rows, in their order.
  func forEachKey(in connection: Connection, _ body: ([StoredValue]) throws -> Void) throws {
    let keys = schema.keys
    try connection.forEach("SELECT \(schema.keyList) FROM \(noted) ORDER BY \(RowReader.order(schema))") {
      row in
      try body(try keys.enumerated().map { try RowReader.value(row, $0, $1) })
    }
  }

  func discard(in connection: Connection) {
    // It goes with the transaction at the latest; after an error nothing can be dropped any more.
    try? connection.execute("DROP TABLE IF EXISTS pg_temp.\(noted)")
  }
}
