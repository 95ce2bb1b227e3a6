import CSQLite
import SyncEngine

/// The rows of a table whose keys were not seen, kept by their keys: what a deletion removes is decided before the
/// first row is written.
///
/// The keys that were seen stay in the engine's index, and SQL asks it by a function: no second copy of them in a table.
struct GoneRows: NotedRows {
  let schema: TableSchema
  let seen: KeyIndex
  let scope: DeletionScope?
  private(set) var count: Int
  let rowsInScope: Int
  /// The temporary table.
  private let noted: String
  /// Whether there is one: where no row is gone, none is made.
  private let isNoted: Bool
  private static let unseenName = "syncd_gone"

  /// Notes the rows in a temporary table.
  ///
  /// - Parameters:
  ///   - kept: keys that all have to have a row.
  ///   - surveyed: the keys of the table, where they were read before.
  /// - Throws: ``KeptRowsMissing`` where one has none.
  init(
    of schema: TableSchema, seen: KeyIndex, kept: SeenKeys? = nil, scope: DeletionScope?,
    surveyed: TableContent? = nil, in connection: Connection
  ) throws {
    (self.schema, self.seen, self.scope) = (schema, seen, scope)
    let noted = Self.unseenName
    self.noted = noted
    let search = Search(schema: schema, seen: seen, scope: scope)
    var found = search.count(surveyed, keeping: kept)
    if found == nil || found?.unseen != 0 {
      found = try search.scan(keeping: kept, in: connection, notingUnseenIn: noted)
    }
    (count, rowsInScope) = (found?.unseen ?? 0, found?.rows ?? 0)
    isNoted = count > 0
    if let kept, let found, found.kept < kept.keptRows {
      throw try search.missing(of: kept, in: connection)
    }
  }

  /// Notes the rows with these keys; those that have a mark already are not meant.
  init(named keys: KeyIndex, mark: String?, of schema: TableSchema, in connection: Connection) throws {
    (self.schema, seen, scope) = (schema, keys, nil)
    let noted = "syncd_stated"
    (self.noted, isNoted) = (noted, true)
    let search = Search(schema: schema, seen: keys, scope: nil)
    let unmarked = mark.map { " AND \(quoted($0)) IS NULL" } ?? ""
    try search.withFunctions(in: connection) { connection in
      try connection.execute("DROP TABLE IF EXISTS temp.\(noted)")
      try connection.execute(
        "CREATE TEMP TABLE \(noted) AS SELECT \(schema.keyList) FROM main.\(quoted(schema.name)) WHERE NOT (\(search.isUnseen))\(unmarked)"
      )
    }
    count = Int(try connection.integer("SELECT count(*) FROM temp.\(noted)") ?? 0)
    rowsInScope = Int(try connection.integer("SELECT count(*) FROM main.\(quoted(schema.name))") ?? 0)
  }

  /// Rows in the scope whose keys were not seen, and all rows in it. Reads only.
  static func count(
    of schema: TableSchema, seen: KeyIndex, scope: DeletionScope?, in connection: Connection
  ) throws -> (unseen: Int, rows: Int) {
    let found = try Search(schema: schema, seen: seen, scope: scope).scan(in: connection)
    return (found.unseen, found.rows)
  }

  /// Makes sure that all keys of a page that was not sent again have a row.
  ///
  /// - Throws: ``KeptRowsMissing``
  static func demand(
    _ kept: SeenKeys, in schema: TableSchema, surveyed: TableContent?, _ connection: Connection
  ) throws {
    let search = Search(schema: schema, seen: kept.index, scope: nil)
    let found = try search.count(surveyed, keeping: kept) ?? search.scan(keeping: kept, in: connection)
    if found.kept < kept.keptRows { throw try search.missing(of: kept, in: connection) }
  }

  static func demand(_ keys: KeyIndex, in schema: TableSchema, _ connection: Connection) throws {
    let found = try Search(schema: schema, seen: keys, scope: nil).scan(in: connection)
    if found.rows - found.unseen < keys.count { throw KeptRowsMissing() }
  }

