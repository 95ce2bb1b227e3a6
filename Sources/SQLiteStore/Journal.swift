import SyncEngine

/// The engine's own tables in the database: runs, state and rejected records.
enum Journal {
  static func create(in connection: Connection) throws {
    connection.createsJournal = true
    if let known = connection.journalVersion, try connection.schemaVersion == known { return }
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS syncd_runs (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL, entity TEXT NOT NULL, started_at TEXT NOT NULL,
        finished_at TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT, pages INTEGER NOT NULL,
        records INTEGER NOT NULL, bytes INTEGER NOT NULL, inserted INTEGER NOT NULL, updated INTEGER NOT NULL,
        unchanged INTEGER NOT NULL, deleted INTEGER NOT NULL, duplicates INTEGER NOT NULL, rejected INTEGER NOT NULL,
        scope TEXT, scope_rows INTEGER, exceeds_guard INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE INDEX IF NOT EXISTS syncd_runs_entity ON syncd_runs (entity, id);
      CREATE TABLE IF NOT EXISTS syncd_state (
        entity TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (entity, name)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS syncd_state_name ON syncd_state (name, value);
      CREATE TABLE IF NOT EXISTS syncd_pages (
        entity TEXT NOT NULL, page TEXT NOT NULL, validator TEXT NOT NULL, answer TEXT NOT NULL, keys BLOB NOT NULL,
        PRIMARY KEY (entity, page)
      ) STRICT;
      CREATE TABLE IF NOT EXISTS syncd_absent (
        entity TEXT NOT NULL, key TEXT NOT NULL, runs INTEGER NOT NULL, PRIMARY KEY (entity, key)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS syncd_rejects (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL, entity TEXT NOT NULL, page INTEGER NOT NULL,
        position INTEGER NOT NULL, key TEXT, field TEXT, path TEXT, reason TEXT NOT NULL, record TEXT NOT NULL
      ) STRICT;
      CREATE INDEX IF NOT EXISTS syncd_rejects_entity ON syncd_rejects (entity, id);
      """)
    // Those of a store that an earlier version made.
    for column in ["scope TEXT", "scope_rows INTEGER", "exceeds_guard INTEGER NOT NULL DEFAULT 0"] {
      let name = String(column.prefix { $0 != " " })
      if try connection.integer("SELECT 1 FROM pragma_table_info('syncd_runs') WHERE name = ?1", .text(name))
        == nil
      {
        try connection.execute("ALTER TABLE syncd_runs ADD COLUMN \(column)")
      }
    }
  }

  private static let columns =
    "run, entity, started_at, finished_at, outcome, reason, pages, records, bytes, inserted, updated, unchanged, deleted, duplicates, rejected, scope, scope_rows, exceeds_guard"

  static func append(_ run: RunRecord, in connection: Connection) throws {
    let counts = [
      run.pages, run.records, run.bytes, run.inserted, run.updated, run.unchanged, run.deleted,
      run.duplicates,
      run.rejected,
    ]
    try connection.run(
      "INSERT INTO syncd_runs (\(columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
      [
        .text(run.run), .text(run.entity), .text(Timestamp.text(run.started)),
        .text(Timestamp.text(run.finished)),
        .text(run.outcome.rawValue), run.reason.map { .text($0) } ?? .null,
      ] + counts.map { .integer(Int64($0)) } + [
        run.scope.map { .text($0) } ?? .null, run.rowsInScope.map { .integer(Int64($0)) } ?? .null,
        .integer(run.exceedsGuard ? 1 : 0),
      ])
  }

  /// The largest number of rows that runs of the same scope have judged in the last 24 hours, since a deletion that was
  /// allowed beyond the guard.
  static func largestScope(before run: RunRecord, in connection: Connection) throws -> Int {
    Int(
      try connection.integer(
        """
        SELECT max(scope_rows) FROM syncd_runs WHERE entity = ?1 AND scope IS ?2 AND started_at >= ?3 AND id > coalesce(
          (SELECT max(id) FROM syncd_runs WHERE entity = ?1 AND exceeds_guard), 0)
        """, .text(run.entity), run.scope.map { .text($0) } ?? .null,
        .text(Timestamp.text(run.started - 86_400_000))) ?? 0)
  }

  static func append(_ rejects: [BadRecord], of run: RunRecord, in connection: Connection) throws {
    for reject in rejects {
      func text(_ value: String?) -> StoredValue { value.map { .text($0) } ?? .null }
      try connection.run(
        "INSERT INTO syncd_rejects (run, entity, page, position, key, field, path, reason, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        [
          .text(run.run), .text(run.entity), .integer(Int64(reject.page)), .integer(Int64(reject.position)),
          text(reject.key), text(reject.column), text(reject.path), .text(reject.reason),
          .text(reject.record),
        ])
    }
    if !rejects.isEmpty {
      try connection.run(
        """
        DELETE FROM syncd_rejects WHERE entity = ?1 AND id NOT IN
        (SELECT id FROM syncd_rejects WHERE entity = ?1 ORDER BY id DESC LIMIT \(keptRejects))
        """, [.text(run.entity)])
    }
  }

  /// Rejected records of an entity that are kept; older ones go.
  private static let keptRejects = 10_000

  /// The rejected records of the given entities, the oldest first.
  static func rejects(of entities: [String], in connection: Connection) throws -> [Reject] {
    guard try connection.hasOwnTable("syncd_rejects") else { return [] }
    var found: [Reject] = []
    let statement = try connection.prepare(
      "SELECT run, entity, page, position, key, field, path, reason, record FROM syncd_rejects ORDER BY id")
    func text(_ column: Int32) -> String? { statement.isNull(column) ? nil : statement.text(column) }
    while try connection.step(statement) {
      guard entities.contains(statement.text(1)) else { continue }
      found.append(
        Reject(
          run: statement.text(0), entity: statement.text(1),
          record: BadRecord(
            page: Int(statement.integer(2)), position: Int(statement.integer(3)), key: text(4),
            column: text(5),
            path: text(6), reason: statement.text(7), record: statement.text(8))))
    }
    return found
  }

  /// The last runs of an entity, the latest first.
  static func runs(of entity: String, limit: Int, in connection: Connection) throws -> [RunRecord] {
    guard try connection.hasOwnTable("syncd_runs") else { return [] }
    let statement = try connection.prepare(
      "SELECT \(columns) FROM syncd_runs WHERE entity = ?1 ORDER BY id DESC LIMIT ?2")
    try statement.bind([.text(entity), .integer(Int64(limit))])
    var runs: [RunRecord] = []
    while try connection.step(statement) { runs.append(run(in: statement)) }
    return runs
  }

  private static func run(in statement: borrowing Statement) -> RunRecord {
    var run = RunRecord(
      run: statement.text(0), entity: statement.text(1), started: Timestamp.parse(statement.text(2)) ?? 0,
      finished: Timestamp.parse(statement.text(3)) ?? 0,
      outcome: RunRecord.Outcome(rawValue: statement.text(4)) ?? .failed)
    run.reason = statement.isNull(5) ? nil : statement.text(5)
    func count(_ column: Int32) -> Int { Int(statement.integer(column)) }
    (run.pages, run.records, run.bytes) = (count(6), count(7), count(8))
    (run.inserted, run.updated, run.unchanged, run.deleted) = (count(9), count(10), count(11), count(12))
    (run.duplicates, run.rejected) = (count(13), count(14))
    run.scope = statement.isNull(15) ? nil : statement.text(15)
    run.rowsInScope = statement.isNull(16) ? nil : count(16)
    run.exceedsGuard = count(17) != 0
    return run
  }

  static func state(of entity: String, in connection: Connection) throws -> [String: String] {
    guard try connection.hasOwnTable("syncd_state") else { return [:] }
    let statement = try connection.prepare("SELECT name, value FROM syncd_state WHERE entity = ?1")
    try statement.bind([.text(entity)])
    var state: [String: String] = [:]
    while try connection.step(statement) { state[statement.text(0)] = statement.text(1) }
    return state
  }

  static func pages(of entity: String, in connection: Connection) throws -> [KeptPage] {
    guard try connection.hasOwnTable("syncd_pages") else { return [] }
    let statement = try connection.prepare(
      "SELECT page, validator, answer, keys FROM syncd_pages WHERE entity = ?1 ORDER BY rowid")
    try statement.bind([.text(entity)])
    var pages: [KeptPage] = []
    while try connection.step(statement) {
      pages.append(
        KeptPage(
          page: statement.text(0), validator: statement.text(1), answer: statement.text(2),
          keys: statement.blob(3)))
    }
    return pages
  }

  /// Keeps what a run proved of an entity's pages, and nothing of pages that it did not see; nil keeps nothing.
  static func set(_ pages: ProvenPages?, of entity: String, in connection: Connection) throws {
    let known = try connection.prepare("SELECT page FROM syncd_pages WHERE entity = ?1")
    try known.bind([.text(entity)])
    var gone: [String] = []
    while try connection.step(known) {
      if pages?.unchanged.contains(known.text(0)) != true { gone.append(known.text(0)) }
    }
    for page in gone {
      try connection.run(
        "DELETE FROM syncd_pages WHERE entity = ?1 AND page = ?2", [.text(entity), .text(page)])
    }
    for page in pages?.fresh ?? [] {
      try connection.run(
        "INSERT INTO syncd_pages (entity, page, validator, answer, keys) VALUES (?1, ?2, ?3, ?4, ?5)",
        [.text(entity), .text(page.page), .text(page.validator), .text(page.answer), .blob(page.keys)])
    }
  }

  /// Forgets what other entities keep of their pages if they have rows in a table: it was changed.
  static func forgetPages(on table: String, besides entity: String, in connection: Connection) throws {
    let name = StoredValue.text(quoted(table.asciiLowercased))
    try connection.run(
      """
      DELETE FROM syncd_pages WHERE entity <> ?1 AND entity IN (
        SELECT entity FROM syncd_state WHERE name = 'tables' AND value = ?2
        UNION ALL SELECT entity FROM syncd_state WHERE name = 'tables' AND value < '!' AND instr(value, ?2) > 0)
      """, [.text(entity), name])
  }

  static func set(_ state: [String: String], of entity: String, in connection: Connection) throws {
    for (name, value) in state {
      try connection.run(
        "INSERT INTO syncd_state (entity, name, value) VALUES (?1, ?2, ?3) ON CONFLICT (entity, name) DO UPDATE SET value = excluded.value WHERE value IS NOT excluded.value",
        [.text(entity), .text(name), .text(value)])
    }
  }

  /// Notes that a table is the engine's own, which a rebuild may change.
  static func setMade(_ table: String, in connection: Connection) throws {
    try set(["table": "made"], of: table, in: connection)
  }

  static func isMade(_ table: String, in connection: Connection) throws -> Bool {
    guard try connection.hasOwnTable("syncd_state") else { return false }
    // The names of tables do not tell case apart.
    let condition = "name = 'table' AND value = 'made' AND entity = ?1"
    return try connection.integer("SELECT 1 FROM syncd_state WHERE \(condition)", .text(table)) != nil
      || connection.integer("SELECT 1 FROM syncd_state WHERE \(condition) COLLATE NOCASE", .text(table))
        != nil
  }

  static func installationKey(in connection: Connection) throws -> String {
    func stored() throws -> String? {
      guard try connection.hasOwnTable("syncd_state") else { return nil }
      return try connection.text("SELECT value FROM syncd_state WHERE entity = '' AND name = 'key'")
    }
    if let key = try stored() { return key }
    return try connection.transaction { connection in
      try create(in: connection)
      // Another process may have been first.
      try connection.execute(
        "INSERT INTO syncd_state (entity, name, value) VALUES ('', 'key', lower(hex(randomblob(32)))) ON CONFLICT DO NOTHING"
      )
      return try connection.text("SELECT value FROM syncd_state WHERE entity = '' AND name = 'key'") ?? ""
    }
  }
}

extension Timestamp {
  static func parse(_ text: String) -> Int64? {
    var text = text
    return text.withUTF8 { parse($0) }
  }
}
