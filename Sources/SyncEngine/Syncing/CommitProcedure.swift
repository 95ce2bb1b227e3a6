/// Rows of one table that a transaction has noted by their keys.
package protocol NotedRows {
  var schema: TableSchema { get }
  var count: Int { get }
  /// Rows that the search for them looked at.
  var rowsInScope: Int { get }
}

/// Rows that an upsert wrote, and those that it found as they are.
package struct UpsertCounts {
  package var inserted = 0
  package var updated = 0
  package var unchanged = 0
  package init() {}
}

/// One transaction of a store, in the store's own language. What is written in which order, and under which guard, is said
/// once for all stores, by ``CommitProcedure``.
package protocol StoreTransaction: SendableMetatype {
  associatedtype Noted: NotedRows

  /// Creates the engine's own tables where they are absent.
  func createJournal() throws
  /// Makes sure that the claim holds which the run was made for, until the transaction ends, and that no other commit to the
  /// table is under way which must not be.
  ///
  /// - Parameter schemas: the tables that are made where they are absent, the entity's own first.
  /// - Throws: ``ClaimLost``
  func begin(_ settlement: Settlement, on schemas: [TableSchema]) throws
  /// Calls `body` with what each slice of the claim's entity has seen, now that no slice can commit.
  ///
  /// - Returns: false where somebody else has written to the table since the claim's generation began.
  func slices(of claim: Claim, _ body: (SliceRecord) -> Void) throws -> Bool
  /// Ends the claim, and sets when the unit is due again.
  func settle(_ settlement: Settlement) throws
  /// What slices of an entity have seen is out of date: others wrote to its table.
  func voidGeneration(of entity: String) throws
  /// Whether the table is there with all columns that pages which were not sent again have values for.
  func holdsKeptColumns(of schema: TableSchema) throws -> Bool
  /// Creates the table, or adds the columns that it lacks.
  func create(_ schema: TableSchema) throws
  /// Brings rows to the database, beside the table: they are going to be upserted.
  func stage(_ rows: TableRows, surveyed: (any TableSurvey)?) throws
  /// Notes the rows that have no owner before the run: whose they are is not known, and they stay.
  func noteStrays(of schema: TableSchema) throws
  /// Deletes rows whose owner is gone, where the database does not do it by a cascade.
  func deleteOrphans(of schema: TableSchema) throws
  /// Lets references be judged at the commit, so that rows may come in any order.
  func deferReferences() throws

  /// Makes sure that all keys have a row.
  ///
  /// - Throws: ``KeptRowsMissing``
  func demand(_ keys: KeyIndex, in schema: TableSchema) throws
  func demand(_ kept: SeenKeys, in schema: TableSchema, surveyed: (any TableSurvey)?) throws

  /// Notes the rows in the scope whose keys were not seen.
  ///
  /// - Parameter kept: keys that all have to have a row.
  /// - Throws: ``KeptRowsMissing`` where one has none.
  func noteUnseen(
    _ seen: KeyIndex, kept: SeenKeys?, scope: DeletionScope?, in schema: TableSchema,
    surveyed: (any TableSurvey)?
  ) throws -> Noted
  /// Notes the rows with these keys; those that have a mark already are not meant.
  func note(_ keys: KeyIndex, withoutMark mark: String?, in schema: TableSchema) throws -> Noted
  /// Counts one more run in which noted rows are missing, and leaves those that were in enough of them. A row that was
  /// seen, or is no more, begins anew.
  func keepThoseMissing(_ noted: Noted, inRuns runs: Int, of entity: String) throws -> Noted
  /// Forgets that rows were missing which are seen again.
  func forgetAbsence(of entity: String, seen: KeyIndex, in schema: TableSchema) throws
  func discard(_ noted: Noted)

  /// Whether deleting a row can change or delete other rows of the table, through any number of tables.
  func cascadesIntoItself(_ schema: TableSchema) throws -> Bool
  /// Deletes noted rows.
  ///
  /// - Returns: how many they were, and how many rows went in each table, those of cascades and triggers too.
  func delete(_ noted: Noted) throws -> (deleted: Int, reached: [String: Int])
  /// Writes a time, in milliseconds since 1970, into a column of noted rows.
  func mark(_ noted: Noted, _ column: String, at time: Int64) throws -> Int
  /// Clears the column of rows that are seen again, but for those that the source says are gone.
  func unmark(_ column: String, seen: KeyIndex, besides stated: KeyIndex?, in schema: TableSchema) throws
  /// Writes the rows that are new or differ.
  func upsert(_ rows: TableRows) throws -> UpsertCounts
  func rowCount(of table: String) throws -> Int

  /// Names of tables that are one to the database.
  func isSame(_ table: String, as other: String) -> Bool

  func largestScope(before run: RunRecord) throws -> Int
  func append(_ rejects: [BadRecord], of run: RunRecord) throws
  func append(_ run: RunRecord) throws
  func set(_ state: [String: String], of entity: String) throws
  func set(_ pages: ProvenPages?, of entity: String) throws
  /// - Parameter spared: an entity whose slices keep theirs.
  func forgetPages(on table: String, besides entity: String, sparingSlicesOf spared: String?) throws

  /// Begins to tell what changes in some tables.
  func watchChanges(of schemas: [TableSchema]) throws
  func changes() throws -> [RowChange]
}

