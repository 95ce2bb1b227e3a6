import SyncEngine

/// Writes runs in a transaction of SQLite.
enum CommitWriter {
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
        let transaction = Transaction(in: connection, cancellation)
        return try body(CommitProcedure.write(commits, in: transaction, at: &position))
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
