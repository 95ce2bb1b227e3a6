import SyncEngine

extension PostgreSQL {
  public func prune(_ request: PruneRequest) async throws -> Pruned {
    guard try await exists else { return Pruned() }
    var pruning = Pruning(request)
    var journals = 0
    do {
      while !pruning.isDone {
        // What a run wants of the store meanwhile comes between two steps.
        pruning = try await perform { [pruning] connection, _ in
          var next = pruning
          try next.step(in: connection)
          return next
        }
      }
      var count = 1
      while count > 0 {
        count = try await perform { connection, _ in
          try connection.change(
            "DELETE FROM syncd_journal WHERE id IN (SELECT id FROM syncd_journal WHERE begun < $1 ORDER BY id LIMIT 100)",
            [.integer(request.earliest(request.policy.journals))])
        }
        journals += count
      }
      try await perform { connection, _ in
        try connection.transaction {
          try connection.execute(Self.impatience)
          try WorkTables.prune(
            before: request.earliest(max(request.policy.runs, .seconds(2 * 86_400))), in: connection)
          try Journal.set([Engine.maintained: String(request.now)], of: "", in: connection)
        }
      }
    } catch let error as StoreError where error.isBusy {
      // What is left goes the next time.
      var pruned = pruning.pruned
      (pruned.journals, pruned.isComplete) = (journals, false)
      return pruned
    }
    var pruned = pruning.pruned
    pruned.journals = journals
    return pruned
  }

  fileprivate static let impatience = "SET LOCAL lock_timeout = 500"

  /// The server does that by itself, and frees the room of rows that are gone (autovacuum).
  public func checkpoint() -> StoreLog? { nil }

  public func backUp(to file: String) async throws -> Backup {
    // pg_dump would make the password a matter of its own; and what it is to dump is known here alone.
    let schema = try await perform { connection, _ in
      try connection.text(
        "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass('syncd_state')"
      )
    }
    guard let schema else { throw StoreError("there is no store in \(location) yet: a run makes it") }
    let dump = Dump(of: place, schema: schema)
    return try await detached { cancellation in try dump.run(to: file, cancellation) }
  }

  public func examine(_ examination: StoreExamination) async -> [Finding] {
    let begun = ContinuousClock.now
    do {
      return try await perform { connection, cancellation in
        let time = begun.duration(to: .now).components
        return try ServerExaminer(
          connection, examination, location: self.location,
          milliseconds: time.seconds * 1000 + time.attoseconds / 1_000_000_000_000_000
        ).findings(cancellation)
      }
    } catch is CancellationError {
      return []
    } catch {
      return [
        Finding(
          .failure, "store", "\(error)",
          advice:
            "see whether the server runs and is reachable from here (pg_isready -d LOCATION), and whether user, password file and pg_hba.conf still fit; runs fail until then, and what they would have brought comes with the next one"
        )
      ]
    }
  }
}

extension Connection: PruningSession {
  package func texts(_ sql: String, _ values: [StoredValue]) throws -> [[String?]] {
    let result = try run(sql, values)
    return (0..<result.count).map { row in (0..<result.columnCount).map { result.text(row, $0) } }
  }

  package func change(_ sql: String, _ values: [StoredValue]) throws -> Int {
    try transaction {
      try execute(PostgreSQL.impatience)
      return try run(sql, values).changes
    }
  }
}
