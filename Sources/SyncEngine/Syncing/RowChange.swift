/// What a run changed in one row, of its entity's tables or of another one that follows by a cascade or a trigger.
public struct RowChange: Sendable, Hashable {
  public enum Kind: String, Sendable { case inserted, updated, deleted }

  /// One column of a row that changed.
  public struct Value: Sendable, Hashable {
    public let column: String
    /// Nil in a row that is new.
    public let old: StoredValue?
    /// Nil in a row that is gone.
    public let new: StoredValue?

    package init(column: String, old: StoredValue?, new: StoredValue?) {
      (self.column, self.old, self.new) = (column, old, new)
    }
  }

  public let table: String
  public let kind: Kind
  /// The key's columns with their values, in the table's order.
  public let key: [Value]
  /// All other columns of a row that is new or gone; of one that was updated those that changed.
  public let values: [Value]

  package init(table: String, kind: Kind, key: [Value], values: [Value]) {
    (self.table, self.kind, self.key, self.values) = (table, kind, key, values)
  }
}

/// What a commit did, or would have done.
public struct Committed: Sendable {
  public var run: RunRecord
  /// In no particular order; nil where nobody asked.
  public var changes: [RowChange]?

  public init(run: RunRecord, changes: [RowChange]?) { (self.run, self.changes) = (run, changes) }
}

/// What a run would do.
public struct SyncPlan: Sendable {
  /// With the counts of what would be written.
  public var record: RunRecord
  public var changes: [RowChange]
  /// Keys of rows that are missing from the source and would stay, and why.
  public var withheld: (keys: [[RowChange.Value]], reason: String)?

  public var isEmpty: Bool { changes.isEmpty }
}
