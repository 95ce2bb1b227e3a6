import SyncEngine

/// Writes rows into one table inside a transaction: they are copied into a temporary table beside it, and merged.
///
/// ```sql
/// UPDATE "book" AS "target" SET "title" = "new"."title" FROM "syncd_new" AS "new"
/// WHERE "target"."id" = "new"."id" AND ("target"."title") IS DISTINCT FROM ("new"."title")
/// ```
///
/// Rows that would not change are not touched: no write, no trigger, no lock. `ON CONFLICT DO UPDATE` would lock each.
struct TableWriter {
  let schema: TableSchema
  private let difference: TableDifference
  private let connection: Connection

  /// - Throws: ``StoreError`` if the table that is there cannot take the rows.
  init(_ schema: TableSchema, in connection: Connection) throws {
    (self.schema, self.connection) = (schema, connection)
    difference = try TableDifference(of: schema, in: connection)
    try difference.demandFit()
  }

  private var table: String { quoted(schema.name) }

  /// Creates the table, or adds the columns that it lacks.
  func createIfAbsent() throws {
    if !difference.exists {
      // What a reference leads to may be made later in the transaction, or by another one.
      let references = try schema.references.filter { try $0.table == schema.name || isThere($0.table) }
      try connection.execute(TableDefinition(schema).sql(referring: references))
      try Journal.setMade(schema.name, in: connection)
      if references.count < schema.references.count {
        try Journal.setReferences(pending: true, of: schema.name, in: connection)
      }
    } else {
      for column in difference.missing {
        try connection.execute("ALTER TABLE \(table) ADD COLUMN \(TableDefinition.column(column))")
      }
      try addPendingReferences()
    }
  }

  private func isThere(_ table: String) throws -> Bool {
    try connection.text("SELECT to_regclass($1)", .text(quoted(table))) != nil
  }

  /// Adds the references that could not be made with the table, as far as what they lead to is there now.
  func addPendingReferences() throws {
    guard !difference.lackingReferences.isEmpty,
      try Journal.hasPendingReferences(schema.name, in: connection)
    else { return }
    let possible = try difference.lackingReferences.filter { try isThere($0.table) }
    for reference in possible {
      try connection.execute("ALTER TABLE \(table) ADD \(TableDefinition.reference(reference))")
    }
    if possible.count == difference.lackingReferences.count {
      try Journal.setReferences(pending: false, of: schema.name, in: connection)
    }
  }

  /// A value as a column that is there holds it, as SQL.
  func literal(_ value: StoredValue, _ column: Column?) -> String {
    guard let column else { return TableDefinition.literal(value, .text) }
    return TableDefinition.literal(value, column.type, asText: difference.asText.contains(column.name))
  }

  // MARK: Temporary tables

  /// How values of columns stand in temporary tables that are compared with the table.
  func forms(of columns: [Column]) -> [WireForm] {
    columns.map { WireForm(type: $0.type, isText: difference.asText.contains($0.name)) }
  }

  /// Creates a temporary table with some of the columns.
  func createTemporary(_ name: String, _ columns: [Column], adding more: [String] = []) throws {
    let definitions = zip(columns, forms(of: columns)).map { column, form in
      let collation = difference.actual[column.name]?.collation.map { " COLLATE \($0)" } ?? ""
      return "\(quoted(column.name)) \(form.name)\(form.name == "text" ? collation : "")"
    }
    // What is there of that name is left of a savepoint's table.
    try connection.execute(
      "DROP TABLE IF EXISTS pg_temp.\(name); CREATE TEMP TABLE \(name) (\((definitions + more).joined(separator: ", "))) ON COMMIT DROP"
    )
  }

