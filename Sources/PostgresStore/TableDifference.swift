import SyncEngine

/// How the table that is there differs from what the schema asks for.
struct TableDifference {
  let schema: TableSchema
  let exists: Bool
  /// Whether the engine made the table, so that it may be rebuilt.
  let isMade: Bool
  /// Columns to be added with their defaults.
  private(set) var missing: [Column] = []
  /// Local columns whose default the table does not have.
  private(set) var locals: [Column] = []
  /// Columns of text that hold another type in its text form.
  private(set) var asText: Set<String> = []
  /// The longest text of a column, in characters, where it is bounded.
  private(set) var lengths: [String: Int] = [:]
  /// The range of a column whose integers have fewer than 64 bits.
  private(set) var bounds: [String: ClosedRange<Int64>] = [:]
  private static let bounds: [String: ClosedRange<Int64>] = [
    "integer": Int64(Int32.min)...Int64(Int32.max), "smallint": Int64(Int16.min)...Int64(Int16.max),
  ]
  /// Why the table cannot take the rows.
  private(set) var faults: [String] = []
  /// Differences that the rows can live with.
  private(set) var deviations: [String] = []
  /// Columns that the declaration does not name; they stay unless a rebuild is told to drop them.
  private(set) var extra: [Actual] = []
  private(set) var actual: [String: Actual] = [:]
  /// References that a table of the engine's own does not have.
  private(set) var lackingReferences: [Reference] = []

  /// A column that is there.
  struct Actual {
    var name: String
    /// As `format_type` writes it: `character varying(20)`.
    var type: String
    var isNotNull: Bool
    /// The default as SQL.
    var defaultValue: String?
    var isGenerated: Bool
    /// Whether texts that differ in bytes are equal to it (a nondeterministic collation).
    var isFolding: Bool
    /// How its text is sorted, as SQL; nil for what is usual in the database, and for what is no text.
    var collation: String?
  }

  init(of schema: TableSchema, in connection: Connection) throws {
    self.schema = schema
    let kind = try connection.text(
      "SELECT relkind FROM pg_class WHERE oid = to_regclass($1)", .text(quoted(schema.name)))
    exists = kind != nil
    guard let kind else {
      isMade = false
      for column in schema.columns { Self.checkName(column.name, &faults) }
      Self.checkName(schema.name, &faults)
      checkDefaults(ServerEncoding(of: connection))
      return
    }
    guard ["r", "p"].contains(kind) else {
      let name =
        ["v": "a view", "m": "a materialized view", "f": "a foreign table"][kind] ?? "something else"
      throw StoreError("\"\(schema.name)\" is \(name), not a table")
    }
    isMade = try Journal.isMade(schema.name, in: connection)
    let columns = try connection.run(
      """
      SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, coalesce(pg_get_expr(d.adbin, d.adrelid), t.typdefault, CASE a.attidentity WHEN 'd' THEN 'DEFAULT' END),
        a.attgenerated <> '' OR a.attidentity = 'a', c.collisdeterministic IS FALSE,
        CASE WHEN a.attcollation <> t.typcollation THEN c.oid::regcollation::text END
      FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        LEFT JOIN pg_collation c ON c.oid = a.attcollation
      WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
      """, [.text(quoted(schema.name))])
    for row in 0..<columns.count {
      let name = columns.text(row, 0) ?? ""
      actual[name] = Actual(
        name: name, type: columns.text(row, 1) ?? "", isNotNull: columns.isTrue(row, 2),
        defaultValue: columns.text(row, 3), isGenerated: columns.isTrue(row, 4),
        isFolding: columns.isTrue(row, 5), collation: columns.text(row, 6))
    }
    checkDefaults(ServerEncoding(of: connection))
    for column in schema.columns {
      if let there = actual[column.name] {
        compare(column, there)
      } else if column.role == .key {
        faults.append("the key column \"\(column.name)\" is missing")
      } else if !column.isNullable && column.defaultValue == nil {
        faults.append(
          "the column \"\(column.name)\" is missing and cannot be added, since it is required and has no default"
        )
      } else {
        Self.checkName(column.name, &faults)
        missing.append(column)
      }
    }
    let declared = Set(schema.columns.map(\.name))
    extra = actual.filter { !declared.contains($0.key) }.values.sorted { $0.name < $1.name }
    for column in extra where column.isNotNull && column.defaultValue == nil && !column.isGenerated {
      faults.append("the table's column \"\(column.name)\" needs a value that the declaration does not have")
    }
    if isMade {
      try compareDefaults(in: connection)
      let wanted = Set(schema.references.map(Self.text))
      let found = try Set(Self.references(of: schema, in: connection).values.map(\.text))
      lackingReferences = schema.references.filter { !found.contains(Self.text($0)) }
      deviations += wanted.subtracting(found).sorted().map { "the reference of \($0) is missing" }
      deviations += found.subtracting(wanted).sorted().map { "the reference of \($0) is not declared" }
    }
    if faults.isEmpty, try !Self.isUnique(schema, in: connection) {
      faults.append(
        "no primary key or unique index covers exactly \(schema.keys.map(\.name).joined(separator: ", "))")
    }
  }

  /// Whether a type holds every value in its text form.
  static func isText(_ type: String) -> Bool { type == "text" || type.hasPrefix("character varying") }

  /// PostgreSQL cuts longer names, and two of them may then be one (postgresql.org/docs/15/limits.html).
  private static func checkName(_ name: String, _ faults: inout [String]) {
    if name.utf8.count > 63 { faults.append("the name \"\(name)\" has more than 63 bytes") }
  }