extension StoreTransaction {
  // A store that is one machine's has no work to share.
  package func begin(_ settlement: Settlement, on schemas: [TableSchema]) throws {
    throw StoreError("the store does not share work")
  }
  package func slices(of claim: Claim, _ body: (SliceRecord) -> Void) throws -> Bool { false }
  package func settle(_ settlement: Settlement) throws {}
  package func voidGeneration(of entity: String) throws {}
}

/// Writes runs: what holds for any store.
package struct CommitProcedure<Transaction: StoreTransaction> {
  private let transaction: Transaction
  private let commit: Commit
  /// The table before the transaction; nil where the transaction may have written to it since.
  private let surveyed: (any TableSurvey)?

  /// Writes runs one after the other in one transaction.
  ///
  /// - Parameter position: set to the run that an error is about.
  package static func write(
    _ commits: [Commit], in transaction: Transaction, at position: inout Int
  ) throws -> [Committed] {
    try transaction.createJournal()
    var done: [Committed] = []
    var changed: [String] = []
    for (index, commit) in commits.enumerated() {
      position = index
      let procedure = CommitProcedure(
        transaction: transaction, commit: commit, surveyed: index == 0 ? commit.survey : nil)
      // What was as before when it was asked for is not any more.
      let kept = procedure.keptTables.map(\.name)
      guard !changed.contains(where: { table in kept.contains { transaction.isSame($0, as: table) } }) else {
        throw KeptRowsMissing()
      }
      done.append(try procedure.write(&changed))
    }
    return done
  }

  /// - Parameter changedTables: those whose rows it changes are added.
  private func write(_ changedTables: inout [String]) throws -> Committed {
    RunStep.next()
    let schema = commit.rows.schema
    if let settlement = commit.settlement {
      try transaction.begin(settlement, on: [schema] + commit.nested.map(\.rows.schema) + commit.referenced)
    }
    try demandKeptTables()
    // All tables before any row: a row may refer to a table that is written later.
    for schema in commit.referenced + [schema] + commit.nested.map(\.rows.schema) {
      try transaction.create(schema)
    }
    for nested in commit.nested where nested.replacement != nil {
      try transaction.noteStrays(of: nested.rows.schema)
    }
    try transaction.stage(commit.rows, surveyed: surveyed)
    RunStep.next()
    var run = commit.run
    if commit.tellsChanges {
      try transaction.watchChanges(of: [schema] + commit.nested.map(\.rows.schema))
    }
    try transaction.deferReferences()

    // The rows to delete are those that stood there before the run, whatever triggers insert in it.
    var gone: Transaction.Noted?
    let deletion = try armed(&run)
    if let deletion {
      var found = try transaction.noteUnseen(
        deletion.seen, kept: commit.seen, scope: deletion.scope, in: schema, surveyed: surveyed)
      if deletion.runs > 1 {
        found = try transaction.keepThoseMissing(found, inRuns: deletion.runs, of: run.entity)
      }
      let largest = try transaction.largestScope(before: run)
      try deletion.bound.check(
        deleting: found.count, of: found.rowsInScope, largest: largest,
        isAnswerEmpty: deletion.isAnswerEmpty, allowed: deletion.allowed)
      run.exceedsGuard = deletion.bound.isExceeded(
        deleting: found.count, of: found.rowsInScope, largest: largest)
      run.rowsInScope = found.rowsInScope
      gone = found
    } else {
      if commit.seen.keptRows > 0 { try transaction.demand(commit.seen, in: schema, surveyed: surveyed) }
      // What is missing is counted for the entity, when all slices were walked.
      let entity = commit.settlement?.claim.unit.entity ?? run.entity
      try transaction.forgetAbsence(of: entity, seen: commit.seen.index, in: schema)
    }
    let stated = try commit.tombstones.map {
      try transaction.note($0.keys, withoutMark: $0.mark, in: schema)
    }
    if let stated, let rule = commit.tombstones {
      try rule.bound.check(
        deleting: stated.count, of: stated.rowsInScope, isAnswerEmpty: false, allowed: rule.allowed)
    }
    // Deletions first, so that what was unique about a row that is gone is free; but where a deletion could reach
    // back into the table by a cascade, a row that has moved away from a gone one must have moved before.
    let deletes = (gone?.count ?? 0) > 0 || stated != nil
    let deletesLast = try deletes && transaction.cascadesIntoItself(schema)
    func delete() throws {
      run.deleted += try self.delete(gone, deletion.map(Rule.init))
      run.deleted += try self.delete(stated, commit.tombstones.map(Rule.init))
    }
    RunStep.next()
    if !deletesLast { try delete() }
    RunStep.next()
    let counts = try transaction.upsert(commit.rows)
    // Those of pages that were as before were not compared, and those of slices were counted by their own runs.
    run.inserted += counts.inserted
    run.updated += counts.updated
    run.unchanged += counts.unchanged
    if deletesLast { try delete() }
    if let gone { transaction.discard(gone) }
    if let stated { transaction.discard(stated) }
    if let mark = commit.mark {
      try transaction.unmark(mark, seen: commit.seen.index, besides: commit.gone, in: schema)
    }

    var changed = counts.inserted + counts.updated + run.deleted > 0 ? [schema.name] : []
    for nested in commit.nested where try write(nested) { changed.append(nested.rows.schema.name) }
    RunStep.next()
    try transaction.append(commit.rejects, of: run)
    // What ``StoreTransaction/forgetPages(on:besides:)`` looks for.
    let tables = [schema] + commit.nested.map(\.rows.schema)
    let list = tables.map { quoted($0.name.asciiLowercased) }.joined(separator: " ")
    // A blank in front says that there are several: that of one table is found by its whole text.
    let names = tables.count > 1 ? " " + list : list
    // Slices have their entity's: they are many, and write to the same tables.
    let owner =
      commit.settlement?.slice == nil ? run.entity : commit.settlement?.claim.unit.entity ?? run.entity
    try transaction.set(commit.state, of: run.entity)
    try transaction.set(["tables": names], of: owner)
    if !commit.isIncrement || !changed.isEmpty { try transaction.set(commit.pages, of: run.entity) }
    changedTables += changed
    let spared = commit.settlement.flatMap { $0.isDisjoint ? $0.claim.unit.entity : nil }
    for table in changed {
      try transaction.forgetPages(on: table, besides: run.entity, sparingSlicesOf: spared)
    }
    if let settlement = commit.settlement {
      try transaction.settle(settlement)
    } else {
      try transaction.voidGeneration(of: run.entity)
    }
    RunStep.next()
    try transaction.append(run)
    return Committed(run: run, changes: commit.tellsChanges ? try transaction.changes() : nil)
  }

  /// The deletion, if it may still be. Since it was armed slices may have gone on, which a row that they wrote is known by.
  private func armed(_ run: inout RunRecord) throws -> ArmedDeletion? {
    guard var deletion = commit.deletion, let settlement = commit.settlement, settlement.closesGeneration
    else { return commit.deletion }
    var owners = KeyIndex()
    var isWhole = true
    let isCurrent = try transaction.slices(of: settlement.claim) { slice in
      let isRead = deletion.spare(slice, &owners)
      isWhole = isWhole && isRead
    }
    if isCurrent && isWhole { return deletion }
    (run.outcome, run.reason) = (
      .unproven, "rows were written meanwhile of which it is not known whether a slice has seen them"
    )
    return nil
  }

  /// Tables with rows that did not come again, since their page was the same.
  private var keptTables: [TableSchema] {
    commit.keptNested.map(\.schema) + (commit.seen.keptRows > 0 ? [commit.rows.schema] : [])
  }

  /// Makes sure that rows which did not come again, since their page was the same, are there with all their columns.
  private func demandKeptTables() throws {
    for schema in keptTables where try !transaction.holdsKeptColumns(of: schema) { throw KeptRowsMissing() }
    for (schema, keys) in commit.keptNested { try transaction.demand(keys, in: schema) }
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
  private func delete(_ noted: Transaction.Noted?, _ rule: Rule?) throws -> Int {
    guard let noted, noted.count > 0, let rule else { return 0 }
    if let mark = rule.mark { return try transaction.mark(noted, mark, at: commit.run.started) }
    let (deleted, reached) = try transaction.delete(noted)
    func isOwn(_ table: String) -> Bool {
      ([commit.rows.schema] + commit.nested.map(\.rows.schema)).contains {
        transaction.isSame($0.name, as: table)
      }
    }
    let inTable = reached.filter { transaction.isSame($0.key, as: noted.schema.name) }.values.reduce(0, +)
    guard inTable <= noted.count else {
      let more = inTable - noted.count
      throw RowConflict(
        "the deletion of \(noted.count) of the rows takes \(more) with \(noted.count == 1 ? "it" : "them") that the source did not delete, by a cascade or a trigger; nothing was written"
      )
    }
    for (table, count) in reached where !isOwn(table) {
      let left = try transaction.rowCount(of: table)
      do {
        try rule.bound.check(
          deleting: count, of: left + count, isAnswerEmpty: rule.isAnswerEmpty, allowed: rule.allowed)
      } catch { throw error.reaching(table) }
    }
    return deleted
  }

  /// Whether the rows changed the table.
  private func write(_ nested: NestedRows) throws -> Bool {
    var changes = 0
    if let replacement = nested.replacement {
      let gone = try transaction.noteUnseen(
        replacement.seen, kept: nil, scope: replacement.scope, in: nested.rows.schema, surveyed: nil)
      if gone.count > 0 { changes += try transaction.delete(gone).deleted }
      transaction.discard(gone)
      try transaction.deleteOrphans(of: nested.rows.schema)
    }
    try transaction.stage(nested.rows, surveyed: nil)
    let counts = try transaction.upsert(nested.rows)
    return changes + counts.inserted + counts.updated > 0
  }
}
