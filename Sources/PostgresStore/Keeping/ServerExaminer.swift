import SyncEngine

/// Looks at what a server says of the store's database, and changes nothing.
struct ServerExaminer {
  private let connection: Connection
  private let examination: StoreExamination
  private let location: String
  private let milliseconds: Int64

  /// - Parameter milliseconds: how long it took to connect.
  init(_ connection: Connection, _ examination: StoreExamination, location: String, milliseconds: Int64) {
    (self.connection, self.examination) = (connection, examination)
    (self.location, self.milliseconds) = (location, milliseconds)
  }

  private static let ownTables = [
    "syncd_runs", "syncd_state", "syncd_pages", "syncd_absent", "syncd_rejects", "syncd_journal",
  ]

  func findings(_ cancellation: Cancellation) throws -> [Finding] {
    let version = connection.parameter("server_version") ?? "?"
    var findings = [
      Finding(.ok, "store", "\(location), PostgreSQL \(version), answered within \(milliseconds) ms")
    ]
    // One question that a server has no answer to, or does not allow, leaves the others.
    let checks: [(subject: String, look: () throws -> [Finding])] = [
      ("rights", rights), ("integrity", integrity), ("transaction numbers", wraparound),
      ("collation", collation),
      ("vacuum", vacuum), ("waiting sessions", sessions), ("kept pages", journal), ("runs under way", leases),
    ]
    for (subject, look) in checks {
      do {
        try cancellation.check()
        findings += try look()
      } catch let error as PostgresError where !error.isLost {
        findings.append(Finding(.warning, subject, "this could not be seen: \(error.asStoreError)"))
      }
    }
    return findings
  }

  /// Those of the tables that are there.
  private func present(_ tables: [String]) throws -> [String] {
    try tables.filter { try connection.text("SELECT to_regclass($1)", .text(quoted($0))) != nil }
  }

  // MARK: What runs need

  private func rights() throws -> [Finding] {
    if try connection.text("SHOW transaction_read_only") == "on" {
      return [
        Finding(
          .failure, "rights", "the database takes no writes (transaction_read_only)",
          advice: "let the location name the primary server, or ask who made the role or database read-only")
      ]
    }
    guard let schema = try connection.text("SELECT current_schema()") else {
      return [
        Finding(
          .failure, "rights",
          "no schema of the search path is there: \(try connection.text("SHOW search_path") ?? "")",
          advice: "create it (CREATE SCHEMA …), or correct the location's search_path")
      ]
    }
    var lacking: [String] = []
    let present = try present(Self.ownTables + examination.tables)
    for table in present {
      for right in ["SELECT", "INSERT", "UPDATE", "DELETE"]
      where try connection.text("SELECT has_table_privilege($1, '\(right)')", .text(quoted(table))) != "t" {
        lacking.append("\(right) on \(table)")
      }
    }
    let mayCreate =
      try connection.text("SELECT has_schema_privilege($1, 'CREATE')", .text(schema)) == "t"
    if !lacking.isEmpty {
      return [
        Finding(
          .failure, "rights", "the role lacks \(lacking.joined(separator: ", "))",
          advice:
            "as the tables' owner: GRANT SELECT, INSERT, UPDATE, DELETE ON … TO the role of the location")
      ]
    }
    let isWhole = present.count == Self.ownTables.count + examination.tables.count
    if !mayCreate, !isWhole {
      return [
        Finding(
          .failure, "rights", "the role may not create tables in the schema \(schema), and not all are there",
          advice:
            "as the schema's owner: GRANT CREATE ON SCHEMA \(quoted(schema)) TO the role of the location")
      ]
    }
    return [Finding(.ok, "rights", "to read and write \(present.count) tables in the schema \(schema)")]
  }

  // MARK: What is damaged

  private func integrity() throws -> [Finding] {
    var findings: [Finding] = []
    let invalid = try connection.texts(
      "SELECT i.indexrelid::regclass FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace ORDER BY 1",
      []
    ).compactMap { $0[0] }
    if !invalid.isEmpty {
      findings.append(
        Finding(
          .warning, "integrity", "invalid indexes: \(invalid.joined(separator: ", "))",
          advice:
            "each was left by a CREATE INDEX CONCURRENTLY that failed: REINDEX INDEX CONCURRENTLY it, or drop it"
        ))
    }
    let failures = try connection.texts(
      "SELECT checksum_failures, checksum_last_failure FROM pg_stat_database WHERE datname = current_database()",
      []
    ).first
    if let count = failures?[0].flatMap({ Int($0) }), count > 0 {
      findings.append(
        Finding(
          .failure, "integrity", "\(count) damaged pages were read, the last at \(failures?[1] ?? "?")",
          advice:
            "look at the server's disk and its log now, and restore from a backup that is older than the damage"
        ))
    }
    if findings.isEmpty {
      let sums = try connection.text("SHOW data_checksums") == "on"
      findings.append(
        Finding(
          .ok, "integrity",
          sums
            ? "no damaged page was read, and no index is invalid"
            : "no index is invalid (the server keeps no checksums)"))
    }
    return findings
  }