  /// Counts one more run in which the rows are missing, and leaves to be deleted those that were in enough of them. A row
  /// that was seen, or is no more, begins anew.
  mutating func keepThoseMissing(inRuns runs: Int, of entity: String, in connection: Connection) throws {
    let key = "json_array(\(schema.keyList))"
    if count == 0 {
      try connection.run("DELETE FROM syncd_absent WHERE entity = ?1", [.text(entity)])
      return
    }
    try connection.run(
      "DELETE FROM syncd_absent WHERE entity = ?1 AND key NOT IN (SELECT \(key) FROM temp.\(noted))",
      [.text(entity)])
    try connection.run(
      "INSERT INTO syncd_absent (entity, key, runs) SELECT ?1, \(key), 1 FROM temp.\(noted) WHERE true ON CONFLICT (entity, key) DO UPDATE SET runs = runs + 1",
      [.text(entity)])
    try connection.run(
      "DELETE FROM temp.\(noted) WHERE \(key) IN (SELECT key FROM syncd_absent WHERE entity = ?1 AND runs < ?2)",
      [.text(entity), .integer(Int64(runs))])
    count = Int(try connection.integer("SELECT count(*) FROM temp.\(noted)") ?? 0)
  }

  /// Forgets that rows were missing which are seen again, where nothing else is to be judged.
  static func forgetAbsence(
    of entity: String, seen: KeyIndex, in schema: TableSchema, _ connection: Connection
  ) throws {
    guard try connection.integer("SELECT 1 FROM syncd_absent WHERE entity = ?1", .text(entity)) != nil else {
      return
    }
    let search = Search(schema: schema, seen: seen, scope: nil)
    try search.withFunctions(in: connection) { connection in
      try connection.run(
        "DELETE FROM syncd_absent WHERE entity = ?1 AND key IN (SELECT json_array(\(schema.keyList)) FROM main.\(quoted(schema.name)) WHERE NOT (\(search.isUnseen)))",
        [.text(entity)])
    }
  }

  /// The keys of the rows, in their order. Reads only.
  static func keys(
    of schema: TableSchema, seen: KeyIndex, scope: DeletionScope?, in connection: Connection
  ) throws -> [[StoredValue]] {
    let search = Search(schema: schema, seen: seen, scope: scope)
    return try search.withFunctions(in: connection) { connection in
      let statement = try connection.prepare(
        "SELECT \(schema.keyList) FROM main.\(quoted(schema.name)) WHERE \(search.inScope) AND \(search.isUnseen) ORDER BY \(schema.keyList)"
      )
      var found: [[StoredValue]] = []
      while try connection.step(statement) {
        found.append(
          try schema.keys.enumerated().map { try RowReader.value(statement, Int32($0), $1) })
      }
      return found
    }
  }

  /// Notes the time in a column of the rows, and returns their number.
  func mark(_ column: String, at time: Int64, in connection: Connection) throws -> Int {
    guard count > 0 else { return 0 }
    try connection.run(
      "UPDATE main.\(quoted(schema.name)) SET \(quoted(column)) = ?1 WHERE (\(schema.keyList)) IN (SELECT \(schema.keyList) FROM temp.\(noted))",
      [.text(Timestamp.text(time))])
    return connection.changes
  }

  /// Clears the column of rows that are seen again, but for those that the source says are gone.
  static func unmark(
    _ column: String, seen: KeyIndex, besides stated: KeyIndex?, in schema: TableSchema,
    _ connection: Connection
  ) throws {
    var search = Search(schema: schema, seen: seen, scope: nil)
    search.stated = stated
    try search.withFunctions(in: connection) { connection in
      let others = stated == nil ? "" : " AND syncd_stated(\(schema.keyList)) IS NULL"
      try connection.execute(
        "UPDATE main.\(quoted(schema.name)) SET \(quoted(column)) = NULL WHERE \(quoted(column)) IS NOT NULL AND NOT (\(search.isUnseen))\(others)"
      )
    }
  }

  /// Deletes the rows and returns their number.
  func delete(in connection: Connection) throws -> Int {
    guard count > 0 else { return 0 }
    try connection.execute(
      "DELETE FROM main.\(quoted(schema.name)) WHERE (\(schema.keyList)) IN (SELECT \(schema.keyList) FROM temp.\(noted))"
    )
    return connection.changes
  }