  /// Copies keys into a temporary table of that name: the key's columns and `syncd_position`.
  func copy(_ keys: KeyIndex, of columns: [Column], as name: String) throws {
    let forms = forms(of: columns)
    try createTemporary(name, columns, adding: ["syncd_position bigint"])
    try connection.copy(
      into: name, columns: columns.map { quoted($0.name) } + ["syncd_position"]
    ) { buffer in
      try keys.forEach { key, position in
        try buffer.beginRow(forms.count + 1)
        KeyPart.forEach(of: key) { index, part in
          switch part {
          case .null: buffer.appendNull()
          case .integer(let value): forms[index].append(value, to: &buffer)
          case .real(let value): buffer.append(value)
          case .text(let text):
            forms[index].append(text, isBlob: forms[index].type == .blob, to: &buffer)
          }
        }
        buffer.append(Int64(position))
      }
    }
  }

  // MARK: Rows

  /// Rows that were copied into a temporary table.
  struct Staged {
    let name: String
    let count: Int
    /// Rows that were passed over: the table has them as they are.
    let unchanged: Int
    /// Whether records lack columns: bits in `syncd_present_…` say which are there.
    let isPartial: Bool
  }

  private static let bitsPerMask = 62

  /// - Parameter digests: rows that are there as they are, and need not be brought.
  func stage(_ rows: TableRows, as name: String, besides digests: TableDigests?) throws -> Staged {
    let columns = schema.synced
    let forms = forms(of: columns)
    let isPartial = rows.batches.contains { !$0.isComplete }
    let masks = isPartial ? (0...(columns.count - 1) / Self.bitsPerMask).map { "syncd_present_\($0)" } : []
    try createTemporary(name, columns, adding: masks.map { "\($0) bigint" })
    var (count, unchanged) = (0, 0)
    let compared = forms.indices.map { columns[$0].role == .key || columns[$0].marksChange }
    var known = isPartial ? nil : digests?.take()
    var hint = 0
    var sent: [Int]? = known == nil ? nil : []
    do {
      try connection.copy(into: name, columns: columns.map { quoted($0.name) } + masks) { buffer in
        for batch in rows.batches {
          RunStep.next()
          let memory = try batch.memory()
          for row in 0..<batch.rowCount {
            if !rows.superseded.isEmpty, rows.superseded.contains(batch.firstOrdinal + row) { continue }
            let cells = memory.row(row)
            try buffer.beginRow(columns.count + masks.count)
            if let digests, known != nil {
              var digest = digests.begin()
              for column in forms.indices {
                let start = buffer.position
                forms[column].append(cells[column], of: memory, to: &buffer)
                if compared[column] {
                  buffer.withField(from: start) {
                    digests.add($0, isJSON: forms[column].isBinaryJSON, to: &digest)
                  }
                }
              }
              if known?.contains(digest, hint: &hint) == true {
                buffer.abandonRow()
                unchanged += 1
              } else {
                count += 1
                sent?.append(batch.firstOrdinal + row)
              }
              continue
            }
            count += 1
            for column in forms.indices { forms[column].append(cells[column], of: memory, to: &buffer) }
            for mask in masks.indices {
              var bits: Int64 = 0
              let first = mask * Self.bitsPerMask
              for column in first..<min(columns.count, first + Self.bitsPerMask)
              where cells[column].kind != .missing {
                bits |= 1 << Int64(column - first)
              }
              buffer.append(bits)
            }
          }
        }
      }
    } catch let error as PostgresError where !error.isLost && error.context?.hasPrefix("COPY") == true {
      // A value that no rule foresaw: the record is at fault.
      throw RowConflict("\(try place(of: error, rows, sent)): \(error)")
    }
    return Staged(name: name, count: count, unchanged: unchanged, isPartial: isPartial)
  }

  /// The key of the row that COPY could not take, out of its context: `COPY syncd_new, line 3, column title`.
  ///
  /// - Parameter sent: positions of the rows that were sent, where some were not.
  private func place(of error: PostgresError, _ rows: TableRows, _ sent: [Int]?) throws -> String {
    let context = error.context ?? ""
    let number = context.split(separator: "line ").dropFirst().first?.prefix { $0.isNumber } ?? ""
    guard var line = Int(number), line > 0 else { return context }
    for batch in rows.batches {
      for row in 0..<batch.rowCount where !rows.superseded.contains(batch.firstOrdinal + row) {
        if let sent {
          guard sent.indices.contains(line - 1), sent[line - 1] == batch.firstOrdinal + row else { continue }
        } else {
          line -= 1
          if line > 0 { continue }
        }
        let memory = try batch.memory()
        let key = schema.synced.enumerated().filter { $1.role == .key }.map { index, column in
          "\(column.name) \(memory.value(row: row, column: index)?.columnText(column.type) ?? "?")"
        }
        return "page \(batch.page), \(key.joined(separator: ", "))"
      }
    }
    return context
  }