  /// postgresql.org/docs/15/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND
  private func wraparound() throws -> [Finding] {
    let age =
      try connection.integer("SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()")
      ?? 0
    let text = "the oldest is \(age / 1_000_000) million transactions old"
    if age < 1_000_000_000 { return [Finding(.ok, "transaction numbers", text)] }
    return [
      Finding(
        age < 1_800_000_000 ? .warning : .failure, "transaction numbers",
        "\(text); at 2,147 million the server takes no more writes",
        advice:
          "as a superuser run VACUUM FREEZE in this database, and look for what keeps autovacuum from it: old transactions, prepared ones (pg_prepared_xacts), unused replication slots"
      )
    ]
  }

  private func collation() throws -> [Finding] {
    // The function came with version 15.
    guard connection.version >= 150_000 else {
      return [Finding(.ok, "collation", "a server before version 15 does not tell")]
    }
    let row = try connection.texts(
      "SELECT datcollversion, pg_database_collation_actual_version(oid) FROM pg_database WHERE datname = current_database()",
      []
    ).first
    if let kept = row?[0], let actual = row?[1], kept != actual {
      return [
        Finding(
          .warning, "collation",
          "the database was made with version \(kept) of its collation, and the system has \(actual): indexes on texts may be wrong",
          advice: "REINDEX DATABASE, then ALTER DATABASE … REFRESH COLLATION VERSION")
      ]
    }
    return [
      Finding(
        .ok, "collation",
        row?[0].map { "version \($0), as when the database was made" } ?? "one that has no versions")
    ]
  }

  private func vacuum() throws -> [Finding] {
    for setting in ["autovacuum", "track_counts"] where try connection.text("SHOW \(setting)") != "on" {
      return [
        Finding(
          .warning, "vacuum", "\(setting) is off: the room of rows that are gone is not used again",
          advice: "set \(setting) = on in postgresql.conf and reload the server")
      ]
    }
    return [Finding(.ok, "vacuum", "autovacuum is on")]
  }

  // MARK: Who is in the way

  private func sessions() throws -> [Finding] {
    let names = try present(Self.ownTables + examination.tables)
    let tables = names.map { delimited(quoted($0), by: "'") + "::regclass" }.joined(separator: ", ")
    let onTables =
      names.isEmpty
      ? "false"
      : "EXISTS (SELECT 1 FROM pg_locks AS l WHERE l.pid = a.pid AND l.relation IN (\(tables)))"
    let rows = try connection.texts(
      """
      SELECT pid, usename, application_name, state, extract(epoch FROM now() - xact_start)::bigint, \(onTables)
      FROM pg_stat_activity AS a WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND xact_start < now() - interval '10 minutes' AND (state LIKE 'idle in transaction%' OR \(onTables)) ORDER BY xact_start
      """, [])
    if rows.isEmpty { return [Finding(.ok, "waiting sessions", "no transaction is older than 10 minutes")] }
    return rows.map { row in
      let age = readableAge(milliseconds: (row[4].flatMap { Int64($0) } ?? 0) * 1000)
      let locks = row[5] == "t" ? ", with locks on the store's tables" : ""
      return Finding(
        .warning, "waiting sessions",
        "session \(row[0] ?? "?") (\(row[1] ?? "?"), \(row[2] ?? "")) is \(row[3] ?? "in a transaction"), begun \(age) ago\(locks)",
        advice: "ask its owner, or end it: SELECT pg_terminate_backend(\(row[0] ?? "…"))")
    }
  }

  private func journal() throws -> [Finding] {
    guard try connection.text("SELECT to_regclass('syncd_journal')") != nil else { return [] }
    let rows = try connection.texts(
      "SELECT entity, max(begun), count(*), sum(length(page)) FROM syncd_journal GROUP BY entity ORDER BY entity",
      [])
    let stuck = rows.compactMap { row -> Finding? in
      guard let entity = row[0], let begun = row[1].flatMap({ Int64($0) }),
        let reason = examination.whyStuck(entity, keptAt: begun)
      else { return nil }
      return Finding(
        .warning, "kept pages",
        "syncd_journal has \(row[2] ?? "?") pages (\(readableSize(row[3].flatMap { Int64($0) } ?? 0))) of \(entity), of a run that was ended \(readableAge(milliseconds: examination.now - begun)) ago, and \(reason)",
        advice:
          "DELETE FROM syncd_journal WHERE entity = \(delimited(entity, by: "'")); by themselves they go after a week"
      )
    }
    if !stuck.isEmpty { return stuck }
    let names = rows.compactMap { $0[0] }
    return [
      Finding(
        .ok, "kept pages",
        names.isEmpty
          ? "none: no run was ended in its midst"
          : "of \(names.joined(separator: ", ")), from which the next run goes on")
    ]
  }

  private func leases() throws -> [Finding] {
    let held = try connection.texts(
      """
      SELECT (l.classid::bigint << 32) | l.objid::bigint, l.pid, a.application_name, a.client_addr
      FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
      WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.database = (
        SELECT oid FROM pg_database WHERE datname = current_database())
      """, [])
    let runs = try examination.tables.compactMap { table -> String? in
      let schema =
        try connection.text(
          "SELECT coalesce((SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)), current_schema())",
          .text(quoted(table))) ?? ""
      let key = String(PostgreSQL.key(of: "\(schema).\(table)"))
      guard let row = held.first(where: { $0[0] == key }) else { return nil }
      return "\(table) (session \(row[1] ?? "?"), \(row[2] ?? "")\(row[3].map { " from \($0)" } ?? ""))"
    }
    return [Finding(.ok, "runs under way", runs.isEmpty ? "none" : runs.joined(separator: ", "))]
  }
}
