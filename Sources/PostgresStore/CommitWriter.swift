import SyncEngine

/// Writes runs in a transaction of PostgreSQL.
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
      return try connection.transaction(isUndone: isUndone || commits.contains(where: \.isRehearsal)) {
        let transaction = Transaction(in: connection, cancellation)
        let result = try body(CommitProcedure.write(commits, in: transaction, at: &position))
        if !isUndone { try demandReferences(commits, at: &position, in: connection) }
        return result
      }
    } catch let error as PostgresError {
      throw FailedCommit(position: position, error: error.asStoreError)
    } catch { throw FailedCommit(position: position, error: error) }
  }

  /// Judges the references that were deferred, before the commit does and with its last words only.
  private static func demandReferences(
    _ commits: [Commit], at position: inout Int, in connection: Connection
  ) throws {
    do { try connection.savepoint { try connection.execute("SET CONSTRAINTS ALL IMMEDIATE") } } catch let
      error
      as PostgresError where error.isReferenceViolation
    {
      for (index, commit) in commits.enumerated() {
        let schemas = [commit.rows.schema] + commit.nested.map(\.rows.schema)
        if let conflict = try ReferenceViolations.conflict(of: schemas, in: connection) {
          position = index
          throw conflict
        }
      }
      throw error
    }
  }
}
