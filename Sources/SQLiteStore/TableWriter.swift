import SyncEngine

/// Writes rows into one table inside a transaction.
struct TableWriter {
  let schema: TableSchema
  private let difference: TableDifference
  private let connection: Connection

  /// - Throws: `StoreError` if the table that is there cannot take the rows.
  init(_ schema: TableSchema, in connection: Connection) throws {
    (self.schema, self.connection) = (schema, connection)
    difference = try TableDifference.known(of: schema, in: connection)
    try difference.demandFit()
  }

  private init(ofNew schema: TableSchema, in connection: Connection) {
    (self.schema, self.connection, difference) = (schema, connection, TableDifference(ofNew: schema))
  }

  /// Creates the table, or adds the columns that it lacks.
  ///
  /// - Returns: what writes to the table from then on; nil where the table has to be looked at again.
  func createIfAbsent() throws -> TableWriter? {
    if !difference.exists {
      try connection.execute(TableDefinition(schema).sql)
      try Journal.setMade(schema.name, in: connection)
      return TableWriter(ofNew: schema, in: connection)
    }
    for column in difference.missing {
      try connection.execute(
        "ALTER TABLE \(quoted(schema.name)) ADD COLUMN \(TableDefinition.column(column))")
    }
    return difference.missing.isEmpty ? self : nil
  }

  /// - Parameter content: the rows that the table has, which need not be written again.
  func upsert(
    _ rows: TableRows, besides content: TableContent?, _ cancellation: Cancellation
  ) throws -> UpsertCounts {
    var counts = UpsertCounts()
    var known = content?.digests(of: schema)
    var hint = 0
    let statements = UpsertStatements(schema, difference)
    // Without triggers on it only the upsert itself inserts into the table, which an update hook counts at no cost.
    let asksFirst = try !difference.hasRowID || connection.hasTriggers(schema.name)
    let counter = asksFirst ? nil : RowWatch(in: connection)
    defer { counter?.stop(in: connection) }
    var upsert: UpsertLoop?
    var bulk: BulkUpsert?
    /// Rows whose unique value another row still holds, which may be about to give it up.
    var waiting: [(batch: RowBatch, row: Int)] = []
    for batch in rows.batches {
      try cancellation.check()
      RunStep.next()
      if batch.isDropped {
        if known == nil { known = try content?.digests(in: connection) }
        guard let digests = (batch.comparison as? PageDigests)?.digests else { throw RowsDropped() }
        for row in 0..<batch.rowCount where !rows.superseded.contains(batch.firstOrdinal + row) {
          guard known?.contains(digests[row], hint: &hint) == true else { throw RowsDropped() }
          counts.unchanged += 1
        }
        continue
      }
      var left = Array(0..<batch.rowCount)
      if !rows.superseded.isEmpty { left.removeAll { rows.superseded.contains(batch.firstOrdinal + $0) } }
      if known != nil, let digests = (batch.comparison as? PageDigests)?.digests {
        let all = left.count
        left.removeAll { known?.contains(digests[$0], hint: &hint) == true }
        counts.unchanged += all - left.count
      }
      if left.isEmpty { continue }
      let memory = try batch.memory()
      if let counter, batch.isComplete, left.count > 1 {
        if bulk == nil { bulk = try BulkUpsert(statements, in: connection) }
        let before = counter.inserted
        if let written = try bulk?.write(memory, left, in: connection) {
          counts.updated += written
          counts.unchanged += left.count - written
          continue
        }
        // A row is at fault, or has to wait: which one is told row by row.
        counter.inserted = before
      }
      if upsert == nil { upsert = try UpsertLoop(statements, asksFirst: asksFirst, in: connection) }
      for row in left
      where try upsert?.write(memory, row, page: batch.page, &counts, in: connection) == false {
        waiting.append((batch, row))
      }
    }
    // Those of one page follow each other.
    var loaded: (batch: RowBatch, memory: RowMemory)?
    func memory(of batch: RowBatch) throws -> RowMemory {
      if let loaded, loaded.batch === batch { return loaded.memory }
      let memory = try batch.memory()
      loaded = (batch, memory)
      return memory
    }
    while !waiting.isEmpty {
      try cancellation.check()
      let before = waiting
      waiting = []
      for (batch, row) in before
      where try upsert?.write(memory(of: batch), row, page: batch.page, &counts, in: connection) == false {
        waiting.append((batch, row))
      }
      // No row could move: this time what stands in the way is an error.
      if waiting.count == before.count, let (batch, row) = waiting.first {
        _ = try upsert?.write(
          memory(of: batch), row, page: batch.page, &counts, mayWait: false, in: connection)
      }
    }
    upsert = nil
    if let counter {
      counts.inserted = counter.inserted
      counts.updated -= counter.inserted
    }
    return counts
  }

