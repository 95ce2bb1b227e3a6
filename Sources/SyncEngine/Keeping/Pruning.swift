/// A database in which old records are looked for and deleted: what both stores have in common of it.
package protocol PruningSession {
  /// The rows of a query, as texts. Parameters are `$1`, `$2`, …, each first named in this order.
  func texts(_ sql: String, _ values: [StoredValue]) throws -> [[String?]]
  /// Runs a statement in a transaction of its own that waits for other programs half a second at most.
  ///
  /// - Returns: how many rows it changed.
  func change(_ sql: String, _ values: [StoredValue]) throws -> Int
}

/// Forgets old records, a few at a time, so that a run that wants to commit waits for milliseconds.
///
/// ```swift
/// var pruning = Pruning(request)
/// while !pruning.isDone { try pruning.step(in: session) }
/// ```
///
/// What is to go is looked for before the transaction that deletes it.
package struct Pruning: Sendable {
  package private(set) var pruned = Pruned()
  package private(set) var isDone = false

  private let request: PruneRequest
  private var entities: [String]?
  /// Those of the entity that is looked at.
  private var bounds: Bounds?

  /// Rows of one transaction.
  private static let batch = 500
  /// Entities of one step, where nothing has to be deleted.
  private static let most = 20
  /// Two days, for a guard that looks back for one: a run may take as long as another.
  private static let guarded = Duration.seconds(2 * 86_400)

  package init(_ request: PruneRequest) { self.request = request }

  /// Deletes what one transaction takes, or looks further.
  package mutating func step(in session: some PruningSession) throws {
    var rest = try entities ?? self.names(in: session)
    for _ in 0..<Self.most {
      guard let entity = rest.last else { break }
      if bounds?.entity != entity { bounds = try bounds(of: entity, in: session) }
      let rejects = try delete("syncd_rejects", oldRejects(of: entity, in: session), in: session)
      let runs = try rejects > 0 ? 0 : delete("syncd_runs", oldRuns(of: entity, in: session), in: session)
      (pruned.rejects, pruned.runs) = (pruned.rejects + rejects, pruned.runs + runs)
      if rejects + runs > 0 {
        entities = rest
        return
      }
      rest.removeLast()
    }
    entities = rest
    if !rest.isEmpty { return }
    let count = try forgetAbandoned(in: session)
    pruned.abandoned += count
    isDone = count == 0
    pruned.isComplete = isDone
  }

  /// All entities that have runs. Index by index: to look at each run takes long.
  private func names(in session: some PruningSession) throws -> [String] {
    try session.texts(
      """
      WITH RECURSIVE names(entity) AS (
        SELECT min(entity) FROM syncd_runs
        UNION ALL SELECT (SELECT min(entity) FROM syncd_runs WHERE entity > names.entity) FROM names WHERE entity IS NOT NULL
      ) SELECT entity FROM names WHERE entity IS NOT NULL
      """, []
    ).compactMap { $0[0] }
  }

  private func delete(_ table: String, _ ids: [String], in session: some PruningSession) throws -> Int {
    if ids.isEmpty { return 0 }
    return try session.change("DELETE FROM \(table) WHERE id IN (\(ids.joined(separator: ", ")))", [])
  }

  // MARK: Rejects

  /// They have no time of their own: it is that of their run.
  private func oldRejects(of entity: String, in session: some PruningSession) throws -> [String] {
    try session.texts(
      """
      SELECT id FROM syncd_rejects WHERE entity = $1
      AND run <> (SELECT run FROM syncd_rejects WHERE entity = $1 ORDER BY id DESC LIMIT 1)
      AND run NOT IN (SELECT run FROM syncd_runs WHERE entity = $1 AND started_at >= $2 AND rejected > 0)
      ORDER BY id LIMIT \(Self.batch)
      """, [.text(entity), time(request.policy.rejects)]
    ).compactMap { $0[0] }
  }

  // MARK: Runs

  private func oldRuns(of entity: String, in session: some PruningSession) throws -> [String] {
    guard let bounds else { return [] }
    return try session.texts(
      """
      SELECT id FROM syncd_runs WHERE entity = $1 AND id < $2
      AND (id < $3 OR started_at < $4 OR (scope_rows IS NULL AND NOT exceeds_guard))
      AND id <> $5 AND run NOT IN (SELECT run FROM syncd_rejects WHERE entity = $1)
      ORDER BY id LIMIT \(Self.batch)
      """,
      [
        .text(entity), .integer(bounds.end), .integer(bounds.young), time(Self.guarded),
        .integer(bounds.committed),
      ]
    ).compactMap { $0[0] }
  }

  /// Where the runs of an entity end that may go. To look for it among many old ones takes long: it is done once.
  private struct Bounds {
    let entity: String
    /// Numbers of runs: those before one of them are too old, or too many.
    let young: Int64
    let end: Int64
    /// The last good one.
    let committed: Int64
  }

  /// Nil where nothing is before them.
  private func bounds(of entity: String, in session: some PruningSession) throws -> Bounds? {
    func id(_ sql: String, _ values: StoredValue...) throws -> Int64? {
      try session.texts(sql, [.text(entity)] + values).first?[0].flatMap { Int64($0) }
    }
    guard let last = try id("SELECT id FROM syncd_runs WHERE entity = $1 ORDER BY id DESC LIMIT 1") else {
      return nil
    }
    // Runs follow each other by their numbers: from the first that is young enough on all are.
    let young =
      try id(
        "SELECT id FROM syncd_runs WHERE entity = $1 AND started_at >= $2 ORDER BY id LIMIT 1",
        time(runs)) ?? last
    let counted =
      try id(
        "SELECT id FROM syncd_runs WHERE entity = $1 ORDER BY id DESC LIMIT 1 OFFSET \(max(1, request.policy.runsPerEntity) - 1)"
      ) ?? 0
    let end = max(young, counted)
    guard try id("SELECT id FROM syncd_runs WHERE entity = $1 AND id < $2 LIMIT 1", .integer(end)) != nil
    else { return nil }
    let committed =
      try id(
        "SELECT id FROM syncd_runs WHERE entity = $1 AND outcome IN ('proven', 'unproven', 'incremental') ORDER BY id DESC LIMIT 1"
      ) ?? last
    return Bounds(entity: entity, young: young, end: end, committed: committed)
  }

  /// For how long runs are kept at least: the guard looks at them whatever a person says.
  private var runs: Duration { max(request.policy.runs, Self.guarded) }

  private func time(_ age: Duration) -> StoredValue {
    // The first year that both stores have a text for.
    .text(Timestamp.text(max(request.earliest(age), -62_135_596_800_000)))
  }

  // MARK: What nobody runs any more

  /// Another program may declare what this one does not: only what has not run for as long as runs are kept is
  /// forgotten, and of it only what a run makes anew.
  private mutating func forgetAbandoned(in session: some PruningSession) throws -> Int {
    for (table, key) in [("syncd_pages", "page"), ("syncd_absent", "key")] {
      let names = try session.texts(
        """
        SELECT DISTINCT entity FROM \(table) AS kept
        WHERE NOT EXISTS (SELECT 1 FROM syncd_runs AS r WHERE r.entity = kept.entity AND r.started_at >= $1)
        """, [time(runs)])
      for name in names.compactMap({ $0[0] }) where !request.declared.contains(name) {
        let count = try session.change(
          "DELETE FROM \(table) WHERE entity = $1 AND \(key) IN (SELECT \(key) FROM \(table) WHERE entity = $1 LIMIT \(Self.batch))",
          [.text(name)])
        if count > 0 { return count }
      }
    }
    return 0
  }
}
