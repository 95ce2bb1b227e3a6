import SyncEngine

/// A transaction of PostgreSQL, under way.
final class Transaction: StoreTransaction {
  private let connection: Connection
  private let cancellation: Cancellation
  /// They know the tables as they are when they are made.
  private var writers: [String: TableWriter] = [:]
  /// Rows that were copied and wait for the merge, by the name of the table they are for.
  private var staged: [String: TableWriter.Staged] = [:]
  private var snapshot: ChangeSnapshot?
  private var created: [TableSchema] = []
  private var temporaries = 0

  init(in connection: Connection, _ cancellation: Cancellation) {
    (self.connection, self.cancellation) = (connection, cancellation)
  }

  private func temporary(_ what: String) -> String {
    temporaries += 1
    return "syncd_\(what)_\(temporaries)"
  }

  // MARK: Tables

  func createJournal() throws {
    // What is hashed or sorted of a run should not go through a file.
    try connection.execute("SET LOCAL work_mem = '64MB'")
    try Journal.create(in: connection)
  }

  func holdsKeptColumns(of schema: TableSchema) throws -> Bool {
    // A column that is going to be added has a value in none of the rows.
    let difference = try TableDifference(of: schema, in: connection)
    return difference.exists && difference.missing.allSatisfy { $0.role == .local || $0.role == .asset }
  }

  func create(_ schema: TableSchema) throws {
    try TableWriter(schema, in: connection).createIfAbsent()
    created.append(schema)
    // Tables may refer to one that is made after them.
    for earlier in created where earlier.references.contains(where: { $0.table == schema.name }) {
      try TableWriter(earlier, in: connection).addPendingReferences()
    }
    writers = [:]
  }

  private func writer(_ schema: TableSchema) throws -> TableWriter {
    // One table may be that of several lists, each with columns of its own.
    if let writer = writers[schema.name], writer.schema == schema { return writer }
    let writer = try TableWriter(schema, in: connection)
    writers[schema.name] = writer
    return writer
  }

  func stage(_ rows: TableRows, surveyed: (any TableSurvey)?) throws {
    if let earlier = staged[rows.schema.name] {
      try connection.execute("DROP TABLE IF EXISTS pg_temp.\(earlier.name)")
    }
    let writer = try writer(rows.schema)
    var digests = surveyed as? TableDigests
    // What a trigger or a cascade of this transaction does to rows that are passed over would not be seen.
    if digests != nil, try writer.mayChangeByItself() { digests = nil }
    staged[rows.schema.name] = try writer.stage(rows, as: temporary("new"), besides: digests)
  }

  func noteStrays(of schema: TableSchema) throws { try writer(schema).noteStrays() }
  func deleteOrphans(of schema: TableSchema) throws { try writer(schema).deleteOrphans() }
  func deferReferences() throws { try connection.execute("SET CONSTRAINTS ALL DEFERRED") }

  func upsert(_ rows: TableRows) throws -> UpsertCounts {
    guard let staged = staged.removeValue(forKey: rows.schema.name) else { return UpsertCounts() }
    defer { try? connection.execute("DROP TABLE IF EXISTS pg_temp.\(staged.name)") }
    return try writer(rows.schema).upsert(staged)
  }

  /// - Parameter table: as ``delete(_:)`` names it.
  func rowCount(of table: String) throws -> Int {
    try connection.integer("SELECT count(*) FROM \(table)") ?? 0
  }

  func isSame(_ table: String, as other: String) -> Bool {
    table == other || quoted(table) == other || table == quoted(other)
  }

  // MARK: Rows by their keys

  /// A temporary table with these keys: that of the staged rows where they are the same ones.
  private func table(of keys: KeyIndex, in schema: TableSchema) throws -> String {
    // Each staged row has its key among those that were seen; as many are all of them.
    if let staged = staged[schema.name], staged.count == keys.count { return staged.name }
    let name = temporary("seen")
    try writer(schema).copy(keys, of: schema.keys, as: name)
    return name
  }

