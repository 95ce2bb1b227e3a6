import SyncEngine

/// A transaction of SQLite, under way.
final class Transaction: StoreTransaction {
  private let connection: Connection
  private let cancellation: Cancellation
  /// They know the tables as they are when they are made.
  private var writers: [String: TableWriter] = [:]
  private var session: ChangeSession?
  /// What tables had before the transaction, by their names.
  private var contents: [String: TableContent] = [:]

  init(in connection: Connection, _ cancellation: Cancellation) {
    (self.connection, self.cancellation) = (connection, cancellation)
  }

  // MARK: Tables

  func createJournal() throws { try Journal.create(in: connection) }

  func holdsKeptColumns(of schema: TableSchema) throws -> Bool {
    // A column that is going to be added has a value in none of the rows.
    let difference = try TableDifference.known(of: schema, in: connection)
    return difference.exists && difference.missing.allSatisfy { $0.role == .local || $0.role == .asset }
  }

  func create(_ schema: TableSchema) throws {
    writers[schema.name] = try TableWriter(schema, in: connection).createIfAbsent()
  }

  private func writer(_ schema: TableSchema) throws -> TableWriter {
    // One table may be that of several lists, each with columns of its own.
    if let writer = writers[schema.name], writer.schema == schema { return writer }
    let writer = try TableWriter(schema, in: connection)
    writers[schema.name] = writer
    return writer
  }

  func stage(_ rows: TableRows, surveyed: (any TableSurvey)?) throws {
    contents[rows.schema.name] = surveyed as? TableContent
  }
  func noteStrays(of schema: TableSchema) throws { try writer(schema).noteStrays() }
  func deleteOrphans(of schema: TableSchema) throws { try writer(schema).deleteOrphans() }
  func deferReferences() throws { try connection.execute("PRAGMA defer_foreign_keys = ON") }
  func upsert(_ rows: TableRows) throws -> UpsertCounts {
    try writer(rows.schema).upsert(
      rows, besides: contents.removeValue(forKey: rows.schema.name), cancellation)
  }
  func rowCount(of table: String) throws -> Int {
    Int(try connection.integer("SELECT count(*) FROM \(quoted(table))") ?? 0)
  }
  func isSame(_ table: String, as other: String) -> Bool { table.asciiLowercased == other.asciiLowercased }

  // MARK: Rows by their keys

  func demand(_ keys: KeyIndex, in schema: TableSchema) throws {
    try GoneRows.demand(keys, in: schema, connection)
  }

  func demand(_ kept: SeenKeys, in schema: TableSchema, surveyed: (any TableSurvey)?) throws {
    try GoneRows.demand(kept, in: schema, surveyed: surveyed as? TableContent, connection)
  }

  func noteUnseen(
    _ seen: KeyIndex, kept: SeenKeys?, scope: DeletionScope?, in schema: TableSchema,
    surveyed: (any TableSurvey)?
  ) throws -> GoneRows {
    try GoneRows(
      of: schema, seen: seen, kept: kept, scope: scope, surveyed: surveyed as? TableContent, in: connection)
  }

  func note(_ keys: KeyIndex, withoutMark mark: String?, in schema: TableSchema) throws -> GoneRows {
    try GoneRows(named: keys, mark: mark, of: schema, in: connection)
  }

  func keepThoseMissing(_ noted: GoneRows, inRuns runs: Int, of entity: String) throws -> GoneRows {
    var noted = noted
    try noted.keepThoseMissing(inRuns: runs, of: entity, in: connection)
    return noted
  }

  func forgetAbsence(of entity: String, seen: KeyIndex, in schema: TableSchema) throws {
    try GoneRows.forgetAbsence(of: entity, seen: seen, in: schema, connection)
  }

  func discard(_ noted: GoneRows) { noted.discard(in: connection) }

  func cascadesIntoItself(_ schema: TableSchema) throws -> Bool { try writer(schema).cascadesIntoItself() }

  func delete(_ noted: GoneRows) throws -> (deleted: Int, reached: [String: Int]) {
    let watch = RowWatch(in: connection)
    defer { watch.stop(in: connection) }
    return (try noted.delete(in: connection), watch.deleted)
  }

  func mark(_ noted: GoneRows, _ column: String, at time: Int64) throws -> Int {
    try noted.mark(column, at: time, in: connection)
  }

  func unmark(_ column: String, seen: KeyIndex, besides stated: KeyIndex?, in schema: TableSchema) throws {
    try GoneRows.unmark(column, seen: seen, besides: stated, in: schema, connection)
  }

  // MARK: What is kept beside the rows

  func largestScope(before run: RunRecord) throws -> Int {
    try Journal.largestScope(before: run, in: connection)
  }
  func append(_ rejects: [BadRecord], of run: RunRecord) throws {
    try Journal.append(rejects, of: run, in: connection)
  }
  func append(_ run: RunRecord) throws { try Journal.append(run, in: connection) }
  func set(_ state: [String: String], of entity: String) throws {
    try Journal.set(state, of: entity, in: connection)
  }
  func set(_ pages: ProvenPages?, of entity: String) throws {
    try Journal.set(pages, of: entity, in: connection)
  }
  func forgetPages(on table: String, besides entity: String, sparingSlicesOf spared: String?) throws {
    try Journal.forgetPages(on: table, besides: entity, in: connection)
  }

  // MARK: Changes

  func watchChanges(of schemas: [TableSchema]) throws {
    session = try ChangeSession(of: schemas.map(\.name), in: connection)
  }

  func changes() throws -> [RowChange] {
    defer { session = nil }
    return try session?.changes() ?? []
  }
}