  func discard(in connection: Connection) {
    guard isNoted else { return }
    // It goes with the connection at the latest.
    try? connection.execute("DROP TABLE IF EXISTS temp.\(noted)")
  }
}

/// Asks the engine's key indexes from SQL.
private struct Search {
  let schema: TableSchema
  let seen: KeyIndex
  let scope: DeletionScope?
  /// Keys that `syncd_stated` looks for.
  var stated: KeyIndex?

  /// What the SQL functions look into.
  private final class Lookup {
    private var keys: KeyIndex
    private var reader: KeyReader
    /// Where the next key may be.
    private var hint = 0

    init(_ keys: KeyIndex, _ types: [ColumnType]) { (self.keys, reader) = (keys, KeyReader(types)) }

    /// The position of a key in the index; nil for one that is not there.
    func position(_ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>) -> Int? {
      reader.withKey(Int(count), of: { ArgumentCell(value: values[$0]) }) {
        keys.ordinal(of: $0, hint: &hint)
      }
    }
  }

  /// Runs `body` with the functions in place, where they are needed: to put them there, and away again, costs all kept
  /// statements another preparation.
  func withFunctions<R>(
    _ areNeeded: Bool = true, in connection: Connection, _ body: (Connection) throws -> R
  ) throws -> R {
    if !areNeeded { return try body(connection) }
    func add(_ name: String, _ lookup: Lookup?, _ count: Int) {
      // DIRECTONLY: no trigger or view of the database may call it (sqlite.org/c3ref/c_deterministic.html).
      sqlite3_create_function_v2(
        connection.handle, name, Int32(count), SQLITE_UTF8 | SQLITE_DIRECTONLY,
        lookup.map { Unmanaged.passUnretained($0).toOpaque() },
        lookup == nil
          ? nil
          : { context, count, values in
            guard let values, let data = sqlite3_user_data(context) else { return }
            let lookup = Unmanaged<Lookup>.fromOpaque(data).takeUnretainedValue()
            // Null for a key that is not there.
            if let position = lookup.position(count, values) {
              sqlite3_result_int64(context, Int64(position))
            }
          }, nil, nil, nil)
    }
    let keys = schema.keys
    let seen = Lookup(seen, keys.map(\.type))
    let owned = scope.flatMap { $0.columns.isEmpty ? nil : $0 }
    let scoped = owned.map { scope in Lookup(scope.keys, scope.columns.map(type)) }
    let named = stated.map { Lookup($0, keys.map(\.type)) }
    add("syncd_seen", seen, keys.count)
    if named != nil { add("syncd_stated", named, keys.count) }
    if let owned { add("syncd_in_scope", scoped, owned.columns.count) }
    defer {
      add("syncd_seen", nil, keys.count)
      if named != nil { add("syncd_stated", nil, keys.count) }
      if let owned { add("syncd_in_scope", nil, owned.columns.count) }
    }
    return try withExtendedLifetime((seen, scoped, named)) { try body(connection) }
  }

  private func type(_ column: String) -> ColumnType {
    schema.columns.first { $0.name == column }?.type ?? .text
  }

  var inScope: String {
    guard let scope else { return "true" }
    var parts = scope.conditions.map { condition in
      switch condition {
      case .equal(let column, let value):
        "\(quoted(column)) = \(TableDefinition.literal(value, type(column)))"
      case .isNull(let column): "\(quoted(column)) IS NULL"
      case .sql(let text): "(\(text))"
      }
    }
    if !scope.columns.isEmpty {
      parts.append("syncd_in_scope(\(scope.columns.map(quoted).joined(separator: ", "))) IS NOT NULL")
    }
    return parts.joined(separator: " AND ")
  }

  private var position: String {
    "syncd_seen(\(schema.keyList))"
  }

  var isUnseen: String { "\(position) IS NULL" }

  /// Finds out on which pages the keys stand that have no row.
  func missing(of kept: SeenKeys, in connection: Connection) throws -> KeptRowsMissing {
    var present: Set<Int> = []
    _ = try scan(keeping: kept, in: connection) { present.insert($0) }
    return KeptRowsMissing(pages: kept.keptPages(lackingAllBut: present))
  }

