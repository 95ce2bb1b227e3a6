import SyncEngine

/// Writes one run.
struct CommitWriter {
  private let commit: Commit
  private let cancellation: Cancellation
  /// The keys of the table, read before the transaction; nil where it may have written to the table since.
  private let surveyed: TableKeys?

  private init(_ commit: Commit, _ cancellation: Cancellation, isFirst: Bool) {
    (self.commit, self.cancellation) = (commit, cancellation)
    surveyed = isFirst ? commit.survey as? TableKeys : nil
  }

  /// Writes all runs in one transaction, and calls `body` at its end.
  ///
  /// - Parameter isUndone: whether nothing of it stays. What `body` reads is not held against the references of the rows.
  /// - Throws: ``FailedCommit``
  static func write<R>(
    _ commits: [Commit], _ cancellation: Cancellation, isUndone: Bool = false, to connection: Connection,
    body: ([Committed]) throws -> R
  ) throws -> R {
    var position = 0
    do {
      return try connection.transaction(
        isUndone: isUndone || commits.contains(where: \.isRehearsal), checksReferences: !isUndone
      ) { connection in
        try Journal.create(in: connection)
        var done: [Committed] = []
        var changed: Set<String> = []
        for (index, commit) in commits.enumerated() {
          position = index
          let writer = CommitWriter(commit, cancellation, isFirst: index == 0)
          // What was as before when it was asked for is not any more.
          guard changed.isDisjoint(with: writer.keptTables.map(\.name.asciiLowercased)) else {
            throw KeptRowsMissing()
          }
          done.append(try writer.write(in: connection, &changed))
        }
        return try body(done)
      } explainingConstraint: { connection in
        for (index, commit) in commits.enumerated() {
          position = index
          let schemas = [commit.rows.schema] + commit.nested.map(\.rows.schema)
          if let conflict = try ReferenceViolations(of: schemas, andToThem: true, in: connection).conflict {
            return conflict
          }
        }
        return nil
      }
    } catch { throw FailedCommit(position: position, error: error) }
  }