  /// What a new row gets is written as well.
  private mutating func checkDefaults(_ encoding: ServerEncoding) {
    for column in schema.columns {
      guard case .text(let text)? = column.defaultValue, let fault = encoding.fault(of: text, column.type)
      else {
        continue
      }
      faults.append("the initial value of \"\(column.name)\" cannot be kept: \(fault)")
    }
  }

  /// Notes how a column that is there differs from the declared one.
  private mutating func compare(_ column: Column, _ there: Actual) {
    let name = "the column \"\(column.name)\""
    let type = TableDefinition.type(column.type)
    if there.isGenerated {
      faults.append("\(name) is generated by the table itself")
      return
    }
    if Self.isText(there.type) {
      if type != "text" {
        asText.insert(column.name)
        deviations.append("\(name) is \(there.type), not \(type)")
      }
      if let open = there.type.firstIndex(of: "("),
        let length = Int(there.type[open...].dropFirst().dropLast())
      {
        lengths[column.name] = length
      }
    } else if !Self.types(of: column.type).contains(there.type) {
      faults.append("\(name) is \(there.type), not \(type)")
    } else if isMade, there.type != type {
      deviations.append("\(name) is \(there.type), not \(type)")
    }
    if column.isNullable, there.isNotNull, column.role != .local || there.defaultValue == nil {
      faults.append("\(name) takes no null, but the declaration does")
    }
    if !column.isNullable, !there.isNotNull, column.role != .key {
      deviations.append("\(name) takes null, but the declaration does not")
    }
    if column.role == .local, there.defaultValue == nil, column.defaultValue != nil { locals.append(column) }
    if let bound = Self.bounds[there.type] { bounds[column.name] = bound }
    if column.role == .key, there.isFolding {
      faults.append(
        "the key column \"\(column.name)\" compares by a collation that is not deterministic, not by bytes")
    }
  }

  /// Types of columns that hold values of a type without changing them; what does not fit is an error, not another value.
  private static func types(of type: ColumnType) -> Set<String> {
    switch type {
    case .integer, .duration: ["bigint", "integer", "smallint", "numeric"]
    case .timestamp:
      // With fewer digits the server would round.
      Set(["timestamp with time zone"] + (3...6).map { "timestamp(\($0)) with time zone" })
    default: [TableDefinition.type(type)]
    }
  }

  /// Defaults are compared as values: the server writes them in its own way.
  private mutating func compareDefaults(in connection: Connection) throws {
    for column in schema.columns where column.role != .key {
      guard let there = actual[column.name], !there.isGenerated else { continue }
      let declared = column.defaultValue.map {
        TableDefinition.literal($0, column.type, asText: asText.contains(column.name))
      }
      if declared == there.defaultValue { continue }
      if let declared, let found = there.defaultValue,
        try connection.text(
          "SELECT (\(found))::text IS NOT DISTINCT FROM ((\(declared))::\(there.type))::text") == "t"
      {
        continue
      }
      deviations.append(
        "the default of the column \"\(column.name)\" is \(there.defaultValue ?? "none"), not \(declared ?? "none")"
      )
    }
  }

  /// - Throws: ``StoreError`` with every difference that cannot be overcome.
  func demandFit() throws {
    guard !faults.isEmpty else { return }
    if !exists {
      throw StoreError("the table \"\(schema.name)\" cannot be made: \(faults.joined(separator: "; "))")
    }
    let advice = isMade ? "; the command rebuild changes it and keeps its rows" : ""
    throw StoreError(
      "the table \"\(schema.name)\" that is there does not fit the declaration: \(faults.joined(separator: "; "))\(advice)"
    )
  }

  static func text(_ reference: Reference) -> String {
    "\(reference.columns.joined(separator: ", ")) to \(reference.table)"
  }

  /// The references that the table itself has, of columns that are declared, by the names of their constraints.
  static func references(
    of schema: TableSchema, in connection: Connection
  ) throws -> [String: (columns: [String], text: String)] {
    let rows = try connection.run(
      """
      SELECT c.conname, a.attname, f.relname FROM pg_constraint c
        CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY k (attnum, position)
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum JOIN pg_class f ON f.oid = c.confrelid
      WHERE c.contype = 'f' AND c.conrelid = to_regclass($1) ORDER BY c.conname, k.position
      """, [.text(quoted(schema.name))])
    var found: [String: (columns: [String], table: String)] = [:]
    for row in 0..<rows.count {
      found[rows.text(row, 0) ?? "", default: ([], rows.text(row, 2) ?? "")].columns.append(
        rows.text(row, 1) ?? "")
    }
    let declared = Set(schema.columns.map(\.name))
    return found.filter { declared.isSuperset(of: $0.value.columns) }.mapValues {
      ($0.columns, "\($0.columns.joined(separator: ", ")) to \($0.table)")
    }
  }

  /// Whether the key columns are those of a primary key or of a unique index that covers every row.
  private static func isUnique(_ schema: TableSchema, in connection: Connection) throws -> Bool {
    let wanted = Set(schema.keys.map(\.name))
    let rows = try connection.run(
      """
      SELECT i.indexrelid, a.attname FROM pg_index i
        CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, position)
        LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
      WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
        AND k.position <= i.indnkeyatts
      """, [.text(quoted(schema.name))])
    var columns: [String: Set<String>] = [:]
    for row in 0..<rows.count {
      columns[rows.text(row, 0) ?? "", default: []].insert(rows.text(row, 1) ?? "")
    }
    return columns.values.contains(wanted)
  }
}