  /// Looks at keys that were read before; nil where they do not hold any more, or are not enough.
  func count(
    _ surveyed: TableContent?, keeping kept: SeenKeys?
  ) -> (unseen: Int, rows: Int, kept: Int)? {
    guard scope == nil, let surveyed else { return nil }
    if let rows = surveyed.rowCount(of: schema, ifThoseOf: seen) {
      return (0, rows, kept?.keptRows ?? 0)
    }
    var count = RowCount(kept: kept, onKept: nil)
    guard surveyed.forEach(of: schema, in: seen, { _ = count.add($0) }) else { return nil }
    return (count.unseen, count.rows, count.keptRows)
  }

  /// Looks at each row of the table.
  ///
  /// - Parameter table: takes the keys of rows in the scope that were not seen.
  /// - Returns: the rows in the scope, those of them whose keys were not seen, and all rows, in the scope or not, whose
  ///   keys came with no record.
  func scan(
    keeping kept: SeenKeys? = nil, in connection: Connection, notingUnseenIn table: String? = nil,
    onKept: ((Int) -> Void)? = nil
  ) throws -> (unseen: Int, rows: Int, kept: Int) {
    var (seen, hint) = (seen, 0)
    var count = RowCount(kept: kept, onKept: onKept)
    return try withFunctions(scope?.columns.isEmpty == false, in: connection) { connection in
      let keys = schema.keys
      let inScope = scope == nil ? "" : ", (\(inScope)) IS TRUE"
      let statement = try connection.prepare(
        "SELECT \(schema.keyList)\(inScope) FROM main.\(quoted(schema.name))")
      var note: Statement?
      var reader = KeyReader(keys.map(\.type))
      while try connection.step(statement) {
        let isJudged = scope == nil || statement.integer(Int32(keys.count)) != 0
        guard isJudged || count.kept != nil else { continue }
        let position = seen.position(of: keys, in: statement, &reader, hint: &hint)
        guard count.add(position, isJudged: isJudged), let table else { continue }
        // Most often no row is gone, and no table is made.
        if note == nil { note = try makeNotes(table, in: connection) }
        guard let handle = note?.handle else { continue }
        for column in keys.indices {
          sqlite3_bind_value(handle, Int32(column + 1), sqlite3_column_value(statement.handle, Int32(column)))
        }
        let code = sqlite3_step(handle)
        if code != SQLITE_DONE { throw connection.error(code, nil) }
        sqlite3_reset(handle)
      }
      return (count.unseen, count.rows, count.keptRows)
    }
  }
}

extension Search {
  /// Makes the table for the keys of rows that are noted, and the statement that notes one.
  private func makeNotes(_ table: String, in connection: Connection) throws -> Statement {
    // One of an earlier transaction went with it, and one of this transaction was dropped.
    try connection.execute(
      "CREATE TEMP TABLE \(table) AS SELECT \(schema.keyList) FROM main.\(quoted(schema.name)) LIMIT 0")
    let places = schema.keys.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
    return try connection.prepare("INSERT INTO temp.\(table) VALUES (\(places))", isKept: false)
  }
}

/// Counts the rows of a table by whether their keys were seen.
private struct RowCount {
  let kept: SeenKeys?
  let onKept: ((Int) -> Void)?
  private(set) var (rows, unseen, keptRows) = (0, 0, 0)
  /// Positions that follow each other are often all kept.
  private var known = 0..<0

  init(kept: SeenKeys?, onKept: ((Int) -> Void)?) {
    self.kept = kept.flatMap { $0.keptRows > 0 ? $0 : nil }
    self.onKept = onKept
  }

  /// - Parameters:
  ///   - position: that of the row's key among those that were seen; nil for one that was not.
  ///   - isJudged: whether the row is in the scope.
  /// - Returns: whether it is in the scope and was not seen.
  mutating func add(_ position: Int?, isJudged: Bool = true) -> Bool {
    if isJudged { rows += 1 }
    guard let position else {
      if isJudged { unseen += 1 }
      return isJudged
    }
    guard let kept else { return false }
    if !known.contains(position) { known = kept.keptRange(around: position) ?? 0..<0 }
    if known.contains(position) {
      keptRows += 1
      onKept?(position)
    }
    return false
  }
}
