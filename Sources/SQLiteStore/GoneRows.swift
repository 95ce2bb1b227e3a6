import CSQLite
import SyncEngine

/// The rows of a table whose keys were not seen, kept by their keys: what a deletion removes is decided before the
/// first row is written.
///
/// The keys that were seen stay in the engine's index, and SQL asks it by a function: no second copy of them in a table.
struct GoneRows {
  let schema: TableSchema
  let seen: KeyIndex
  let scope: DeletionScope?
  private(set) var count: Int
  let rowsInScope: Int
  /// The temporary table.
  private let noted: String

  /// Notes the rows in a temporary table.
  init(of schema: TableSchema, seen: KeyIndex, scope: DeletionScope?, in connection: Connection) throws {
    (self.schema, self.seen, self.scope) = (schema, seen, scope)
    let noted = "syncd_gone"
    self.noted = noted
    let search = Search(schema: schema, seen: seen, scope: scope)
    (count, rowsInScope) = try search.count(in: connection)
    guard count > 0 else { return }
    try search.withFunctions(in: connection) { connection in
      try connection.execute("DROP TABLE IF EXISTS temp.\(noted)")
      try connection.execute(
        "CREATE TEMP TABLE \(noted) AS SELECT \(schema.keyList) FROM main.\(quoted(schema.name)) WHERE \(search.inScope) AND \(search.isUnseen)"
      )
    }
  }

  /// Notes the rows with these keys; those that have a mark already are not meant.
  init(named keys: KeyIndex, mark: String?, of schema: TableSchema, in connection: Connection) throws {
    (self.schema, seen, scope) = (schema, keys, nil)
    let noted = "syncd_stated"
    self.noted = noted
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
    try Search(schema: schema, seen: seen, scope: scope).count(in: connection)
  }

  /// For each position in an index, how many of the keys with it have a row. Reads only.
  static func presence(
    of keys: KeyIndex, groups: Int, in schema: TableSchema, _ connection: Connection
  ) throws -> [Int] {
    try Search(schema: schema, seen: keys, scope: nil).countByPosition(groups, in: connection)
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
      "DELETE FROM main.\(quoted(schema.name)) WHERE (\(schema.keyList)) IN (SELECT \(schema.keyList) FROM temp.\(noted))")
    return connection.changes
  }

  func discard(in connection: Connection) {
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
    let keys: KeyIndex
    let types: [ColumnType]
    var bytes = KeyBytes()
    /// Where the next key may be.
    private var hint = 0

    init(_ keys: KeyIndex, _ types: [ColumnType]) { (self.keys, self.types) = (keys, types) }

    /// The position of a key in the index; nil for one that is not there.
    func position(_ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>) -> Int? {
      bytes.removeAll()
      for index in 0..<Int(count) { append(values[index], types[index]) }
      return bytes.withBytes { keys.ordinal(of: $0, hint: &hint) }
    }

    private func append(_ value: OpaquePointer?, _ type: ColumnType) {
      switch sqlite3_value_type(value) {
      case SQLITE_INTEGER: bytes.append(sqlite3_value_int64(value))
      case SQLITE_FLOAT:
        // A whole number in a column without a strict type is the integer that it equals.
        let real = sqlite3_value_double(value)
        if type != .real, let integer = Int64(exactly: real) {
          bytes.append(integer)
        } else {
          bytes.append(real)
        }
      case SQLITE_TEXT:
        let text = UnsafeBufferPointer(
          start: sqlite3_value_text(value), count: Int(sqlite3_value_bytes(value)))
        switch type {
        case .timestamp:
          if let instant = Timestamp.parse(text) { bytes.append(instant) } else { bytes.append(text) }
        case .integer, .boolean, .duration:
          // Only the text that the store itself writes for the integer is that integer: '01' is another row.
          let written = String(decoding: text, as: UTF8.self)
          if let integer = Int64(written), String(integer) == written {
            bytes.append(integer)
          } else {
            bytes.append(text)
          }
        default: bytes.append(text)
        }
      case SQLITE_BLOB:
        bytes.append(
          UnsafeBufferPointer(
            start: sqlite3_value_blob(value)?.assumingMemoryBound(to: UInt8.self),
            count: Int(sqlite3_value_bytes(value))))
      default: bytes.appendNull()
      }
    }
  }

  /// Runs `body` with the functions in place.
  func withFunctions<R>(
    in connection: Connection, _ body: (Connection) throws -> R
  ) throws -> R {
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

  func countByPosition(_ groups: Int, in connection: Connection) throws -> [Int] {
    try withFunctions(in: connection) { connection in
      let statement = try connection.prepare("SELECT \(position) FROM main.\(quoted(schema.name))")
      var counts = [Int](repeating: 0, count: groups)
      while try connection.step(statement) {
        let position = statement.isNull(0) ? -1 : Int(statement.integer(0))
        if counts.indices.contains(position) { counts[position] += 1 }
      }
      return counts
    }
  }

  func count(in connection: Connection) throws -> (unseen: Int, rows: Int) {
    try withFunctions(in: connection) { connection in
      let statement = try connection.prepare(
        "SELECT coalesce(sum(\(isUnseen)), 0), count(*) FROM main.\(quoted(schema.name)) WHERE \(inScope)")
      _ = try connection.step(statement)
      return (Int(statement.integer(0)), Int(statement.integer(1)))
    }
  }
}
