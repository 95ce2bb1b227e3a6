import SyncEngine

/// The tables of shared work: who works, what there is to do, what slices have seen, when an API may be asked.
///
/// All times are the server's own (`clock_timestamp()`): the workers' clocks need not agree.
package enum WorkTables {
  private static let tables: [(name: String, definition: String)] = [
    (
      "syncd_workers",
      """
      (id bigint PRIMARY KEY, name text NOT NULL, pid integer NOT NULL,
      started_at timestamptz NOT NULL, seen_at timestamptz NOT NULL, expires_at timestamptz NOT NULL)
      """
    ),
    // Each run writes its unit twice: what is left behind is to be cleared away soon, and found room for on the same page.
    (
      "syncd_units",
      """
      (entity text NOT NULL, slice text NOT NULL, every_ms bigint NOT NULL, cadence_at timestamptz NOT NULL,
      ready_at timestamptz NOT NULL, holder bigint, fence bigint NOT NULL DEFAULT 0, claimed_at timestamptz,
      finished_at timestamptz, failures integer NOT NULL DEFAULT 0, deaths integer NOT NULL DEFAULT 0, generation bigint NOT NULL DEFAULT 0,
      generation_at timestamptz, is_proven boolean NOT NULL DEFAULT false, PRIMARY KEY (entity, slice))
      WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0)
      """
    ),
    (
      "syncd_slices",
      """
      (entity text NOT NULL, slice text NOT NULL, generation bigint NOT NULL, keys bytea NOT NULL,
      PRIMARY KEY (entity, slice))
      """
    ),
    (
      "syncd_rates",
      "(api text PRIMARY KEY, next_at timestamptz NOT NULL, paused_until timestamptz) WITH (fillfactor = 50)"
    ),
  ]

  private static let indexes = [
    "CREATE INDEX syncd_units_ready ON syncd_units (entity, ready_at) WHERE holder IS NULL",
    "CREATE INDEX syncd_units_held ON syncd_units (entity, holder) WHERE holder IS NOT NULL",
    // Among what is kept for very many slices.
    "CREATE INDEX syncd_state_tables ON syncd_state (entity) WHERE name = 'tables'",
    "CREATE INDEX syncd_units_lagging ON syncd_units (entity, generation) WHERE slice <> ''",
  ]

  static func exist(in connection: Connection) throws -> Bool {
    try connection.text("SELECT to_regclass('syncd_rates')") != nil
  }

  /// Creates the tables that are absent. In a transaction.
  package static func create(in connection: Connection) throws {
    try Journal.create(in: connection)
    if try exist(in: connection) { return }
    try Journal.lockCreation(in: connection)
    if try exist(in: connection) { return }
    for (name, definition) in tables { try connection.execute("CREATE TABLE \(name) \(definition)") }
    for index in indexes { try connection.execute(index) }
  }

  // MARK: Workers

  /// What a worker's sessions are called.
  static func application(of worker: Int64) -> String { "syncd worker \(worker)" }

  /// Adds a worker, whose session holds the lock that says that it is there. In a transaction.
  ///
  /// Its number is a random one: it is the key of the lock, and in the name of its sessions, which are those of all schemas of
  /// a database (postgresql.org/docs/15/functions-admin.html#FUNCTIONS-ADVISORY-LOCKS).
  package static func join(as name: String, lease: Duration, in connection: Connection) throws -> Int64 {
    let id = Int64.random(in: 1...Int64.max)
    try connection.run(
      """
      INSERT INTO syncd_workers (id, name, pid, started_at, seen_at, expires_at)
      VALUES ($1, $2, pg_backend_pid(), clock_timestamp(), clock_timestamp(), clock_timestamp() + $3::bigint * interval '1 millisecond')
      """, [.integer(id), .text(name), milliseconds(lease)])
    try connection.run("SELECT pg_advisory_lock($1)", [.integer(id)])
    return id
  }

  /// False where the lease has ended.
  package static func renew(_ worker: Int64, lease: Duration, in connection: Connection) throws -> Bool {
    try connection.run(
      """
      UPDATE syncd_workers SET seen_at = clock_timestamp(), expires_at = clock_timestamp() + $2::bigint * interval '1 millisecond'
      WHERE id = $1 AND expires_at > clock_timestamp()
      """, [.integer(worker), milliseconds(lease)]
    ).changes == 1
  }

  /// Of all workers about so many look in the time between two renewals for those that are gone: the list of locks that each
  /// of them goes through is as long as there are workers.
  private static let reapers = 4

  /// Frees what workers hold whose lease is over or whose session has ended, and ends their sessions: one that hangs in a
  /// transaction, or holds a table's lock, holds up others. In a transaction.
  ///
  /// A unit whose worker ended under it is due at once; one that this happens to again and again, later and later.
  ///
  /// - Returns: how many workers there are.
  @discardableResult
  package static func reap(in connection: Connection) throws -> Int {
    let workers = try connection.integer("SELECT count(*) FROM syncd_workers") ?? 0
    if workers > 0, Int.random(in: 0..<workers) >= reapers { return workers }
    let gone = try connection.run(
      """
      SELECT id FROM syncd_workers w WHERE expires_at < clock_timestamp() OR NOT EXISTS (
        SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND (classid::bigint << 32) | objid::bigint = w.id
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
      ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED
      """)
    for row in 0..<gone.count {
      guard let worker = gone.text(row, 0).flatMap({ Int64($0) }) else { continue }
      try connection.run(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = $1 AND datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
        """, [.text(application(of: worker))])
      try connection.run(
        """
        UPDATE syncd_units SET holder = NULL, fence = fence + 1, deaths = deaths + 1, ready_at = clock_timestamp()
          + CASE WHEN deaths = 0 THEN 0 ELSE 5 * 2 ^ least(deaths - 1, 6) END * interval '1 second'
        WHERE (entity, slice) IN (SELECT entity, slice FROM syncd_units WHERE holder = $1 FOR UPDATE SKIP LOCKED)
        """, [.integer(worker)])
      // What its session has locked until it has ended is freed the next time.
      try connection.run(
        "DELETE FROM syncd_workers WHERE id = $1 AND NOT EXISTS (SELECT FROM syncd_units WHERE holder = $1)",
        [.integer(worker)])
    }
    return workers
  }

  /// Gives back what a worker holds, which others may have at once. In a transaction.
  package static func leave(_ worker: Int64, in connection: Connection) throws {
    try connection.run(
      "UPDATE syncd_units SET holder = NULL, fence = fence + 1, ready_at = least(ready_at, clock_timestamp()) WHERE holder = $1",
      [.integer(worker)])
    try connection.run("DELETE FROM syncd_workers WHERE id = $1", [.integer(worker)])
    try connection.run("SELECT pg_advisory_unlock($1)", [.integer(worker)])
  }

  /// Gives back what a worker holds and does not know of, since the answer to a claim or the end of one was lost.
  package static func giveBack(allOf worker: Int64, besides claims: Set<Claim>, in connection: Connection)
    throws
  {
    let known = claims.map { "\($0.unit.entity) \($0.unit.slice)" }
    try connection.run(
      """
      UPDATE syncd_units SET holder = NULL, fence = fence + 1, ready_at = least(ready_at, clock_timestamp())
      WHERE (entity, slice) IN (SELECT entity, slice FROM syncd_units
        WHERE holder = $1 AND entity || ' ' || slice <> ALL ($2::text[]) FOR UPDATE SKIP LOCKED)
      """, [.integer(worker), .text(array(known))])
  }

  // MARK: Units

  /// Adds the entities that are not there yet, due at once, and takes over new intervals. In a transaction.
  ///
  /// - Returns: false where some units have other intervals still.
  package static func declare(_ schedules: [String: Schedule], in connection: Connection) throws -> Bool {
    let entities = schedules.sorted { $0.key < $1.key }
    let parameters: [StoredValue] = [
      .text(array(entities.map(\.key))), .text(array(entities.map { String($0.value.every.milliseconds) })),
    ]
    try connection.run(
      """
      INSERT INTO syncd_units (entity, slice, every_ms, cadence_at, ready_at, generation, generation_at)
      SELECT e, '', m, clock_timestamp(), clock_timestamp(), 1, clock_timestamp()
      FROM unnest($1::text[], $2::bigint[]) AS n(e, m) ON CONFLICT DO NOTHING
      """, parameters)
    // Slices have their entity's interval: where that has not changed, none of them is looked at. Its own row is the last one to
    // change, and is held meanwhile: slices that are added have its interval.
    let changed = try connection.run(
      """
      SELECT e, m FROM unnest($1::text[], $2::bigint[]) AS n(e, m) JOIN syncd_units ON entity = e AND slice = '' AND every_ms <> m
      FOR UPDATE OF syncd_units SKIP LOCKED
      """, parameters)
    for row in 0..<changed.count {
      try change([.text(changed.text(row, 0) ?? ""), .text(changed.text(row, 1) ?? "")], in: connection)
    }
    return try connection.text(
      "SELECT 1 FROM unnest($1::text[], $2::bigint[]) AS n(e, m) JOIN syncd_units ON entity = e AND slice = '' AND every_ms <> m LIMIT 1",
      parameters[0], parameters[1]) == nil
  }

  /// Gives units another interval: those of a name, with so many milliseconds.
  ///
  /// A shorter interval counts from the last run, and so do the times after that. A unit that is under way has it when it ends.
  /// Who is just committing one is not waited for: the lease would end meanwhile.
  private static func change(_ interval: [StoredValue], in connection: Connection) throws {
    func change(_ condition: String) throws {
      try connection.run(
        """
        UPDATE syncd_units u SET every_ms = m,
          cadence_at = least(cadence_at, coalesce(finished_at, clock_timestamp()) + m * interval '1 millisecond'),
          ready_at = CASE WHEN failures = 0
          THEN least(ready_at, coalesce(finished_at, clock_timestamp()) + m * interval '1 millisecond') ELSE ready_at END
        FROM (SELECT entity, slice, $2::bigint AS m FROM syncd_units WHERE entity = $1 AND every_ms <> $2::bigint AND \(condition)
          FOR UPDATE SKIP LOCKED) c
        WHERE u.entity = c.entity AND u.slice = c.slice
        """, interval)
    }
    try change("slice <> ''")
    let left = try connection.run(
      "SELECT FROM syncd_units WHERE entity = $1 AND every_ms <> $2::bigint AND slice <> '' LIMIT 1", interval
    )
    if left.count == 0 { try change("slice = ''") }
  }

  /// What is known of an entity's units before one is claimed.
  package struct Readiness {
    var entity: String
    /// Until the first one is due; zero or less where one is. Nil where all are held.
    var wait: Int?
    var isHeld: Bool
  }

  package static func readiness(of entities: [String], in connection: Connection) throws -> [Readiness] {
    let rows = try connection.run(
      """
      SELECT e, (SELECT floor(extract(epoch FROM ready_at - clock_timestamp()) * 1000) FROM syncd_units
          WHERE entity = e AND holder IS NULL ORDER BY ready_at LIMIT 1),
        EXISTS (SELECT FROM syncd_units WHERE entity = e AND holder IS NOT NULL)
      FROM unnest($1::text[]) AS n(e)
      """, [.text(array(entities))])
    return (0..<rows.count).map { row in
      Readiness(
        entity: rows.text(row, 0) ?? "", wait: rows.isNull(row, 1) ? nil : rows.integer(row, 1),
        isHeld: rows.isTrue(row, 2))
    }
  }

  /// Claims units that are due, of the entities in their order.
  ///
  /// The worker's row is held meanwhile: whoever reaps it would not see what it is claiming, which nobody would free then.
  /// The time is that of the statement: an index is not searched for one that may be another one for each row
  /// (postgresql.org/docs/15/xfunc-volatility.html).
  static func claim(
    for worker: Int64, _ entities: [(name: String, schedule: Schedule)], limit: Int, in connection: Connection
  ) throws -> [Claim] {
    let rows = try connection.run(
      """
      WITH me AS MATERIALIZED (
        SELECT FROM syncd_workers WHERE id = $3 AND expires_at > clock_timestamp() FOR KEY SHARE),
      chosen AS MATERIALIZED (
        SELECT u.entity, u.slice FROM unnest($1::text[]) WITH ORDINALITY AS n(e, place) CROSS JOIN LATERAL (
          SELECT entity, slice FROM syncd_units WHERE entity = n.e AND holder IS NULL AND ready_at <= statement_timestamp()
          ORDER BY ready_at LIMIT $2::bigint FOR UPDATE SKIP LOCKED) u
        WHERE EXISTS (SELECT FROM me)
        LIMIT $2::bigint)
      UPDATE syncd_units u SET holder = $3, fence = u.fence + 1, claimed_at = clock_timestamp()
      FROM chosen c WHERE u.entity = c.entity AND u.slice = c.slice
      RETURNING u.entity, u.slice, u.fence, u.failures,
        (SELECT g.generation FROM syncd_units g WHERE g.entity = u.entity AND g.slice = ''),
        (SELECT (extract(epoch FROM g.generation_at) * 1000)::bigint FROM syncd_units g WHERE g.entity = u.entity AND g.slice = '')
      """, [.text(array(entities.map(\.name))), .integer(Int64(limit)), .integer(worker)])
    return (0..<rows.count).compactMap { row in
      let entity = rows.text(row, 0) ?? ""
      guard let schedule = entities.first(where: { $0.name == entity })?.schedule else { return nil }
      return Claim(
        unit: WorkUnit(entity: entity, slice: rows.text(row, 1) ?? ""), worker: worker,
        fence: Int64(rows.integer(row, 2)), generation: Int64(rows.integer(row, 4)),
        generationBegan: Int64(rows.integer(row, 5)), failures: rows.integer(row, 3), schedule: schedule)
    }
  }

  /// The unit's row, as long as the claim holds.
  private static let held =
    """
    u.entity = $1 AND u.slice = $2 AND u.holder = $3 AND u.fence = $4
    AND EXISTS (SELECT FROM syncd_workers w WHERE w.id = u.holder AND w.expires_at > clock_timestamp())
    """

  private static func identity(_ claim: Claim) -> [StoredValue] {
    [.text(claim.unit.entity), .text(claim.unit.slice), .integer(claim.worker), .integer(claim.fence)]
  }

  /// The next time of a cadence that is still to come, as SQL; what was missed is not made up for. A run that was wanted
  /// between two times leaves the later one where it is.
  private static func next(_ schedule: Schedule) -> String {
    // The interval of the row: it may have changed since the claim.
    schedule.isAligned
      ? "to_timestamp((floor(extract(epoch FROM statement_timestamp()) * 1000 / every_ms) + 1) * every_ms / 1000)"
      : "cadence_at + greatest(0, floor(extract(epoch FROM statement_timestamp() - cadence_at) * 1000 / every_ms) + 1) * every_ms * interval '1 millisecond'"
  }

  /// The columns of a unit that has run, or is passed over until its next time.
  private static func rescheduled(_ schedule: Schedule) -> String {
    let (next, jitter) = (next(schedule), schedule.jitter.milliseconds)
    return
      "holder = NULL, cadence_at = \(next), ready_at = \(next) + random() * \(jitter) * interval '1 millisecond'"
  }

  /// Ends a claim without a commit; false where there is none to end.
  static func release(_ claim: Claim, wait: Duration?, isFailure: Bool, in connection: Connection) throws
    -> Bool
  {
    let change =
      wait.map {
        "holder = NULL, ready_at = clock_timestamp() + \(max(0, $0.milliseconds)) * interval '1 millisecond'"
      }
      ?? rescheduled(claim.schedule)
    // Failures in a row; less than none says that the last run was refused, which the ones after it are told from.
    let failures = !isFailure ? "failures" : wait == nil ? "-1" : "greatest(failures, 0) + 1"
    return try connection.run(
      "UPDATE syncd_units u SET \(change), failures = \(failures) WHERE \(held)",
      identity(claim)
    ).changes == 1
  }

  static func runNow(_ entities: [String], in connection: Connection) throws {
    try connection.run(
      "UPDATE syncd_units SET ready_at = clock_timestamp() WHERE entity = ANY ($1::text[]) AND holder IS NULL",
      [.text(array(entities))])
  }

  /// How long a worker leaves the looking to others at least: all together look about 500 times a second, as many as they are.
  package static func rest(among workers: Int) -> Duration {
    .microseconds(Int64(workers) * Int64.random(in: 1000...3000))
  }

  // MARK: Slices

  /// Whether an entity has slices.
  static func isCut(_ entity: String, in connection: Connection) throws -> Bool {
    guard try exist(in: connection) else { return false }
    return try connection.text(
      "SELECT 1 FROM syncd_units WHERE entity = $1 AND slice <> '' LIMIT 1", .text(entity)) != nil
  }

  /// - Throws: ``ClaimLost``
  package static func cut(
    _ claim: Claim, into slices: [String], isOnlyIfNew: Bool = false, in connection: Connection
  ) throws -> (added: Int, removed: Int) {
    try demand(claim, in: connection)
    let parameters: [StoredValue] = [.text(claim.unit.entity), .text(array(slices))]
    // One that is under way goes the next time. As sets: where a plan is made without statistics, names would be compared
    // each with every other.
    let gone = try connection.run(
      """
      WITH gone AS MATERIALIZED (SELECT slice FROM syncd_units WHERE entity = $1 AND slice <> '' EXCEPT SELECT unnest($2::text[]))
      DELETE FROM syncd_units u USING gone WHERE u.entity = $1 AND u.slice = gone.slice AND u.holder IS NULL RETURNING u.entity, u.slice
      """, parameters)
    let removed = try forget(gone, in: connection)
    let added = try connection.run(
      """
      INSERT INTO syncd_units (entity, slice, every_ms, cadence_at, ready_at)
      SELECT u.entity, s, u.every_ms, u.cadence_at, clock_timestamp()
      FROM syncd_units u, (SELECT unnest($2::text[]) EXCEPT SELECT slice FROM syncd_units WHERE entity = $1) AS n(s)
      WHERE u.entity = $1 AND u.slice = '' ON CONFLICT DO NOTHING
      """, parameters
    ).changes
    if isOnlyIfNew, added == 0 { return (0, removed) }
    try connection.run(
      "UPDATE syncd_units u SET \(rescheduled(claim.schedule)), finished_at = clock_timestamp(), (failures, deaths) = (0, 0) WHERE \(held)",
      identity(claim))
    // The last slice may have ended meanwhile.
    try noteEnd(of: claim.unit.entity, in: connection)
    return (added, removed)
  }

  /// So many new units are not waited for until the server notices them by itself.
  static let many = 1000

  /// Lets the server see how many units there are.
  package static func analyze(in connection: Connection) throws {
    try connection.execute("ANALYZE syncd_units")
  }

  package static func generation(of entity: String, in connection: Connection) throws -> SliceGeneration {
    let now = try connection.run(
      """
      SELECT e.generation, (extract(epoch FROM e.generation_at) * 1000)::bigint, count(s.slice),
        count(s.slice) FILTER (WHERE s.generation >= e.generation),
        count(s.slice) FILTER (WHERE s.generation >= e.generation AND s.is_proven)
      FROM syncd_units e LEFT JOIN syncd_units s ON s.entity = e.entity AND s.slice <> ''
      WHERE e.entity = $1 AND e.slice = '' GROUP BY 1, 2
      """, [.text(entity)])
    var sums = RunRecord(run: "", entity: entity, started: 0, finished: 0, outcome: .failed)
    guard now.count > 0 else {
      return SliceGeneration(number: 0, began: 0, slices: 0, done: 0, proven: 0, sums: sums, firstDoubt: nil)
    }
    var generation = SliceGeneration(
      number: Int64(now.integer(0, 0)), began: Int64(now.integer(0, 1)), slices: now.integer(0, 2),
      done: now.integer(0, 3), proven: now.integer(0, 4), sums: sums, firstDoubt: nil)
    // Only the last one to come needs the rest.
    guard generation.slices > 0, generation.done == generation.slices else { return generation }
    let runs = try connection.run(
      """
      SELECT sum(r.pages), sum(r.records), sum(r.bytes), sum(r.inserted), sum(r.updated), sum(r.unchanged), sum(r.deleted),
        sum(r.duplicates), sum(r.rejected),
        min(s.slice || ': ' || coalesce(r.reason, 'only what changed was asked for')) FILTER (WHERE NOT s.is_proven)
      FROM syncd_units s CROSS JOIN LATERAL (SELECT * FROM syncd_runs WHERE entity = s.entity || '[' || s.slice || ']'
        AND outcome NOT IN ('failed', 'refused') ORDER BY id DESC LIMIT 1) r
      WHERE s.entity = $1 AND s.slice <> ''
      """, [.text(entity)])
    func sum(_ column: Int) -> Int { runs.integer(0, column) }
    (sums.pages, sums.records, sums.bytes) = (sum(0), sum(1), sum(2))
    (sums.inserted, sums.updated, sums.unchanged, sums.deleted) = (sum(3), sum(4), sum(5), sum(6))
    (sums.duplicates, sums.rejected) = (sum(7), sum(8))
    (generation.sums, generation.firstDoubt) = (sums, runs.text(0, 9))
    return generation
  }

  /// Whether a generation of slices goes on in which all of them were walked. In the transaction of its end.
  static func isComplete(_ claim: Claim, in connection: Connection) throws -> Bool {
    try connection.text(
      """
      SELECT 1 FROM syncd_units e WHERE entity = $1 AND slice = '' AND generation = $2 AND NOT EXISTS (
        SELECT FROM syncd_units s WHERE s.entity = e.entity AND s.slice <> '' AND s.generation < e.generation)
      """, .text(claim.unit.entity), .integer(claim.generation)) != nil
  }

  /// Calls `body` with what each slice has seen in its last run.
  package static func slices(
    of entity: String, in connection: Connection, _ body: (SliceRecord) -> Void
  ) throws {
    try connection.forEach(
      """
      SELECT u.is_proven AND k.generation IS NOT DISTINCT FROM u.generation, k.keys FROM syncd_units u
      LEFT JOIN syncd_slices k USING (entity, slice) WHERE u.entity = $1 AND u.slice <> ''
      """, [.text(entity)]
    ) { row in
      let isProven = row.bytes(0, 0).first == 1
      body(
        SliceRecord(isProven: isProven, keys: isProven && !row.isNull(0, 1) ? Array(row.bytes(0, 1)) : nil))
    }
  }

  // MARK: Commits

  /// - Throws: ``ClaimLost``
  private static func demand(_ claim: Claim, in connection: Connection) throws {
    guard
      try connection.run("SELECT 1 FROM syncd_units u WHERE \(held) FOR UPDATE OF u", identity(claim)).count
        == 1
    else { throw ClaimLost(claim.unit) }
  }

  package static func begin(
    _ settlement: Settlement, on schemas: [TableSchema], in connection: Connection
  ) throws {
    // Of those that make a table or a column one goes first.
    let isMade = try schemas.allSatisfy { schema in
      try connection.integer(
        "SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname::text = ANY ($2::text[]) AND NOT attisdropped",
        .text(quoted(schema.name)), .text(array(schema.columns.map(\.name)))) == schema.columns.count
    }
    let key = try PostgreSQL.key(ofTable: schemas[0].name, connection) ^ commits
    let suffix = settlement.isAlone || !isMade ? "" : "_shared"
    try connection.run("SELECT pg_advisory_xact_lock\(suffix)($1)", [.integer(key)])
    // What this session knows of absent tables is from before the wait.
    if !isMade { try connection.execute("SELECT FROM pg_class LIMIT 0") }
    try demand(settlement.claim, in: connection)
  }

  /// Tells the lock of a table's commits from that of its runs.
  private static let commits: Int64 = 0x636F_6D6D_6974

  package static func settle(_ settlement: Settlement, in connection: Connection) throws {
    let claim = settlement.claim
    // The end of a generation comes between two times of the cadence, and leaves the later one where it is.
    var change =
      settlement.closesGeneration ? "holder = NULL, ready_at = cadence_at" : rescheduled(claim.schedule)
    change += ", finished_at = clock_timestamp(), (failures, deaths) = (0, 0)"
    if let slice = settlement.slice {
      change += ", generation = \(claim.generation), is_proven = \(slice.isProven)"
      try keep(slice, of: claim, in: connection)
    } else if !settlement.closesGeneration {
      // An entity that is not cut has no slices any more; what those have seen that others are just doing is out of date.
      let gone = try connection.run(
        "DELETE FROM syncd_units WHERE entity = $1 AND slice <> '' AND holder IS NULL RETURNING entity, slice",
        [.text(claim.unit.entity)])
      _ = try forget(gone, in: connection)
      change += """
        , generation = generation + (EXISTS (SELECT FROM syncd_units s WHERE s.entity = u.entity AND s.slice <> ''))::integer
        """
    }
    if settlement.closesGeneration {
      change += ", generation = generation + 1, generation_at = clock_timestamp()"
    }
    let ended = try connection.run("UPDATE syncd_units u SET \(change) WHERE \(held)", identity(claim))
    // A lease may end while a long transaction goes on.
    guard ended.changes == 1 else { throw ClaimLost(claim.unit) }
  }

  /// Of a slice's runs the last are kept: there may be very many slices.
  private static let keptRuns = 100

  private static func keep(_ slice: SliceRecord, of claim: Claim, in connection: Connection) throws {
    if let keys = slice.keys {
      try connection.run(
        """
        INSERT INTO syncd_slices AS k (entity, slice, generation, keys) VALUES ($1, $2, $3, $4)
        ON CONFLICT (entity, slice) DO UPDATE SET generation = excluded.generation,
          keys = CASE WHEN k.keys = excluded.keys THEN k.keys ELSE excluded.keys END
        """,
        [.text(claim.unit.entity), .text(claim.unit.slice), .integer(claim.generation), .blob(keys)])
    } else {
      // Those of a run before it do not hold what this one wrote.
      try connection.run(
        "DELETE FROM syncd_slices WHERE entity = $1 AND slice = $2",
        [.text(claim.unit.entity), .text(claim.unit.slice)])
    }
    try connection.run(
      """
      DELETE FROM syncd_runs WHERE entity = $1 AND rejected = 0
      AND id < (SELECT id FROM syncd_runs WHERE entity = $1 ORDER BY id DESC LIMIT 1 OFFSET \(keptRuns - 1))
      """, [.text(claim.unit.name)])
  }

  /// Where the last slice of a generation has ended, the entity is due: what no slice saw is gone. An end that has failed or
  /// was refused has its time already.
  package static func noteEnd(of entity: String, in connection: Connection) throws {
    try connection.run(
      """
      UPDATE syncd_units e SET ready_at = clock_timestamp() WHERE entity = $1 AND slice = '' AND holder IS NULL
      AND ready_at > clock_timestamp() AND failures = 0
      AND EXISTS (SELECT FROM syncd_units s WHERE s.entity = $1 AND s.slice <> '')
      AND NOT EXISTS (SELECT FROM syncd_units s WHERE s.entity = $1 AND s.slice <> '' AND s.generation < e.generation)
      """, [.text(entity)])
  }

  package static func voidGeneration(of entity: String, in connection: Connection) throws {
    guard try exist(in: connection) else { return }
    try connection.run(
      """
      UPDATE syncd_units e SET generation = generation + 1, generation_at = clock_timestamp() WHERE entity = $1 AND slice = ''
      AND EXISTS (SELECT FROM syncd_units s WHERE s.entity = $1 AND s.slice <> '')
      """, [.text(entity)])
  }

  // MARK: Rates

  /// Takes an API's next turn: one after the other, whoever asks.
  ///
  /// - Returns: the time until it is there, in milliseconds.
  static func take(_ api: String, every interval: Duration, in connection: Connection) throws -> Double {
    let step = microseconds(interval)
    let text = try connection.text(
      """
      INSERT INTO syncd_rates AS r (api, next_at) VALUES ($1, clock_timestamp() + \(step))
      ON CONFLICT (api) DO UPDATE SET next_at = greatest(r.next_at, clock_timestamp(), r.paused_until) + \(step)
      RETURNING extract(epoch FROM next_at - \(step) - clock_timestamp()) * 1000
      """, .text(api))
    return text.flatMap { Double($0) } ?? 0
  }

  static func pause(_ api: String, for time: Duration, in connection: Connection) throws {
    let end = "clock_timestamp() + \(microseconds(time))"
    try connection.run(
      """
      INSERT INTO syncd_rates AS r (api, next_at, paused_until) VALUES ($1, \(end), \(end))
      ON CONFLICT (api) DO UPDATE SET paused_until = greatest(r.paused_until, \(end))
      """, [.text(api)])
  }

  // MARK: Looking

  package static func look(leases limit: Int, in connection: Connection) throws -> SharedWork? {
    guard try exist(in: connection) else { return nil }
    let instant = { (name: String) in "(extract(epoch FROM \(name)) * 1000)::bigint" }
    let workers = try connection.run(
      """
      SELECT id, name, \(instant("started_at")), \(instant("seen_at")), \(instant("expires_at - clock_timestamp()")),
        coalesce(held, 0) FROM syncd_workers w
      LEFT JOIN (SELECT holder, count(*) AS held FROM syncd_units WHERE holder IS NOT NULL GROUP BY holder) u ON holder = id
      ORDER BY name, id
      """)
    let units = try connection.run(
      """
      SELECT entity, greatest(count(*) FILTER (WHERE slice <> ''), 1),
        count(*) FILTER (WHERE holder IS NULL AND ready_at <= clock_timestamp()), count(holder),
        count(*) FILTER (WHERE failures <> 0 OR deaths > 0), max(generation) FILTER (WHERE slice = ''), count(*) > 1,
        count(*) FILTER (WHERE slice <> '' AND generation >= present),
        \(instant("min(ready_at) FILTER (WHERE holder IS NULL) - clock_timestamp()"))
      FROM syncd_units LEFT JOIN (SELECT entity, generation AS present FROM syncd_units WHERE slice = '') g USING (entity)
      GROUP BY entity ORDER BY entity
      """)
    let leases = try connection.run(
      """
      SELECT u.entity, u.slice, coalesce(w.name, ''), u.fence, \(instant("u.claimed_at"))
      FROM syncd_units u LEFT JOIN syncd_workers w ON w.id = u.holder WHERE u.holder IS NOT NULL
      ORDER BY u.claimed_at LIMIT $1
      """, [.integer(Int64(limit))])
    return SharedWork(
      workers: (0..<workers.count).map { row in
        SharedWork.Worker(
          id: Int64(workers.integer(row, 0)), name: workers.text(row, 1) ?? "",
          started: Int64(workers.integer(row, 2)), seen: Int64(workers.integer(row, 3)),
          left: Int64(workers.integer(row, 4)), units: workers.integer(row, 5))
      },
      units: (0..<units.count).map { row in
        SharedWork.Units(
          entity: units.text(row, 0) ?? "", units: units.integer(row, 1), due: units.integer(row, 2),
          running: units.integer(row, 3), failing: units.integer(row, 4),
          generation: Int64(units.integer(row, 5)),
          done: units.isTrue(row, 6) ? units.integer(row, 7) : nil,
          next: units.isNull(row, 8) ? nil : Int64(units.integer(row, 8)))
      },
      leases: (0..<leases.count).map { row in
        SharedWork.Lease(
          unit: WorkUnit(entity: leases.text(row, 0) ?? "", slice: leases.text(row, 1) ?? ""),
          worker: leases.text(row, 2) ?? "", fence: Int64(leases.integer(row, 3)),
          since: Int64(leases.integer(row, 4)))
      })
  }

  /// Forgets entities of which each unit has been due since a time, in milliseconds since 1970: no program declares them any
  /// more. Single units stay: without some of its slices a generation would not be whole.
  static func prune(before time: Int64, in connection: Connection) throws {
    guard try exist(in: connection) else { return }
    let gone = try connection.run(
      """
      DELETE FROM syncd_units WHERE entity IN (SELECT entity FROM syncd_units GROUP BY entity
        HAVING bool_and(holder IS NULL AND ready_at < $1)) RETURNING entity, slice
      """, [.text(Timestamp.text(time))])
    _ = try forget(gone, in: connection)
  }

  /// Forgets what is kept of slices that are gone: one that comes back is a new one, since the database may have deleted rows of it
  /// meanwhile.
  ///
  /// - Parameter units: rows of entities and slices.
  /// - Returns: how many they are.
  private static func forget(_ units: Connection.Result, in connection: Connection) throws -> Int {
    if units.count == 0 { return 0 }
    let gone = (0..<units.count).map {
      WorkUnit(entity: units.text($0, 0) ?? "", slice: units.text($0, 1) ?? "")
    }
    .filter(\.isSlice)
    try connection.run(
      "DELETE FROM syncd_slices WHERE (entity, slice) IN (SELECT * FROM unnest($1::text[], $2::text[]))",
      [.text(array(gone.map(\.entity))), .text(array(gone.map(\.slice)))])
    for table in ["syncd_state", "syncd_pages"] {
      try connection.run(
        "DELETE FROM \(table) WHERE entity = ANY ($1::text[])", [.text(array(gone.map(\.name)))])
    }
    return gone.count
  }

  // MARK: Values

  private static func milliseconds(_ duration: Duration) -> StoredValue {
    .integer(Int64(max(1, duration.milliseconds)))
  }

  private static func microseconds(_ duration: Duration) -> String {
    "\(max(0, duration.components.seconds * 1_000_000 + duration.components.attoseconds / 1_000_000_000_000)) * interval '1 microsecond'"
  }

  /// Texts as the server reads an array (postgresql.org/docs/15/arrays.html#ARRAYS-IO).
  private static func array(_ texts: [String]) -> String {
    "{"
      + texts.map { text in
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
      }.joined(separator: ",") + "}"
  }
}