  private struct Merge {
    var matches: String
    var differs: String
    var sets: String
    var names: String
    var values: String
    /// Whether there is anything besides the key.
    var hasValues: Bool
  }

  private func merge(_ staged: Staged) -> Merge {
    let columns = schema.synced
    let remote = columns.indices.filter { columns[$0].role != .key }
    let compared = remote.filter { columns[$0].marksChange }
    func isPresent(_ column: Int) -> String {
      "(\"new\".syncd_present_\(column / Self.bitsPerMask) & \(1 << (column % Self.bitsPerMask))) <> 0"
    }
    func new(_ column: Int, else other: String) -> String {
      let value = "\"new\".\(quoted(columns[column].name))"
      return staged.isPartial && columns[column].role != .key
        ? "CASE WHEN \(isPresent(column)) THEN \(value) ELSE \(other) END" : value
    }
    func old(_ column: Int) -> String { "\"target\".\(quoted(columns[column].name))" }
    /// What tells two values apart that compare as equal but are not the same.
    func exact(_ value: String, _ column: Int) -> [String] {
      let isText = difference.asText.contains(columns[column].name)
      switch columns[column].type {
      case .decimal where !isText: return [value, "scale(\(value))"]
      case .json where !isText: return ["(\(value))::text"]
      default:
        return [
          difference.actual[columns[column].name]?.isFolding == true ? "(\(value)) COLLATE \"C\"" : value
        ]
      }
    }
    func defaultValue(_ column: Column) -> String {
      column.defaultValue.map {
        TableDefinition.literal($0, column.type, asText: difference.asText.contains(column.name))
      } ?? "NULL"
    }
    let before = compared.flatMap { exact(old($0), $0) }.joined(separator: ", ")
    let after = compared.flatMap { exact(new($0, else: old($0)), $0) }.joined(separator: ", ")
    let locals = difference.locals
    return Merge(
      matches: matches("\"target\"", "\"new\""),
      differs: compared.isEmpty ? "false" : "(\(before)) IS DISTINCT FROM (\(after))",
      sets: remote.map { "\(quoted(columns[$0].name)) = \(new($0, else: old($0)))" }.joined(separator: ", "),
      names: (columns + locals).map { quoted($0.name) }.joined(separator: ", "),
      // A table that someone else made does not know the defaults of local columns: new rows are given them.
      values: (columns.indices.map { new($0, else: defaultValue(columns[$0])) } + locals.map(defaultValue))
        .joined(separator: ", "), hasValues: !compared.isEmpty)
  }

  /// The condition that rows of two tables have the same key.
  func matches(_ one: String, _ other: String, _ columns: [Column]? = nil) -> String {
    (columns ?? schema.keys).map { "\(one).\(quoted($0.name)) = \(other).\(quoted($0.name))" }
      .joined(separator: " AND ")
  }

  func upsert(_ staged: Staged) throws -> UpsertCounts {
    var counts = UpsertCounts()
    counts.unchanged = staged.unchanged
    if staged.count == 0 { return counts }
    RunStep.next()
    let merge = merge(staged)
    try demandRequired(staged, merge)
    try demandRoom(staged)
    let expected = try mayWithholdRows() ? self.expected(staged, merge) : nil
    do {
      do { (counts.updated, counts.inserted) = try write(staged, merge, updatesFirst: true) } catch let error
        as PostgresError where error.isReferenceViolation
      {
        // Rows may refer to new ones, by a reference that is not deferred.
        (counts.updated, counts.inserted) = try write(staged, merge, updatesFirst: false)
      }
    } catch let error as PostgresError where error.isUniqueViolation {
      (counts.updated, counts.inserted) = try upsertOneByOne(staged, merge)
    } catch let error as PostgresError where ["22", "23", "54"].contains(error.state.prefix(2)) {
      // Data, a constraint, or a limit of the server's: the record is at fault.
      throw RowConflict("\(error)")
    }
    if let expected, expected != counts.updated + counts.inserted {
      throw RowConflict(
        "\(expected) rows are new or differ, but \(counts.updated + counts.inserted) were written: a trigger, a rule or a policy of the table \"\(schema.name)\" leaves rows out; nothing was written"
      )
    }
    counts.unchanged += staged.count - counts.updated - counts.inserted
    return counts
  }

