import SyncEngine

/// The engine's own tables in the database: runs, state and rejected records.
package enum Journal {
  private static let tables: [(name: String, definition: String)] = [
    (
      "syncd_runs",
      """
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run text NOT NULL, entity text NOT NULL,
      started_at timestamptz(3) NOT NULL, finished_at timestamptz(3) NOT NULL, outcome text NOT NULL, reason text,
      pages bigint NOT NULL, records bigint NOT NULL, bytes bigint NOT NULL, inserted bigint NOT NULL,
      updated bigint NOT NULL, unchanged bigint NOT NULL, deleted bigint NOT NULL, duplicates bigint NOT NULL,
      rejected bigint NOT NULL, scope text, scope_rows bigint, exceeds_guard boolean NOT NULL DEFAULT false
      """
    ),
    (
      "syncd_state",
      "entity text NOT NULL, name text NOT NULL, value text NOT NULL, PRIMARY KEY (entity, name)"
    ),
    (
      "syncd_pages",
      """
      id bigint GENERATED ALWAYS AS IDENTITY, entity text NOT NULL, page text NOT NULL, validator text NOT NULL,
      answer text NOT NULL, keys bytea NOT NULL, PRIMARY KEY (entity, page)
      """
    ),
    (
      "syncd_absent",
      "entity text NOT NULL, key text NOT NULL, runs bigint NOT NULL, PRIMARY KEY (entity, key)"
    ),
    (
      "syncd_rejects",
      """
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run text NOT NULL, entity text NOT NULL, page bigint NOT NULL,
      position bigint NOT NULL, key text, field text, path text, reason text NOT NULL, record text NOT NULL
      """
    ),
    (
      "syncd_journal",
      """
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, entity text NOT NULL, key text NOT NULL, begun bigint NOT NULL,
      name text NOT NULL, page bytea NOT NULL
      """
    ),
  ]

  static func exists(in connection: Connection) throws -> Bool {
    try connection.text("SELECT to_regclass('syncd_state')") != nil
  }

  /// Creates the tables that are absent. In a transaction.
  ///
  /// Not by IF NOT EXISTS: that asks for the right to create tables also where none is created.
  package static func create(in connection: Connection) throws {
    let names = tables.map { "to_regclass('\($0.name)')" }.joined(separator: ", ")
    if try connection.integer("SELECT num_nulls(\(names))") == 0 { return }
    try lockCreation(in: connection)
    for (name, definition) in tables where try connection.text("SELECT to_regclass($1)", .text(name)) == nil {
      try connection.execute("CREATE TABLE \(name) (\(definition))")
      if name == "syncd_runs" {
        try connection.execute("CREATE INDEX syncd_runs_entity ON syncd_runs (entity, id)")
      }
      if name == "syncd_rejects" {
        try connection.execute("CREATE INDEX syncd_rejects_entity ON syncd_rejects (entity, id)")
      }
      if name == "syncd_journal" {
        try connection.execute("CREATE INDEX syncd_journal_entity ON syncd_journal (entity, id)")
      }
    }
  }

  /// Two programs may find tables absent at the same time: the second one waits for the first.
  static func lockCreation(in connection: Connection) throws {
    try connection.execute("SELECT pg_advisory_xact_lock(\(lock))")
    // What this session knows of absent tables is from before the wait. A server's process hears of what others have made
    // when it locks a relation, which looking for a name does not do.
    try connection.execute("SELECT FROM pg_class LIMIT 0")
  }

  /// "syncd" in bytes.
  private static let lock: Int64 = 0x73_796E_6364

  private static let columns =
    "run, entity, started_at, finished_at, outcome, reason, pages, records, bytes, inserted, updated, unchanged, deleted, duplicates, rejected, scope, scope_rows, exceeds_guard"

  package static func append(_ run: RunRecord, in connection: Connection) throws {
    let counts = [
      run.pages, run.records, run.bytes, run.inserted, run.updated, run.unchanged, run.deleted,
      run.duplicates, run.rejected,
    ]
    let encoding = ServerEncoding(of: connection)
    func text(_ value: String?) -> StoredValue { value.map { .text(encoding.legible($0)) } ?? .null }
    try connection.run(
      "INSERT INTO syncd_runs (\(columns)) VALUES (\((1...18).map { "$\($0)" }.joined(separator: ", ")))",
      [
        .text(run.run), .text(run.entity), .text(Timestamp.text(run.started)),
        .text(Timestamp.text(run.finished)), .text(run.outcome.rawValue), text(run.reason),
      ] + counts.map { .integer(Int64($0)) } + [
        text(run.scope), run.rowsInScope.map { .integer(Int64($0)) } ?? .null,
        .text(run.exceedsGuard ? "true" : "false"),
      ])
  }

  /// The largest number of rows that runs of the same scope have judged in the last 24 hours, since a deletion that was
  /// allowed beyond the guard.
  static func largestScope(before run: RunRecord, in connection: Connection) throws -> Int {
    try connection.integer(
      """
      SELECT max(scope_rows) FROM syncd_runs WHERE entity = $1 AND scope IS NOT DISTINCT FROM $2 AND started_at >= $3
        AND id > coalesce((SELECT max(id) FROM syncd_runs WHERE entity = $1 AND exceeds_guard), 0)
      """, .text(run.entity), run.scope.map { .text($0) } ?? .null,
      .text(Timestamp.text(run.started - 86_400_000))) ?? 0
  }

  /// Rejected records of an entity that are kept; older ones go.
  private static let keptRejects = 10_000

  static func append(_ rejects: [BadRecord], of run: RunRecord, in connection: Connection) throws {
    if rejects.isEmpty { return }
    let encoding = ServerEncoding(of: connection)
    func text(_ value: String?) -> StoredValue { value.map { .text(encoding.legible($0)) } ?? .null }
    for reject in rejects {
      try connection.run(
        "INSERT INTO syncd_rejects (run, entity, page, position, key, field, path, reason, record) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        [
          .text(run.run), .text(run.entity), .integer(Int64(reject.page)), .integer(Int64(reject.position)),
          text(reject.key), text(reject.column), text(reject.path), text(reject.reason), text(reject.record),
        ])
    }
    try connection.run(
      """
      DELETE FROM syncd_rejects WHERE entity = $1 AND id NOT IN
      (SELECT id FROM syncd_rejects WHERE entity = $1 ORDER BY id DESC LIMIT \(keptRejects))
      """, [.text(run.entity)])
  }

  /// The rejected records of the given entities and of their slices, the oldest first.
  static func rejects(of entities: [String], in connection: Connection) throws -> [Reject] {
    guard try exists(in: connection) else { return [] }
    let rows = try connection.run(
      "SELECT run, entity, page, position, key, field, path, reason, record FROM syncd_rejects ORDER BY id")
    return (0..<rows.count).compactMap { row in
      func text(_ column: Int) -> String { rows.text(row, column) ?? "" }
      guard entities.contains(where: { text(1) == $0 || text(1).hasPrefix("\($0)[") }) else { return nil }
      return Reject(
        run: text(0), entity: text(1),
        record: BadRecord(
          page: rows.integer(row, 2), position: rows.integer(row, 3), key: rows.text(row, 4),
          column: rows.text(row, 5), path: rows.text(row, 6), reason: text(7), record: text(8)))
    }
  }

  /// The last runs of an entity, the latest first.
  static func runs(of entity: String, limit: Int, in connection: Connection) throws -> [RunRecord] {
    guard try exists(in: connection) else { return [] }
    let instant = { (name: String) in "(extract(epoch FROM \(name)) * 1000)::bigint" }
    let columns = columns.split(separator: ", ").map(String.init).map {
      $0.hasSuffix("_at") ? instant($0) : $0
    }
    let rows = try connection.run(
      "SELECT \(columns.joined(separator: ", ")) FROM syncd_runs WHERE entity = $1 ORDER BY id DESC LIMIT $2",
      [.text(entity), .integer(Int64(limit))])
    return (0..<rows.count).map { row in
      func text(_ column: Int) -> String { rows.text(row, column) ?? "" }
      func count(_ column: Int) -> Int { rows.integer(row, column) }
      var run = RunRecord(
        run: text(0), entity: text(1), started: Int64(count(2)), finished: Int64(count(3)),
        outcome: RunRecord.Outcome(rawValue: text(4)) ?? .failed)
      run.reason = rows.text(row, 5)
      (run.pages, run.records, run.bytes) = (count(6), count(7), count(8))
      (run.inserted, run.updated, run.unchanged, run.deleted) = (count(9), count(10), count(11), count(12))
      (run.duplicates, run.rejected) = (count(13), count(14))
      run.scope = rows.text(row, 15)
      run.rowsInScope = rows.isNull(row, 16) ? nil : count(16)
      run.exceedsGuard = rows.isTrue(row, 17)
      return run
    }
  }

  static func state(of entity: String, in connection: Connection) throws -> [String: String] {
    guard try exists(in: connection) else { return [:] }
    let rows = try connection.run("SELECT name, value FROM syncd_state WHERE entity = $1", [.text(entity)])
    var state: [String: String] = [:]
    for row in 0..<rows.count { state[rows.text(row, 0) ?? ""] = rows.text(row, 1) }
    return state
  }

  static func pages(of entity: String, in connection: Connection) throws -> [KeptPage] {
    guard try exists(in: connection) else { return [] }
    var pages: [KeptPage] = []
    try connection.forEach(
      "SELECT page, validator, answer, keys FROM syncd_pages WHERE entity = $1 ORDER BY id", [.text(entity)]
    ) { row in
      func text(_ column: Int) -> String { String(decoding: row.bytes(0, column), as: UTF8.self) }
      pages.append(
        KeptPage(page: text(0), validator: text(1), answer: text(2), keys: Array(row.bytes(0, 3))))
    }
    return pages
  }

  /// Keeps what a run proved of an entity's pages, and nothing of pages that it did not see; nil keeps nothing.
  static func set(_ pages: ProvenPages?, of entity: String, in connection: Connection) throws {
    let known = try connection.run("SELECT page FROM syncd_pages WHERE entity = $1", [.text(entity)])
    for row in 0..<known.count {
      guard let page = known.text(row, 0), pages?.unchanged.contains(page) != true else { continue }
      try connection.run(
        "DELETE FROM syncd_pages WHERE entity = $1 AND page = $2", [.text(entity), .text(page)])
    }
    // A page that the database has no form of is asked for in full again.
    let encoding = ServerEncoding(of: connection)
    for page in pages?.fresh ?? []
    where [page.page, page.validator, page.answer].allSatisfy({ encoding.fault(of: $0, .text) == nil }) {
      try connection.run(
        "INSERT INTO syncd_pages (entity, page, validator, answer, keys) VALUES ($1, $2, $3, $4, $5)",
        [
          .text(entity), .text(page.page), .text(page.validator), .text(page.answer),
          .blob(page.keys),
        ])
    }
  }

  /// Forgets what other entities keep of their pages if they have rows in a table: it was changed.
  ///
  /// - Parameter spared: an entity whose slices keep theirs.
  static func forgetPages(
    on table: String, besides entity: String, sparingSlicesOf spared: String?, in connection: Connection
  ) throws {
    let owners = try connection.run(
      "SELECT entity FROM syncd_state WHERE name = 'tables' AND strpos(value, $1) > 0",
      [.text(quoted(table.asciiLowercased))])
    for row in 0..<owners.count {
      guard let owner = owners.text(row, 0) else { continue }
      if owner != entity {
        try connection.run("DELETE FROM syncd_pages WHERE entity = $1", [.text(owner)])
      }
      guard owner != spared, try WorkTables.isCut(owner, in: connection) else { continue }
      try connection.run(
        "DELETE FROM syncd_pages WHERE starts_with(entity, $1 || '[') AND entity <> $2",
        [.text(owner), .text(entity)])
    }
  }

  static func set(_ state: [String: String], of entity: String, in connection: Connection) throws {
    for (name, value) in state.sorted(by: { $0.key < $1.key }) {
      try connection.run(
        """
        INSERT INTO syncd_state (entity, name, value) SELECT $1, $2, $3
        WHERE NOT EXISTS (SELECT FROM syncd_state WHERE entity = $1 AND name = $2 AND value = $3)
        ON CONFLICT (entity, name) DO UPDATE SET value = excluded.value
        """,
        [.text(entity), .text(name), .text(value)])
    }
  }

  /// Notes that a table is the engine's own, which a rebuild may change.
  static func setMade(_ table: String, in connection: Connection) throws {
    try set(["table": "made"], of: table, in: connection)
  }

  /// Notes whether references of a table wait for the tables that they lead to.
  static func setReferences(pending: Bool, of table: String, in connection: Connection) throws {
    try set(["references": pending ? "pending" : "made"], of: table, in: connection)
  }

  static func hasPendingReferences(_ table: String, in connection: Connection) throws -> Bool {
    try connection.text(
      "SELECT 1 FROM syncd_state WHERE entity = $1 AND name = 'references' AND value = 'pending'",
      .text(table))
      != nil
  }

  static func isMade(_ table: String, in connection: Connection) throws -> Bool {
    guard try exists(in: connection) else { return false }
    return try connection.text(
      "SELECT 1 FROM syncd_state WHERE entity = $1 AND name = 'table' AND value = 'made'", .text(table))
      != nil
  }

  static func installationKey(in connection: Connection) throws -> String {
    func stored() throws -> String? {
      guard try exists(in: connection) else { return nil }
      return try connection.text("SELECT value FROM syncd_state WHERE entity = '' AND name = 'key'")
    }
    if let key = try stored() { return key }
    let fresh = DataEncoding.hex.string((0..<32).map { _ in UInt8.random(in: .min ... .max) })
    return try connection.transaction {
      try create(in: connection)
      // Another process may have been first.
      try connection.run(
        "INSERT INTO syncd_state (entity, name, value) VALUES ('', 'key', $1) ON CONFLICT DO NOTHING",
        [.text(fresh)])
      return try connection.text("SELECT value FROM syncd_state WHERE entity = '' AND name = 'key'") ?? fresh
    }
  }
}
