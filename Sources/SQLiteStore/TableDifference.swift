import CSQLite
import SyncEngine

/// How the table that is there differs from what the schema asks for.
struct TableDifference {
  let schema: TableSchema
  let exists: Bool
  /// Whether the engine made the table, so that it may be rebuilt.
  let isMade: Bool
  /// Columns to be added with their defaults.
  private(set) var missing: [Column] = []
  /// Columns whose text does not compare by bytes: their comparison has to say so.
  private(set) var collated: Set<String> = []
  /// Local columns whose default the table does not have.
  private(set) var locals: [Column] = []
  /// Columns of text that hold another type in its text form.
  private(set) var asText: Set<String> = []
  /// Whether SQLite reports changes of the table's rows (rowid tables only; sqlite.org/c3ref/update_hook.html).
  private(set) var hasRowID = true
  /// Why the table cannot take the rows.
  private(set) var faults: [String] = []
  /// Differences that the rows can live with.
  private(set) var deviations: [String] = []
  /// Columns that the declaration does not name; they stay unless a rebuild is told to drop them.
  private(set) var extra: [Actual] = []
  private(set) var actual: [String: Actual] = [:]

  /// A column that is there.
  struct Actual {
    var name: String
    /// The type's name in upper case.
    var type: String
    var isNotNull: Bool
    /// The default as SQL.
    var defaultValue: String?
    var isGenerated: Bool
  }

  /// Of a table that was made for the schema just now.
  init(ofNew schema: TableSchema) { (self.schema, exists, isMade) = (schema, true, true) }

  /// As it was found before, as long as no schema has changed.
  static func known(of schema: TableSchema, in connection: Connection) throws -> TableDifference {
    let version = try connection.schemaVersion
    if let known = connection.differences[schema.name], known.version == version, known.found.schema == schema
    {
      return known.found
    }
    let found = try TableDifference(of: schema, in: connection)
    // What a transaction has changed may be undone.
    if let version, connection.isIdle { connection.differences[schema.name] = (version, found) }
    return found
  }

  private init(of schema: TableSchema, in connection: Connection) throws {
    self.schema = schema
    let table = try connection.table(schema.name)
    if table?.isView == true { throw StoreError("\"\(schema.name)\" is a view, not a table") }
    exists = table != nil
    guard let table else {
      isMade = false
      return
    }
    hasRowID = table.hasRowID
    // The engine's own tables are STRICT and have row numbers: one that is not came in place of it.
    isMade = try table.isStrict && table.hasRowID && Journal.isMade(schema.name, in: connection)
    let statement = try connection.prepare(
      "SELECT name, type, \"notnull\", dflt_value, hidden FROM pragma_table_xinfo(?1)")
    try statement.bind([.text(schema.name)])
    while try connection.step(statement) {
      actual[statement.text(0).asciiLowercased] = Actual(
        name: statement.text(0), type: statement.text(1).uppercased(), isNotNull: statement.integer(2) != 0,
        defaultValue: statement.isNull(3) ? nil : statement.text(3), isGenerated: statement.integer(4) != 0)
    }
    for column in schema.columns {
      if let there = actual[column.name.asciiLowercased] {
        compare(column, there, isStrict: table.isStrict, in: connection)
      } else if column.role == .key {
        faults.append("the key column \"\(column.name)\" is missing")
      } else if !column.isNullable && column.defaultValue == nil {
        faults.append(
          "the column \"\(column.name)\" is missing and cannot be added, since it is required and has no default"
        )
      } else {
        missing.append(column)
      }
    }
    let declared = Set(schema.columns.map { $0.name.asciiLowercased })
    extra = actual.filter { !declared.contains($0.key) }.values.sorted { $0.name < $1.name }
    for column in extra {
      if column.isNotNull && column.defaultValue == nil && !column.isGenerated {
        faults.append(
          "the table's column \"\(column.name)\" needs a value that the declaration does not have")
      }
    }
    if isMade {
      let (wanted, found) = (
        Set(schema.references.map(Self.text)), try Self.references(of: schema, in: connection)
      )
      deviations += wanted.subtracting(found).sorted().map { "the reference of \($0) is missing" }
      deviations += found.subtracting(wanted).sorted().map { "the reference of \($0) is not declared" }
    }
    if faults.isEmpty, try !Self.isUnique(schema, in: connection) {
      faults.append(
        "no primary key or unique index covers exactly \(schema.keys.map(\.name).joined(separator: ", "))")
    }
  }

