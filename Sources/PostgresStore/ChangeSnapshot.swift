import SyncEngine

/// Tells what a transaction changes in some tables, whatever did it: copies of the tables as they were are compared with
/// what they are at the end. That costs as much as the tables are large, and is done where someone asks.
struct ChangeSnapshot {
  private struct Table {
    let schema: TableSchema
    /// The copy.
    let before: String
    let columns: [(name: String, expression: String, isKey: Bool)]
  }
  private let tables: [Table]

  init(of schemas: [TableSchema], in connection: Connection) throws {
    var seen: Set<String> = []
    tables = try schemas.filter { seen.insert($0.name).inserted }.enumerated().map { index, schema in
      let before = "syncd_before_\(index)"
      try connection.execute(
        "DROP TABLE IF EXISTS pg_temp.\(before); CREATE TEMP TABLE \(before) ON COMMIT DROP AS SELECT * FROM \(quoted(schema.name))"
      )
      let rows = try connection.run(
        "SELECT attname, atttypid::bigint FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        [.text(quoted(schema.name))])
      let keys = Set(schema.keys.map(\.name))
      return Table(
        schema: schema, before: before,
        columns: (0..<rows.count).map { row in
          let name = rows.text(row, 0) ?? ""
          // What has no form of its own among the engine's values comes as text.
          let isKnown = BinaryValue.Kind(rawValue: UInt32(truncatingIfNeeded: rows.integer(row, 1))) != nil
          return (name, quoted(name) + (isKnown ? "" : "::text"), keys.contains(name))
        })
    }
  }

  func changes(in connection: Connection) throws -> [RowChange] {
    var found: [RowChange] = []
    for table in tables {
      let columns = table.columns
      func list(_ prefix: String) -> String {
        columns.map { "\(prefix).\($0.expression)" }.joined(separator: ", ")
      }
      let matches = columns.filter(\.isKey).map { "b.\(quoted($0.name)) = a.\(quoted($0.name))" }
        .joined(separator: " AND ")
      let key = columns.first { $0.isKey }.map { quoted($0.name) } ?? "ctid"
      // `*<>` compares bytes, so that it tells what compares as equal, and works for every type
      // (postgresql.org/docs/15/functions-comparisons.html#COMPOSITE-TYPE-COMPARISON).
      try connection.forEach(
        "SELECT b.\(key) IS NULL, a.\(key) IS NULL, \(list("b")), \(list("a")) FROM \(table.before) b FULL JOIN \(quoted(table.schema.name)) a ON \(matches) WHERE (b.\(key) IS NOT NULL OR a.\(key) IS NOT NULL) AND (b.\(key) IS NULL OR a.\(key) IS NULL OR ROW(b.*)::record OPERATOR(pg_catalog.*<>) ROW(a.*)::record)"
      ) { row in
        let (isNew, isGone) = (row.bytes(0, 0).first == 1, row.bytes(0, 1).first == 1)
        func value(_ column: Int) -> StoredValue { BinaryValue(row, column)?.plain ?? .null }
        var (key, values): ([RowChange.Value], [RowChange.Value]) = ([], [])
        for (index, column) in columns.enumerated() {
          let old = isNew ? nil : value(2 + index)
          let new = isGone ? nil : value(2 + columns.count + index)
          if column.isKey {
            key.append(RowChange.Value(column: column.name, old: old, new: isNew ? new : nil))
          } else if isNew || isGone || old != new {
            values.append(RowChange.Value(column: column.name, old: old, new: new))
          }
        }
        found.append(
          RowChange(
            table: table.schema.name, kind: isNew ? .inserted : isGone ? .deleted : .updated, key: key,
            values: values))
      }
    }
    return found
  }
}

extension BinaryValue {
  /// The value as SQLite would hold it: instants as text.
  fileprivate var plain: StoredValue {
    if case .integer(let micros) = stored, type == .timestamptz {
      return .text(Timestamp.text(micros.floored(by: 1000)))
    }
    return stored
  }
}
