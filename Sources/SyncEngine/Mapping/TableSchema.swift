/// One column of a table, as every store understands it.
public struct Column: Sendable, Hashable {
  public enum Role: String, Sendable {
    case key, remote, local
    /// What was downloaded from an address in another column, and what is known of it.
    case asset
  }

  public let name: String
  public let type: ColumnType
  public let isNullable: Bool
  public let role: Role
  /// What a new row gets where nothing is given; nil: null for a nullable column, else the column is required.
  public let defaultValue: StoredValue?
  /// Whether another value makes the row a changed one. The time of the fetch does not.
  public let marksChange: Bool
}

/// Columns that hold the key of another table.
public struct Reference: Sendable, Hashable {
  public let columns: [String]
  public let table: String
  public let keys: [String]
  /// Whether the rows go with the row that they refer to.
  public let isOwner: Bool
}

/// A column that holds what another column's address leads to.
public struct Asset: Sendable, Hashable {
  /// The column of bytes.
  public let column: String
  /// The column that holds the address.
  public internal(set) var address: String
  /// The address that the bytes came from.
  public var source: String { column + "_source" }
  /// The ETag or Last-Modified that came with them.
  public var validator: String { column + "_validator" }
  /// The largest number of bytes that is taken.
  public let limit: Int
  /// Whether each run asks whether what is there is still the same.
  public let isRevalidated: Bool
}

/// The table of a record.
public struct TableSchema: Sendable, Hashable {
  public let name: String
  public let columns: [Column]
  public let references: [Reference]

  public var keys: [Column] { columns.filter { $0.role == .key } }

  /// What is downloaded into columns of the table.
  public let assets: [Asset]

  /// The columns that a ``RowBatch`` has cells for, in their order.
  public var synced: [Column] { columns.filter { $0.role == .key || $0.role == .remote } }
}

extension TableSchema {
  /// - Parameter owner: the table whose rows these belong to.
  /// - Throws: ``DeclarationError`` for a mapping that cannot be a table.
  public init<R: Record>(_ record: R.Type, owner: TableSchema? = nil) throws(DeclarationError) {
    let initial = R()
    let mapping = R.declaredMapping
    try ColumnNameValidator.validate(mapping, entity: R.table)
    try UnmappedPropertyValidator.validate(initial, mapping)
    name = R.table
    let declared = mapping.columns.map { column in
      let value = column.initial(initial)
      let hasDefault = column.role != .key && !column.options.contains(.required) && value != .null
      return Column(
        name: column.name ?? "", type: column.reading.columnType,
        isNullable: column.isNullable && column.role != .key && !column.options.contains(.required),
        role: column.role, defaultValue: hasDefault ? value : nil,
        marksChange: !column.paths.contains { $0.builtin == .fetchedAt })
    }
    let columns =
      declared
      + mapping.assets.flatMap { asset in
        [asset.source, asset.validator].map {
          Column(name: $0, type: .text, isNullable: true, role: .asset, defaultValue: nil, marksChange: false)
        }
      }
    (self.columns, assets) = (columns, mapping.assets)
    var references: [Reference] = []
    for (mapped, column) in zip(mapping.columns, declared) {
      guard let other = mapped.references else { continue }
      references.append(try Reference(column, to: other, in: R.table))
    }
    if let owner {
      references.append(try Reference(owner: owner, of: mapping, columns: columns, in: R.table))
    }
    self.references = references
  }

  static func erased(_ record: any Record.Type, owner: TableSchema? = nil) throws(DeclarationError)
    -> TableSchema
  {
    try TableSchema(record, owner: owner)
  }
}

extension Reference {
  /// A column that holds another record's key.
  fileprivate init(_ column: Column, to record: any Record.Type, in entity: String) throws(DeclarationError) {
    let keys = record.keyColumns
    guard keys.count == 1, let key = keys.first else {
      throw DeclarationError(
        "\(entity): column \"\(column.name)\" refers to \(record.table), whose key has \(keys.count) columns")
    }
    guard key.type == column.type else {
      throw DeclarationError(
        "\(entity): column \"\(column.name)\" is \(column.type.rawValue), but the key of \(record.table) is \(key.type.rawValue)"
      )
    }
    self.init(columns: [column.name], table: record.table, keys: [key.name], isOwner: false)
  }

  /// The key columns by which rows belong to their owner.
  fileprivate init<R: Record>(
    owner: TableSchema, of mapping: Mapping<R>, columns: [Column], in entity: String
  ) throws(DeclarationError) {
    var names: [String] = []
    for key in owner.keys {
      guard
        let own = zip(mapping.columns, columns).first(where: { mapped, column in
          column.role == .key && mapped.paths.map(\.parentColumn) == [key.name]
        })?.1
      else {
        throw DeclarationError(
          "\(entity): children belong to a row of \(owner.name), so their key has to name it: Key(\\.…, \"@parent.\(key.name)\")"
        )
      }
      guard own.type == key.type else {
        throw DeclarationError(
          "\(entity): column \"\(own.name)\" is \(own.type.rawValue), but \(owner.name).\(key.name) is \(key.type.rawValue)"
        )
      }
      names.append(own.name)
    }
    self.init(columns: names, table: owner.name, keys: owner.keys.map(\.name), isOwner: true)
  }
}

extension Record {
  /// The records whose keys columns of this one hold, or of records in it.
  static var references: [any Record.Type] { references(within: []) }

  /// - Parameter owners: the records that this one is nested in; nothing else stops at those that hold themselves.
  private static func references(within owners: [ObjectIdentifier]) -> [any Record.Type] {
    guard !owners.contains(ObjectIdentifier(Self.self)) else { return [] }
    return declaredMapping.columns.compactMap(\.references)
      + declaredMapping.nested.flatMap {
        $0.record.references(within: owners + [ObjectIdentifier(Self.self)])
      }
  }

  /// Names and types of the key columns, without looking at anything else: two records may refer to each other.
  fileprivate static var keyColumns: [(name: String, type: ColumnType)] {
    declaredMapping.columns.filter { $0.role == .key }.map { ($0.name ?? "", $0.reading.columnType) }
  }
}