  /// Notes how a column that is there differs from the declared one.
  private mutating func compare(
    _ column: Column, _ there: Actual, isStrict: Bool, in connection: Connection
  ) {
    let name = "the column \"\(column.name)\""
    let type = TableDefinition.type(column.type)
    if there.isGenerated {
      faults.append("\(name) is generated by the table itself")
      return
    }
    switch Self.affinity(there.type, isStrict: isStrict) {
    case .text:
      if type != "TEXT" {
        asText.insert(column.name)
        deviations.append("\(name) is \(there.type), not \(type)")
      }
    case .exact(let types):
      // An instant's text never looks like a number, so a DATETIME column keeps it as it is.
      let isSafeText = column.type == .timestamp && types == ["INTEGER", "REAL"]
      if !types.contains(type) && !isSafeText {
        faults.append("\(name) is \(there.type.isEmpty ? "without type" : there.type), not \(type)")
      }
    }
    if column.isNullable, there.isNotNull, column.role != .local || there.defaultValue == nil {
      faults.append("\(name) takes no null, but the declaration does")
    }
    if !column.isNullable, !there.isNotNull, column.role != .key {
      deviations.append("\(name) takes null, but the declaration does not")
    }
    if isMade, column.role != .key {
      let declared = column.defaultValue.map { TableDefinition.literal($0, column.type) }
      // A default that is an expression comes back without its parentheses.
      let isSame = there.defaultValue == declared || there.defaultValue.map { "(\($0))" } == declared
      if !isSame {
        deviations.append(
          "the default of \(name) is \(there.defaultValue ?? "none"), not \(declared ?? "none")")
      }
    }
    if column.role == .local, there.defaultValue == nil, column.defaultValue != nil { locals.append(column) }
    let collation = connection.collation(of: column.name, in: schema.name)
    if collation != "BINARY" {
      if column.role == .key {
        faults.append("the key column \"\(column.name)\" compares by \(collation), not by bytes")
      } else {
        collated.insert(column.name)
      }
    }
  }

  /// - Throws: `StoreError` with every difference that cannot be overcome.
  func demandFit() throws {
    guard !faults.isEmpty else { return }
    let advice = isMade ? "; the command rebuild changes it and keeps its rows" : ""
    throw StoreError(
      "the table \"\(schema.name)\" that is there does not fit the declaration: \(faults.joined(separator: "; "))\(advice)"
    )
  }

  private enum Affinity {
    case text
    /// Holds values of these STRICT types without changing them.
    case exact(Set<String>)
  }

  /// The rules of sqlite.org/datatype3.html#determination_of_column_affinity.
  private static func affinity(_ type: String, isStrict: Bool) -> Affinity {
    // In a STRICT table ANY keeps everything as it is; elsewhere it is a name like any other (stricttables.html).
    if type == "ANY" && isStrict { return .exact(["INTEGER", "REAL", "TEXT", "BLOB"]) }
    if type.contains("INT") { return .exact(["INTEGER"]) }
    if type.contains("CHAR") || type.contains("CLOB") || type.contains("TEXT") { return .text }
    if type.contains("BLOB") || type.isEmpty {
      return .exact(isStrict ? ["BLOB"] : ["INTEGER", "REAL", "TEXT", "BLOB"])
    }
    if type.contains("REAL") || type.contains("FLOA") || type.contains("DOUB") { return .exact(["REAL"]) }
    // NUMERIC turns text that looks like a number into one, so only numbers are safe in it.
    return .exact(["INTEGER", "REAL"])
  }

  private static func text(_ reference: Reference) -> String {
    "\(reference.columns.joined(separator: ", ")) to \(reference.table)".asciiLowercased
  }

  /// The references that the table itself has, of columns that are declared.
  private static func references(of schema: TableSchema, in connection: Connection) throws -> Set<String> {
    let statement = try connection.prepare(
      "SELECT id, lower(\"from\"), lower(\"table\") FROM pragma_foreign_key_list(?1) ORDER BY id, seq")
    try statement.bind([.text(schema.name)])
    var found: [Int64: (columns: [String], table: String)] = [:]
    while try connection.step(statement) {
      let table = statement.text(2)
      found[statement.integer(0), default: ([], table)].columns.append(statement.text(1))
    }
    let declared = Set(schema.columns.map { $0.name.asciiLowercased })
    return Set(
      found.values.filter { declared.isSuperset(of: $0.columns) }.map {
        "\($0.columns.joined(separator: ", ")) to \($0.table)"
      })
  }

  /// Whether the key columns are those of the primary key or of a unique index without condition.
  private static func isUnique(_ schema: TableSchema, in connection: Connection) throws -> Bool {
    let wanted = Set(schema.keys.map { $0.name.asciiLowercased })
    let key = try connection.prepare("SELECT name FROM pragma_table_info(?1) WHERE pk > 0")
    try key.bind([.text(schema.name)])
    var primary: Set<String> = []
    while try connection.step(key) { primary.insert(key.text(0).asciiLowercased) }
    if primary == wanted { return true }
    // An index that compares in its own way is not unique by bytes, and no conflict clause names it.
    let indexes = try connection.prepare(
      """
      SELECT l.name, iif(i.coll = 'BINARY', i.name, NULL) FROM pragma_index_list(?1) l, pragma_index_xinfo(l.name) i
      WHERE l."unique" AND NOT l.partial AND i.key
      """)
    try indexes.bind([.text(schema.name)])
    var columns: [String: Set<String>] = [:]
    while try connection.step(indexes) {
      columns[indexes.text(0), default: []].insert(indexes.isNull(1) ? "" : indexes.text(1).asciiLowercased)
    }
    return columns.values.contains(wanted)
  }
}

extension Connection {
  fileprivate func collation(of column: String, in table: String) -> String {
    var name: UnsafePointer<CChar>?
    let code = sqlite3_table_column_metadata(handle, nil, table, column, nil, &name, nil, nil, nil)
    return code == SQLITE_OK ? name.map { String(cString: $0).uppercased() } ?? "BINARY" : "BINARY"
  }
}
