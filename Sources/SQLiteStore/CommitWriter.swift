import CSQLite
import SyncEngine

/// Writes one run in one transaction.
struct CommitWriter {
  private let commit: Commit
  private let cancellation: Cancellation

  init(_ commit: Commit, _ cancellation: Cancellation) {
    (self.commit, self.cancellation) = (commit, cancellation)
  }

  func write(to connection: Connection) throws -> RunRecord {
    try connection.transaction { connection in
      try Journal.create(in: connection)
      for schema in commit.referenced { try TableWriter(schema, in: connection).createIfAbsent() }
      let main = try TableWriter(commit.rows.schema, in: connection)
      try main.createIfAbsent()
      var run = commit.run

      // References are checked at the commit: rows may come in any order.
      try connection.execute("PRAGMA defer_foreign_keys = ON")
      // The rows to delete are those that stood there before the run, whatever triggers insert in it.
      var gone: GoneRows?
      if let deletion = commit.deletion {
        let found = try GoneRows(of: main.schema, seen: deletion.seen, scope: deletion.scope, in: connection)
        try deletion.bound.check(
          deleting: found.count, of: found.rowsInScope, isAnswerEmpty: deletion.isAnswerEmpty)
        gone = found.count > 0 ? found : nil
      }
      // Deletions first, so that what was unique about a row that is gone is free; but where a deletion could reach
      // back into the table by a cascade, a row that has moved away from a gone one must have moved before.
      let deletesLast = try gone != nil && main.cascadesIntoItself()
      if !deletesLast { run.deleted = try delete(gone, in: connection) }
      let counts = try main.upsert(commit.rows, cancellation)
      (run.inserted, run.updated, run.unchanged) = (counts.inserted, counts.updated, counts.unchanged)
      if deletesLast { run.deleted = try delete(gone, in: connection) }
      gone?.discard(in: connection)

      for nested in commit.nested { try write(nested, in: connection) }
      try Journal.append(commit.rejects, of: run, in: connection)
      try Journal.set(commit.state, of: run.entity, in: connection)
      try Journal.append(run, in: connection)
      return run
    } explainingConstraint: { connection in
      try ReferenceViolations(
        of: [commit.rows.schema] + commit.nested.map(\.rows.schema), in: connection
      ).conflict
    }
  }

  /// Deletes under the guard, which counts what goes with the rows by cascades and triggers too.
  private func delete(_ gone: GoneRows?, in connection: Connection) throws -> Int {
    guard let gone, let deletion = commit.deletion else { return 0 }
    let watch = DeletionWatch(in: connection)
    defer { watch.stop(in: connection) }
    let deleted = try gone.delete(in: connection)
    let own = Set(([commit.rows.schema] + commit.nested.map(\.rows.schema)).map { $0.name.lowercased() })
    for (table, count) in watch.deleted where !own.contains(table.lowercased()) {
      let left = Int(try connection.integer("SELECT count(*) FROM \(quoted(table))") ?? 0)
      do {
        try deletion.bound.check(deleting: count, of: left + count, isAnswerEmpty: deletion.isAnswerEmpty)
      } catch { throw error.reaching(table) }
    }
    return deleted
  }

  private func write(_ nested: NestedRows, in connection: Connection) throws {
    let table = try TableWriter(nested.rows.schema, in: connection)
    try table.createIfAbsent()
    if let replacement = nested.replacement {
      let gone = try GoneRows(
        of: table.schema, seen: replacement.seen, scope: replacement.scope, in: connection)
      _ = try gone.delete(in: connection)
      gone.discard(in: connection)
      try table.deleteOrphans()
    }
    _ = try table.upsert(nested.rows, cancellation)
  }
}

/// Counts the rows that deletions take away in any table.
private final class DeletionWatch {
  private(set) var deleted: [String: Int] = [:]

  init(in connection: Connection) {
    sqlite3_update_hook(
      connection.handle,
      { context, operation, _, table, _ in
        guard operation == SQLITE_DELETE, let context, let table else { return }
        Unmanaged<DeletionWatch>.fromOpaque(context).takeUnretainedValue()
          .deleted[String(cString: table), default: 0] += 1
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  func stop(in connection: Connection) { sqlite3_update_hook(connection.handle, nil, nil) }
}

/// Rows that refer to rows which are not there.
struct ReferenceViolations {
  /// Nil where all references hold.
  let conflict: RowConflict?

  init(of schemas: [TableSchema], in connection: Connection) throws {
    var named: [String] = []
    var count = 0
    for schema in schemas {
      let statement = try connection.prepare("PRAGMA foreign_key_check(\(quoted(schema.name)))")
      while try connection.step(statement) {
        count += 1
        guard named.count < 10 else { continue }
        let key = schema.keys.map { "'\($0.name) ' || \(quoted($0.name))" }.joined(separator: " || ', ' || ")
        let row = try connection.text(
          "SELECT \(key) FROM \(quoted(schema.name)) WHERE rowid = ?1", .integer(statement.integer(1)))
        named.append(
          "\n  \(schema.name) \(row ?? ""): there is no row of \(statement.text(2)) that it refers to")
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
}