  /// In a transaction.
  ///
  /// - Parameter changedTables: those whose rows it changes are added.
  private func write(in connection: Connection, _ changedTables: inout Set<String>) throws -> Committed {
    RunStep.next()
    try demandKeptTables(in: connection)
    for schema in commit.referenced { try TableWriter(schema, in: connection).createIfAbsent() }
    let main = try TableWriter(commit.rows.schema, in: connection)
    try main.createIfAbsent()
    // All tables before any row: a row may refer to a table that is written later.
    for nested in commit.nested { try TableWriter(nested.rows.schema, in: connection).createIfAbsent() }
    // Writers know the table as it is when they are made. One table may be that of several lists.
    let nestedTables = try commit.nested.map { try TableWriter($0.rows.schema, in: connection) }
    for (nested, table) in zip(commit.nested, nestedTables) where nested.replacement != nil {
      try table.noteStrays()
    }
    RunStep.next()
    var run = commit.run
    let session =
      try commit.tellsChanges
      ? ChangeSession(of: [main.schema.name] + commit.nested.map(\.rows.schema.name), in: connection) : nil

    // References are checked at the commit: rows may come in any order.
    try connection.execute("PRAGMA defer_foreign_keys = ON")
    // The rows to delete are those that stood there before the run, whatever triggers insert in it.
    var gone: GoneRows?
    if let deletion = commit.deletion {
      var found = try GoneRows(
        of: main.schema, seen: deletion.seen, kept: commit.seen, scope: deletion.scope, surveyed: surveyed,
        in: connection)
      if deletion.runs > 1 {
        try found.keepThoseMissing(inRuns: deletion.runs, of: run.entity, in: connection)
      }
      let largest = try Journal.largestScope(before: run, in: connection)
      try deletion.bound.check(
        deleting: found.count, of: found.rowsInScope, largest: largest,
        isAnswerEmpty: deletion.isAnswerEmpty, allowed: deletion.allowed)
      run.exceedsGuard = deletion.bound.isExceeded(
        deleting: found.count, of: found.rowsInScope, largest: largest)
      run.rowsInScope = found.rowsInScope
      gone = found.count > 0 ? found : nil
    } else {
      if commit.seen.keptRows > 0 {
        try GoneRows.demand(commit.seen, in: main.schema, surveyed: surveyed, connection)
      }
      try GoneRows.forgetAbsence(of: run.entity, seen: commit.seen.index, in: main.schema, connection)
    }
    // Deletions first, so that what was unique about a row that is gone is free; but where a deletion could reach
    // back into the table by a cascade, a row that has moved away from a gone one must have moved before.
    let stated = try commit.tombstones.map {
      try GoneRows(named: $0.keys, mark: $0.mark, of: main.schema, in: connection)
    }
    if let stated, let rule = commit.tombstones {
      try rule.bound.check(
        deleting: stated.count, of: stated.rowsInScope, isAnswerEmpty: false, allowed: rule.allowed)
    }
    let deletesLast = try (gone != nil || stated != nil) && main.cascadesIntoItself()
    func delete() throws {
      run.deleted += try self.delete(gone, commit.deletion.map(Rule.init), in: connection)
      run.deleted += try self.delete(stated, commit.tombstones.map(Rule.init), in: connection)
    }
    RunStep.next()
    if !deletesLast { try delete() }
    RunStep.next()
    let counts = try main.upsert(commit.rows, cancellation)
    (run.inserted, run.updated) = (counts.inserted, counts.updated)
    // Those of pages that were as before were not compared.
    run.unchanged += counts.unchanged
    if deletesLast { try delete() }
    gone?.discard(in: connection)
    stated?.discard(in: connection)
    if let mark = commit.mark {
      try GoneRows.unmark(
        mark, seen: commit.seen.index, besides: commit.gone, in: main.schema, connection)
    }

    var changed = counts.inserted + counts.updated + run.deleted > 0 ? [main.schema.name] : []
    for (nested, table) in zip(commit.nested, nestedTables)
    where try write(nested, to: table, in: connection) {
      changed.append(nested.rows.schema.name)
    }
    RunStep.next()
    try Journal.append(commit.rejects, of: run, in: connection)
    let tables = [commit.rows.schema] + commit.nested.map(\.rows.schema)
    let names = tables.map { quoted($0.name.asciiLowercased) }.joined(separator: " ")
    try Journal.set(commit.state.merging(["tables": names]) { $1 }, of: run.entity, in: connection)
    if !commit.isIncrement || !changed.isEmpty {
      try Journal.set(commit.pages, of: run.entity, in: connection)
    }
    changedTables.formUnion(changed.map(\.asciiLowercased))
    for table in changed { try Journal.forgetPages(on: table, besides: run.entity, in: connection) }
    RunStep.next()
    try Journal.append(run, in: connection)
    return Committed(run: run, changes: try session?.changes())
  }

  /// Tables with rows that did not come again, since their page was the same.
  private var keptTables: [TableSchema] {
    commit.keptNested.map(\.schema) + (commit.seen.keptRows > 0 ? [commit.rows.schema] : [])
  }

  /// Makes sure that rows which did not come again, since their page was the same, are there with all their columns.
  private func demandKeptTables(in connection: Connection) throws {
    for schema in keptTables {
      // A column that is going to be added has a value in none of the rows.
      let difference = try TableDifference(of: schema, in: connection)
      guard difference.exists, difference.missing.allSatisfy({ $0.role == .local || $0.role == .asset })
      else { throw KeptRowsMissing() }
    }
    for (schema, keys) in commit.keptNested { try GoneRows.demand(keys, in: schema, connection) }
  }

  /// What holds for a deletion, whatever it is for.
  private struct Rule {
    let bound: DeletionGuard
    let isAnswerEmpty: Bool
    let mark: String?
    let allowed: Int?

    init(_ deletion: ArmedDeletion) {
      (bound, isAnswerEmpty) = (deletion.bound, deletion.isAnswerEmpty)
      (mark, allowed) = (deletion.mark, deletion.allowed)
    }

    init(_ deletion: StatedDeletion) {
      (bound, isAnswerEmpty, mark, allowed) = (deletion.bound, false, deletion.mark, deletion.allowed)
    }
  }