  /// Notes the rows that have no owner before the run: whose they are is not known, and they stay.
  func noteStrays() throws {
    guard let orphans = try orphans() else { return }
    try connection.execute("DROP TABLE IF EXISTS \(strays)")
    try connection.execute(
      "CREATE TEMP TABLE \(quoted(straysName)) AS SELECT \(schema.keyList) FROM \(own) WHERE \(orphans)")
  }

  /// Deletes the rows whose owner is gone, where the database does not do it by a cascade.
  func deleteOrphans() throws {
    guard let orphans = try orphans() else { return }
    try connection.execute(
      "DELETE FROM \(own) WHERE \(orphans) AND (\(schema.keyList)) NOT IN (SELECT \(schema.keyList) FROM \(strays))"
    )
    try connection.execute("DROP TABLE \(strays)")
  }

  private var straysName: String { "syncd_strays_\(schema.name)" }
  private var strays: String { "temp.\(quoted(straysName))" }
  private var own: String { "main.\(quoted(schema.name))" }

  /// What is true of a row without an owner; nil where the database deletes such rows itself.
  private func orphans() throws -> String? {
    guard let owner = schema.references.first(where: \.isOwner) else { return nil }
    let cascade = try connection.integer(
      "SELECT 1 FROM pragma_foreign_key_list(?1) WHERE \"table\" = ?2 COLLATE NOCASE AND on_delete = 'CASCADE'",
      .text(schema.name), .text(owner.table))
    if cascade != nil { return nil }
    let matches = zip(owner.keys, owner.columns).map {
      "o.\(quoted($0)) = \(quoted(schema.name)).\(quoted($1))"
    }
    return
      "NOT EXISTS (SELECT 1 FROM main.\(quoted(owner.table)) o WHERE \(matches.joined(separator: " AND ")))"
  }

  /// Whether rows of the table may change by triggers or cascades in a transaction that writes to it.
  func mayChangeByItself() throws -> Bool {
    try connection.integer("SELECT 1 FROM sqlite_schema WHERE type = 'trigger' LIMIT 1") != nil
      || connection.integer(
        """
        SELECT 1 FROM sqlite_schema t, pragma_foreign_key_list(t.name) f
        WHERE t.type = 'table' AND f.on_update NOT IN ('NO ACTION', 'RESTRICT') LIMIT 1
        """) != nil
      || cascadesIntoItself()
  }

  /// Whether deleting a row of the table can change or delete other rows of it, through any number of tables.
  func cascadesIntoItself() throws -> Bool {
    // From a table to those whose rows follow its own (sqlite.org/foreignkeys.html#fk_actions).
    let statement = try connection.prepare(
      """
      SELECT lower(f."table"), lower(t.name) FROM sqlite_schema t, pragma_foreign_key_list(t.name) f
      WHERE t.type = 'table' AND f.on_delete NOT IN ('NO ACTION', 'RESTRICT')
      """)
    var followers: [String: Set<String>] = [:]
    while try connection.step(statement) {
      followers[statement.text(0), default: []].insert(statement.text(1))
    }
    let own = schema.name.asciiLowercased
    var reached: Set<String> = []
    var next = followers[own] ?? []
    while let table = next.popFirst() {
      if table == own { return true }
      if reached.insert(table).inserted { next.formUnion(followers[table] ?? []) }
    }
    return false
  }
}

extension Connection {
  fileprivate func hasTriggers(_ table: String) throws -> Bool {
    try integer(
      "SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE", .text(table))
      != nil
  }
}