  private func write(
    _ staged: Staged, _ merge: Merge, updatesFirst: Bool
  ) throws -> (updated: Int, inserted: Int) {
    var (updated, inserted) = (0, 0)
    func update() throws {
      guard merge.hasValues else { return }
      updated = try connection.run(
        "UPDATE \(table) AS \"target\" SET \(merge.sets) FROM \(staged.name) AS \"new\" WHERE \(merge.matches) AND \(merge.differs)"
      ).changes
    }
    try connection.savepoint {
      if updatesFirst { try update() }
      RunStep.next()
      inserted = try connection.run(
        "INSERT INTO \(table) (\(merge.names)) SELECT \(merge.values) FROM \(staged.name) AS \"new\" WHERE NOT EXISTS (SELECT FROM \(table) AS \"target\" WHERE \(merge.matches))"
      ).changes
      if !updatesFirst { try update() }
    }
    return (updated, inserted)
  }

  /// Whether something in the table may leave rows out of a statement without an error.
  private func mayWithholdRows() throws -> Bool {
    try connection.text(
      """
      SELECT 1 FROM pg_class c WHERE c.oid = to_regclass($1) AND (c.relrowsecurity OR c.relhasrules OR EXISTS
        (SELECT FROM pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal AND tgtype & 2 <> 0))
      """, .text(table)) != nil
  }

  /// How many rows are new or differ.
  private func expected(_ staged: Staged, _ merge: Merge) throws -> Int {
    try connection.integer(
      "SELECT count(*) FROM \(staged.name) AS \"new\" LEFT JOIN \(table) AS \"target\" ON \(merge.matches) WHERE \"target\".\(quoted(schema.keys.first?.name ?? "")) IS NULL OR \(merge.differs)"
    ) ?? 0
  }

  /// Where a value has to be unique and another row still holds it, which may be about to give it up, rows are written one
  /// by one, and those that have to wait are tried again as long as any could be written.
  private func upsertOneByOne(_ staged: Staged, _ merge: Merge) throws -> (updated: Int, inserted: Int) {
    let target = "\(table) AS \"target\""
    let isRow = "\"new\".ctid = syncd_row AND \(merge.matches)"
    let update =
      merge.hasValues
      ? "UPDATE \(target) SET \(merge.sets) FROM \(staged.name) AS \"new\" WHERE \(isRow);"
      : "PERFORM FROM \(target), \(staged.name) AS \"new\" WHERE \(isRow);"
    let body = """
      #variable_conflict use_column
      DECLARE syncd_row tid; syncd_waiting tid[]; syncd_next tid[];
      BEGIN
        syncd_updated := 0; syncd_inserted := 0;
        SELECT array_agg("new".ctid ORDER BY "new".ctid) INTO syncd_waiting FROM \(staged.name) AS "new"
          LEFT JOIN \(target) ON \(merge.matches) WHERE "target".ctid IS NULL OR \(merge.differs);
        WHILE array_length(syncd_waiting, 1) > 0 LOOP
          syncd_next := '{}';
          FOREACH syncd_row IN ARRAY syncd_waiting LOOP
            BEGIN
              \(update)
              IF FOUND THEN syncd_updated := syncd_updated + 1; ELSE
                INSERT INTO \(table) (\(merge.names)) SELECT \(merge.values) FROM \(staged.name) AS "new"
                  WHERE "new".ctid = syncd_row;
                syncd_inserted := syncd_inserted + 1;
              END IF;
            EXCEPTION WHEN unique_violation THEN
              syncd_next := syncd_next || syncd_row;
              GET STACKED DIAGNOSTICS syncd_reason = PG_EXCEPTION_DETAIL;
              syncd_reason := SQLERRM || ' (' || syncd_reason || ')';
            END;
          END LOOP;
          IF array_length(syncd_next, 1) = array_length(syncd_waiting, 1) THEN RETURN; END IF;
          syncd_waiting := syncd_next;
        END LOOP;
        syncd_reason := NULL;
      END
      """
    try connection.execute(
      """
      CREATE OR REPLACE FUNCTION pg_temp.syncd_upsert(
        OUT syncd_updated bigint, OUT syncd_inserted bigint, OUT syncd_reason text)
      LANGUAGE plpgsql AS \(delimited(body, by: "'"))
      """)
    do {
      let result = try connection.run(
        "SELECT syncd_updated, syncd_inserted, syncd_reason FROM pg_temp.syncd_upsert()")
      if let reason = result.text(0, 2) { throw RowConflict("PostgreSQL: \(reason)") }
      return (result.integer(0, 0), result.integer(0, 1))
    } catch let error as PostgresError where error.state.hasPrefix("23") && !error.isReferenceViolation {
      throw RowConflict("\(error)")
    }
  }

