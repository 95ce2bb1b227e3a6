/// One column of a table, as every store understands it.
public struct Column: Sendable, Hashable {
  public enum Role: String, Sendable { case key, remote, local }

  public let name: String
  public let type: ColumnType
  public let isNullable: Bool
  public let role: Role
  /// What a new row gets where nothing is given; nil: null for a nullable column, else the column is required.
  public let defaultValue: StoredValue?
}

/// The table of an entity.
public struct TableSchema: Sendable, Hashable {
  public let name: String
  public let columns: [Column]

  public var keys: [Column] { columns.filter { $0.role == .key } }

  /// The columns that a ``RowBatch`` has cells for, in their order: all but the local ones.
  public var synced: [Column] { columns.filter { $0.role != .local } }
}
