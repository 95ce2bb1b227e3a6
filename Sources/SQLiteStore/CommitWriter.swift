import CSQLite
import SyncEngine

/// Writes one run in one transaction.
struct CommitWriter {
  private let commit: Commit
  private let cancellation: Cancellation
  private let schema: TableSchema

  init(_ commit: Commit, _ cancellation: Cancellation) {
    (self.commit, self.cancellation, schema) = (commit, cancellation, commit.schema)
  }

  func write(to connection: Connection) throws -> RunRecord {
    try connection.transaction { connection in
      try Journal.create(in: connection)
      let difference = try TableDifference(of: schema, in: connection)
      if !difference.exists {
        try connection.execute(TableDefinition(schema).sql)
      } else {
        for column in difference.missing {
          try connection.execute(
            "ALTER TABLE \(quoted(schema.name)) ADD COLUMN \(TableDefinition.column(column))")
        }
      }
      var run = commit.run

      // The rows that stood there before the run are those that the guard counts. Upserts come before deletions: a
      // row that moves to another parent must not go with the old one by a cascade. References are checked at commit.
      try connection.execute("PRAGMA defer_foreign_keys = ON")
      var deleting: DeletionWriter?
      if let deletion = commit.deletion {
        let writer = DeletionWriter(schema: schema, seen: deletion.seen, scope: deletion.scope)
        let (unseen, rows) = try writer.count(in: connection)
        try deletion.bound.check(deleting: unseen, of: rows, isAnswerEmpty: deletion.isAnswerEmpty)
        if unseen > 0 { deleting = writer }
      }
      try upsert(difference, &run, in: connection)
      if let deleting { run.deleted = try deleting.delete(in: connection) }
      try Journal.append(commit.rejects, of: run, in: connection)
      try Journal.set(commit.state, of: run.entity, in: connection)
      try Journal.append(run, in: connection)
      return run
    }
  }

  // MARK: Upsert

  private func upsert(_ difference: TableDifference, _ run: inout RunRecord, in connection: Connection) throws
  {
    let counter = InsertCounter(table: schema.name, in: connection)
    let rowsBefore = difference.hasRowID ? 0 : try countRows(in: connection)
    defer { counter.stop(in: connection) }
    let statements = UpsertStatements(schema, difference)
    var upsert: UpsertLoop? = nil
    var written = 0
    var passed = 0
    for batch in commit.batches {
      try cancellation.check()
      if upsert == nil { upsert = try UpsertLoop(statements, in: connection) }
      for row in 0..<batch.rowCount {
        if !commit.superseded.isEmpty, commit.superseded.contains(batch.firstOrdinal + row) { continue }
        passed += 1
        if try upsert?.write(batch, row, in: connection) == true { written += 1 }
      }
    }
    upsert = nil
    // Deleted rows are not among those that were passed, so the difference counts the inserted ones alone.
    run.inserted = difference.hasRowID ? counter.inserted : try countRows(in: connection) - rowsBefore
    run.updated = written - run.inserted
    run.unchanged = passed - written
  }

  private func countRows(in connection: Connection) throws -> Int {
    Int(try connection.integer("SELECT count(*) FROM \(quoted(schema.name))") ?? 0)
  }
}

/// Tells inserted rows from updated ones, which the number of changes alone does not.
private final class InsertCounter {
  private(set) var inserted = 0
  private let table: [UInt8]

  init(table: String, in connection: Connection) {
    self.table = Array(table.utf8)
    sqlite3_update_hook(
      connection.handle,
      { context, operation, _, table, _ in
        guard operation == SQLITE_INSERT, let context, let table else { return }
        let counter = Unmanaged<InsertCounter>.fromOpaque(context).takeUnretainedValue()
        // A trigger may insert into other tables.
        if counter.isTable(table) { counter.inserted += 1 }
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  func stop(in connection: Connection) { sqlite3_update_hook(connection.handle, nil, nil) }

  private func isTable(_ name: UnsafePointer<CChar>) -> Bool {
    for (index, byte) in table.enumerated() {
      // The table may be declared in other letters than it was created with.
      let there = UInt8(bitPattern: name[index])
      if there == 0 || there | 0x20 != byte | 0x20 { return false }
    }
    return name[table.count] == 0
  }
}