  /// - Throws: ``RowConflict`` for a record without a required column whose row is not there.
  private func demandRequired(_ staged: Staged, _ merge: Merge) throws {
    guard staged.isPartial else { return }
    let columns = schema.synced
    let required = columns.indices.filter {
      columns[$0].role != .key && !columns[$0].isNullable && columns[$0].defaultValue == nil
    }
    guard !required.isEmpty else { return }
    func isMissing(_ column: Int) -> String {
      "(\"new\".syncd_present_\(column / Self.bitsPerMask) & \(1 << (column % Self.bitsPerMask))) = 0"
    }
    let names = required.map {
      "CASE WHEN \(isMissing($0)) THEN \(delimited("\"\(columns[$0].name)\"", by: "'")) END"
    }.joined(separator: ", ")
    let found = try connection.run(
      "SELECT \(keyExpression(schema.keys.map(\.name), of: "\"new\"")), concat_ws(', ', \(names)) FROM \(staged.name) AS \"new\" WHERE (\(required.map(isMissing).joined(separator: " OR "))) AND NOT EXISTS (SELECT FROM \(table) AS \"target\" WHERE \(merge.matches)) LIMIT 1"
    )
    guard found.count > 0 else { return }
    throw RowConflict(
      "\(found.text(0, 0) ?? "") is a new row, but the record has no value for \(found.text(0, 1) ?? ""), which is required"
    )
  }

  /// - Throws: ``RowConflict`` for a value that the column of a table that someone else made has no room for. The server
  ///   would not say whose it is, and cuts blanks at the end of a text that is too long without a word.
  private func demandRoom(_ staged: Staged) throws {
    for column in schema.synced {
      let value = "\"new\".\(quoted(column.name))"
      let condition: String
      let room: String
      if let length = difference.lengths[column.name] {
        (condition, room) = ("char_length(\(value)) > \(length)", "\(length) characters")
      } else if let bounds = difference.bounds[column.name] {
        condition = "\(value) NOT BETWEEN \(bounds.lowerBound) AND \(bounds.upperBound)"
        room = "\(bounds.lowerBound) to \(bounds.upperBound)"
      } else {
        continue
      }
      let found = try connection.run(
        "SELECT \(keyExpression(schema.keys.map(\.name), of: "\"new\"")), left(\(value)::text, 80) FROM \(staged.name) AS \"new\" WHERE \(condition) LIMIT 1"
      )
      guard found.count > 0 else { continue }
      throw RowConflict(
        "\(found.text(0, 0) ?? ""): \(found.text(0, 1) ?? "") has no room in the column \"\(column.name)\" (\(room))"
      )
    }
  }

  // MARK: Owners

  /// Notes the rows that have no owner before the run: whose they are is not known, and they stay.
  func noteStrays() throws {
    guard let orphans = try orphans() else { return }
    // Several lists may fill one table: what was noted first counts.
    try connection.execute(
      "CREATE TEMP TABLE IF NOT EXISTS \(strays) ON COMMIT DROP AS SELECT \(schema.keyList) FROM \(table) WHERE \(orphans)"
    )
  }

  /// Deletes the rows whose owner is gone, where the database does not do it by a cascade.
  func deleteOrphans() throws {
    guard let orphans = try orphans() else { return }
    try connection.execute(
      "DELETE FROM \(table) WHERE \(orphans) AND NOT EXISTS (SELECT FROM \(strays) s WHERE \(matches(table, "s")))"
    )
  }

  /// A name of its own for each table, short enough whatever the table's is.
  private var strays: String {
    "syncd_strays_\(String(PostgreSQL.key(of: schema.name).magnitude, radix: 16))"
  }

  /// What is true of a row without an owner; nil where the database deletes such rows itself.
  private func orphans() throws -> String? {
    guard let owner = schema.references.first(where: \.isOwner) else { return nil }
    let cascade = try connection.text(
      "SELECT 1 FROM pg_constraint WHERE contype = 'f' AND confdeltype = 'c' AND conrelid = to_regclass($1) AND confrelid = to_regclass($2)",
      .text(table), .text(quoted(owner.table)))
    if cascade != nil { return nil }
    let matches = try zip(owner.keys, owner.columns).map { key, column in
      let ownerType = try connection.text(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname = $2",
        .text(quoted(owner.table)), .text(key))
      let type = difference.actual[column]?.type
      var (one, other) = ("o.\(quoted(key))", "\(table).\(quoted(column))")
      // Where someone else made one of the tables, its column may hold the values as text.
      if let ownerType, let type, TableDifference.isText(ownerType) != TableDifference.isText(type) {
        if TableDifference.isText(type) {
          one = Conversion(ownerType, .text).expression(one)
        } else {
          other = Conversion(type, .text).expression(other)
        }
      }
      return "\(one) = \(other)"
    }
    // A row that names no owner is nobody's.
    let isOwned = owner.columns.map { "\(table).\(quoted($0)) IS NOT NULL" }.joined(separator: " AND ")
    return
      "\(isOwned) AND NOT EXISTS (SELECT FROM \(quoted(owner.table)) o WHERE \(matches.joined(separator: " AND ")))"
  }

  /// Whether deleting rows can change other tables.
  func mayReachOthers() throws -> Bool {
    try connection.text(
      "SELECT 1 FROM pg_trigger WHERE tgrelid = to_regclass($1) AND NOT tgisinternal UNION SELECT 1 FROM pg_constraint WHERE contype = 'f' AND confrelid = to_regclass($1) AND confdeltype NOT IN ('a', 'r') LIMIT 1",
      .text(table)) != nil
  }

  /// Whether writing rows can change other rows of the table.
  func mayChangeByItself() throws -> Bool {
    if try cascadesIntoItself() { return true }
    return try connection.text(
      "SELECT 1 FROM pg_trigger WHERE tgrelid = to_regclass($1) AND NOT tgisinternal LIMIT 1", .text(table))
      != nil
  }

  /// Whether deleting a row of the table can change or delete other rows of it, through any number of tables, or is
  /// forbidden at once by other rows of it that a run may be about to change.
  func cascadesIntoItself() throws -> Bool {
    try connection.text(
      """
      WITH RECURSIVE reached AS (
        SELECT conrelid FROM pg_constraint WHERE contype = 'f' AND confdeltype NOT IN ('a', 'r') AND confrelid = to_regclass($1)
        UNION SELECT c.conrelid FROM pg_constraint c JOIN reached r ON c.confrelid = r.conrelid
        WHERE c.contype = 'f' AND c.confdeltype NOT IN ('a', 'r')
      ) SELECT 1 FROM reached WHERE conrelid = to_regclass($1)
      UNION SELECT 1 FROM pg_constraint WHERE contype = 'f' AND NOT condeferrable AND conrelid = to_regclass($1)
        AND confrelid = conrelid
      """, .text(table)) != nil
  }
}