  private func exists(in keys: String, _ writer: TableWriter) -> String {
    "EXISTS (SELECT FROM \(keys) s WHERE \(writer.matches("s", "\"target\"")))"
  }

  func demand(_ keys: KeyIndex, in schema: TableSchema) throws {
    let (writer, name) = (try writer(schema), temporary("kept"))
    try writer.copy(keys, of: schema.keys, as: name)
    let target = "\(quoted(schema.name)) AS \"target\""
    let there =
      try connection.integer("SELECT count(*) FROM \(target) WHERE \(exists(in: name, writer))") ?? 0
    if there < keys.count { throw KeptRowsMissing() }
  }

  func demand(_ kept: SeenKeys, in schema: TableSchema, surveyed: (any TableSurvey)?) throws {
    let (writer, name) = (try writer(schema), temporary("kept"))
    try writer.copy(kept.index, of: schema.keys, as: name)
    try demand(kept, in: name, writer)
  }

  private func demand(_ kept: SeenKeys, in name: String, _ writer: TableWriter) throws {
    let target = "\(quoted(writer.schema.name)) AS \"target\""
    let all = "SELECT s.syncd_position FROM \(name) s JOIN \(target) ON \(writer.matches("s", "\"target\""))"
    // Where every key has a row, those that were kept have one too.
    if try connection.integer("SELECT count(*) FROM (\(all)) q") == kept.index.count { return }
    var present: Set<Int> = []
    try connection.forEach(all) { row in
      if case .integer(let position)? = BinaryValue(row, 0)?.stored { present.insert(Int(position)) }
    }
    let pages = kept.keptPages(lackingAllBut: present)
    if !pages.isEmpty { throw KeptRowsMissing(pages: pages) }
  }

  func noteUnseen(
    _ seen: KeyIndex, kept: SeenKeys?, scope: DeletionScope?, in schema: TableSchema,
    surveyed: (any TableSurvey)?
  ) throws -> GoneRows {
    let writer = try writer(schema)
    if scope == nil, let rows = try rowsWithoutUnseen(seen, in: schema, writer) {
      return GoneRows(noneOf: rows, in: writer)
    }
    let keys: String
    if let kept, kept.keptRows > 0 {
      keys = temporary("kept")
      try writer.copy(kept.index, of: schema.keys, as: keys)
      try demand(kept, in: keys, writer)
    } else {
      keys = try table(of: seen, in: schema)
    }
    return try GoneRows(
      where: "NOT \(exists(in: keys, writer))", inScope: try condition(scope, writer), of: writer,
      as: temporary("gone"), in: connection)
  }

  /// How many rows the table has, where none of them can be unseen: it has no more than those that were passed over as
  /// unchanged and those that are going to be updated. Where someone else deletes and inserts meanwhile, a row may stay
  /// until the next run, and none goes.
  private func rowsWithoutUnseen(
    _ seen: KeyIndex, in schema: TableSchema, _ writer: TableWriter
  ) throws -> Int? {
    guard let staged = staged[schema.name], staged.unchanged > 0,
      staged.unchanged + staged.count == seen.count
    else { return nil }
    let rows = try connection.integer("SELECT count(*) FROM \(quoted(schema.name))") ?? 0
    let updated =
      try connection.integer(
        "SELECT count(*) FROM \(staged.name) s WHERE EXISTS (SELECT FROM \(quoted(schema.name)) AS \"target\" WHERE \(writer.matches("s", "\"target\"")))"
      ) ?? 0
    return rows <= staged.unchanged + updated ? rows : nil
  }

  /// Which rows a deletion judges, as SQL.
  func condition(_ scope: DeletionScope?, _ schema: TableSchema) throws -> String {
    try condition(scope, writer(schema))
  }

  private func condition(_ scope: DeletionScope?, _ writer: TableWriter) throws -> String {
    guard let scope else { return "true" }
    let columns = writer.schema.columns
    func column(_ name: String) -> Column? { columns.first { $0.name == name } }
    var parts = scope.conditions.map { condition in
      switch condition {
      case .equal(let name, let value):
        "\"target\".\(quoted(name)) = \(writer.literal(value, column(name)))"
      case .isNull(let name): "\"target\".\(quoted(name)) IS NULL"
      case .sql(let text): "(\(text))"
      }
    }
    if !scope.columns.isEmpty {
      let name = temporary("scope")
      let owners = scope.columns.compactMap(column)
      try writer.copy(scope.keys, of: owners, as: name)
      parts.append(
        "EXISTS (SELECT FROM \(name) p WHERE \(writer.matches("p", "\"target\"", owners)))")
    }
    return parts.isEmpty ? "true" : parts.joined(separator: " AND ")
  }

  func note(_ keys: KeyIndex, withoutMark mark: String?, in schema: TableSchema) throws -> GoneRows {
    let (writer, name) = (try writer(schema), temporary("stated"))
    try writer.copy(keys, of: schema.keys, as: name)
    let unmarked = mark.map { " AND \"target\".\(quoted($0)) IS NULL" } ?? ""
    return try GoneRows(
      where: exists(in: name, writer) + unmarked, of: writer, as: temporary("gone"), in: connection)
  }

  func keepThoseMissing(_ noted: GoneRows, inRuns runs: Int, of entity: String) throws -> GoneRows {
    var noted = noted
    try noted.keepThoseMissing(inRuns: runs, of: entity, in: connection)
    return noted
  }

  func forgetAbsence(of entity: String, seen: KeyIndex, in schema: TableSchema) throws {
    guard try connection.text("SELECT 1 FROM syncd_absent WHERE entity = $1 LIMIT 1", .text(entity)) != nil
    else {
      return
    }
    let writer = try writer(schema)
    let keys = try table(of: seen, in: schema)
    let key = schema.keys.map { "\"target\".\(quoted($0.name))" }.joined(separator: ", ")
    try connection.run(
      "DELETE FROM syncd_absent WHERE entity = $1 AND key IN (SELECT json_build_array(\(key))::text FROM \(quoted(schema.name)) AS \"target\" WHERE \(exists(in: keys, writer)))",
      [.text(entity)])
  }

  func discard(_ noted: GoneRows) { noted.discard(in: connection) }

  func cascadesIntoItself(_ schema: TableSchema) throws -> Bool { try writer(schema).cascadesIntoItself() }

  func delete(_ noted: GoneRows) throws -> (deleted: Int, reached: [String: Int]) {
    // What goes with the rows is counted by the server's own statistics.
    guard try connection.text("SHOW track_counts") == "on" || !writer(noted.schema).mayReachOthers() else {
      throw StoreError(
        "the server does not count what goes with deleted rows by a cascade or a trigger (track_counts is off): the guard would not see it, so nothing is deleted from \"\(noted.schema.name)\""
      )
    }
    let before = try deletions()
    let deleted = try noted.delete(in: connection)
    var reached = try deletions()
    for (table, count) in before { reached[table, default: 0] -= count }
    return (deleted, reached.filter { $0.value > 0 })
  }

  /// Rows that the transaction has deleted in each table, those of cascades and triggers too; partitions count as their
  /// table (postgresql.org/docs/15/monitoring-stats.html#MONITORING-STATS-FUNCTIONS).
  private func deletions() throws -> [String: Int] {
    let rows = try connection.run(
      """
      SELECT coalesce(pg_partition_root(c.oid)::oid, c.oid)::regclass::text, sum(pg_stat_get_xact_tuples_deleted(c.oid))
      FROM pg_class c WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND pg_stat_get_xact_tuples_deleted(c.oid) > 0
      GROUP BY 1
      """)
    var found: [String: Int] = [:]
    for row in 0..<rows.count { found[rows.text(row, 0) ?? ""] = rows.integer(row, 1) }
    return found
  }

  func mark(_ noted: GoneRows, _ column: String, at time: Int64) throws -> Int {
    let writer = try writer(noted.schema)
    let value = writer.literal(.integer(time), noted.schema.columns.first { $0.name == column })
    return try noted.mark(column, value, in: connection)
  }

  func unmark(_ column: String, seen: KeyIndex, besides stated: KeyIndex?, in schema: TableSchema) throws {
    let (table, name) = (quoted(schema.name), quoted(column))
    guard try connection.text("SELECT 1 FROM \(table) WHERE \(name) IS NOT NULL LIMIT 1") != nil else {
      return
    }
    let writer = try writer(schema)
    let keys = temporary("seen")
    try writer.copy(seen, of: schema.keys, as: keys)
    var condition = "\(name) IS NOT NULL AND \(exists(in: keys, writer))"
    if let stated {
      let others = temporary("stated")
      try writer.copy(stated, of: schema.keys, as: others)
      condition += " AND NOT \(exists(in: others, writer))"
    }
    try connection.run("UPDATE \(table) AS \"target\" SET \(name) = NULL WHERE \(condition)")
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
    try Journal.forgetPages(on: table, besides: entity, sparingSlicesOf: spared, in: connection)
  }

  // MARK: Shared work

  func begin(_ settlement: Settlement, on schemas: [TableSchema]) throws {
    try WorkTables.begin(settlement, on: schemas, in: connection)
  }
  func slices(of claim: Claim, _ body: (SliceRecord) -> Void) throws -> Bool {
    guard try WorkTables.isComplete(claim, in: connection) else { return false }
    try WorkTables.slices(of: claim.unit.entity, in: connection, body)
    return true
  }
  func settle(_ settlement: Settlement) throws { try WorkTables.settle(settlement, in: connection) }
  func voidGeneration(of entity: String) throws { try WorkTables.voidGeneration(of: entity, in: connection) }

  // MARK: Changes

  func watchChanges(of schemas: [TableSchema]) throws {
    snapshot = try ChangeSnapshot(of: schemas, in: connection)
  }

  func changes() throws -> [RowChange] {
    defer { snapshot = nil }
    return try snapshot?.changes(in: connection) ?? []
  }
}