  /// Deletes under the guard, which counts what goes with the rows by cascades and triggers too.
  private func delete(_ gone: GoneRows?, _ rule: Rule?, in connection: Connection) throws -> Int {
    guard let gone, let deletion = rule else { return 0 }
    if let mark = deletion.mark { return try gone.mark(mark, at: commit.run.started, in: connection) }
    let watch = RowWatch(in: connection)
    defer { watch.stop(in: connection) }
    let deleted = try gone.delete(in: connection)
    let name = gone.schema.name
    let reached = watch.deleted.filter { $0.key.asciiLowercased == name.asciiLowercased }.values.reduce(0, +)
    guard reached <= gone.count else {
      let more = reached - gone.count
      throw RowConflict(
        "the deletion of \(gone.count) of the rows takes \(more) with \(gone.count == 1 ? "it" : "them") that the source did not delete, by a cascade or a trigger; nothing was written"
      )
    }
    let own = Set(([commit.rows.schema] + commit.nested.map(\.rows.schema)).map { $0.name.asciiLowercased })
    for (table, count) in watch.deleted where !own.contains(table.asciiLowercased) {
      let left = Int(try connection.integer("SELECT count(*) FROM \(quoted(table))") ?? 0)
      do {
        try deletion.bound.check(
          deleting: count, of: left + count, isAnswerEmpty: deletion.isAnswerEmpty, allowed: deletion.allowed)
      } catch { throw error.reaching(table) }
    }
    return deleted
  }

  /// Whether the rows changed the table.
  private func write(_ nested: NestedRows, to table: TableWriter, in connection: Connection) throws -> Bool {
    var changes = 0
    if let replacement = nested.replacement {
      let gone = try GoneRows(
        of: table.schema, seen: replacement.seen, scope: replacement.scope, in: connection)
      changes += try gone.delete(in: connection)
      gone.discard(in: connection)
      try table.deleteOrphans()
    }
    let counts = try table.upsert(nested.rows, cancellation)
    return changes + counts.inserted + counts.updated > 0
  }
}

/// Rows that refer to rows which are not there.
struct ReferenceViolations {
  /// Nil where all references hold.
  let conflict: RowConflict?

  /// - Parameter andToThem: whether rows of other tables that refer to these are looked at too.
  init(of schemas: [TableSchema], andToThem: Bool = false, in connection: Connection) throws {
    var tables = schemas.map { (name: $0.name, keys: $0.keys.map(\.name)) }
    if andToThem { tables += try Self.tables(referringTo: tables.map(\.name), in: connection) }
    var named: [String] = []
    var count = 0
    for (table, keys) in tables {
      let statement = try connection.prepare("PRAGMA foreign_key_check(\(quoted(table)))")
      while try connection.step(statement) {
        count += 1
        guard named.count < 10 else { continue }
        let parent = statement.text(2)
        let known = schemas.first { $0.name.asciiLowercased == parent.asciiLowercased }?.name ?? parent
        var row: String?
        // A table without row numbers does not say which row it is.
        if !keys.isEmpty, !statement.isNull(1) {
          row = try connection.text(
            "SELECT \(keyExpression(keys)) FROM \(quoted(table)) WHERE rowid = ?1",
            .integer(statement.integer(1)))
        }
        named.append(
          "\n  \(table)\(row.map { " \($0)" } ?? ""): there is no row of \(known) that it refers to"
        )
      }
    }
    guard count > 0 else {
      conflict = nil
      return
    }
    let more = count > named.count ? "\n  and \(count - named.count) more" : ""
    conflict = RowConflict(
      "\(count) \(count == 1 ? "row refers" : "rows refer") to what is not there, nothing was written:\(named.joined())\(more)"
    )
  }

  /// Other tables that refer to these, with their key columns.
  private static func tables(
    referringTo names: [String], in connection: Connection
  ) throws -> [(name: String, keys: [String])] {
    let own = Set(names.map { $0.asciiLowercased })
    let statement = try connection.prepare(
      """
      SELECT t.name, lower(f."table"), (SELECT group_concat(name, char(0)) FROM pragma_table_info(t.name) WHERE pk > 0)
      FROM sqlite_schema t, pragma_foreign_key_list(t.name) f WHERE t.type = 'table'
      """)
    var found: [String: [String]] = [:]
    while try connection.step(statement) {
      guard own.contains(statement.text(1)), !own.contains(statement.text(0).asciiLowercased) else {
        continue
      }
      found[statement.text(0)] =
        statement.isNull(2) ? [] : statement.text(2).split(separator: "\0").map(String.init)
    }
    return found.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}
