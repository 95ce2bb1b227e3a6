import CSQLite
import SyncEngine

/// Counts and deletes the rows whose keys a walk did not see.
///
/// The keys stay in the engine's index, and SQL asks it by a function: no second copy of them in a table.
struct DeletionWriter {
  let schema: TableSchema
  let seen: KeyIndex
  let scope: DeletionScope?

  /// What the SQL functions look into.
  private final class Lookup {
    let keys: KeyIndex
    let types: [ColumnType]
    var bytes = KeyBytes()

    init(_ keys: KeyIndex, _ types: [ColumnType]) { (self.keys, self.types) = (keys, types) }

    func contains(_ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>) -> Bool {
      bytes.removeAll()
      for index in 0..<Int(count) { append(values[index], types[index]) }
      return bytes.withBytes { keys.contains($0) }
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
        case .integer, .boolean:
          if let integer = Int64(String(decoding: text, as: UTF8.self)) {
            bytes.append(integer)
          } else {
            bytes.append(text)
          }
        default: bytes.append(text)
        }
      default: bytes.appendNull()
      }
    }
  }

  /// Runs `body` with the functions in place.
  private func withFunctions<R>(
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
            sqlite3_result_int(context, lookup.contains(count, values) ? 1 : 0)
          }, nil, nil, nil)
    }
    let keys = schema.keys
    let seen = Lookup(seen, keys.map(\.type))
    let scoped = scope.map { scope in
      Lookup(
        scope.keys, scope.columns.map { name in schema.columns.first { $0.name == name }?.type ?? .text })
    }
    add("syncd_seen", seen, keys.count)
    if let scope { add("syncd_in_scope", scoped, scope.columns.count) }
    defer {
      add("syncd_seen", nil, keys.count)
      if let scope { add("syncd_in_scope", nil, scope.columns.count) }
    }
    return try withExtendedLifetime((seen, scoped)) { try body(connection) }
  }

  private var inScope: String {
    scope.map { "syncd_in_scope(\($0.columns.map(quoted).joined(separator: ", ")))" } ?? "true"
  }

  private var isUnseen: String {
    "NOT syncd_seen(\(schema.keys.map { quoted($0.name) }.joined(separator: ", ")))"
  }

  func count(in connection: Connection) throws -> (unseen: Int, rows: Int) {
    try withFunctions(in: connection) { connection in
      let statement = try connection.prepare(
        "SELECT coalesce(sum(\(isUnseen)), 0), count(*) FROM \(quoted(schema.name)) WHERE \(inScope)")
      _ = try connection.step(statement)
      return (Int(statement.integer(0)), Int(statement.integer(1)))
    }
  }

  /// Deletes the unseen rows in the scope and returns their number.
  func delete(in connection: Connection) throws -> Int {
    try withFunctions(in: connection) { connection in
      try connection.execute("DELETE FROM \(quoted(schema.name)) WHERE \(inScope) AND \(isUnseen)")
      return connection.changes
    }
  }
}
