/// What is kept of a run, for `syncd status` and for whoever asks why a table is short.
public struct RunRecord: Sendable, Hashable {
  public enum Outcome: String, Sendable {
    /// Everything was committed, and the walk is proven to be complete.
    case proven
    /// The rows were committed, without deletions.
    case unproven
    /// The rows were committed; only what changed was asked for, and nothing can be deleted by that.
    case incremental
    /// Nothing was committed.
    case failed
    /// The guard refused the deletions, and nothing was committed.
    case refused
  }

  public var run: String
  public var entity: String
  /// Milliseconds since 1970.
  public var started: Int64
  public var finished: Int64
  public var outcome: Outcome
  /// Why the run is not proven, failed or was refused.
  public var reason: String?
  public var pages = 0
  public var records = 0
  public var bytes = 0
  public var inserted = 0
  public var updated = 0
  public var unchanged = 0
  public var deleted = 0
  public var duplicates = 0
  public var rejected = 0
  /// A keyed hash of all that decides which records the source returns.
  public var scope: String?
  /// Rows that a deletion judges, before the run; nil where none was armed.
  public var rowsInScope: Int?
  /// Whether more was deleted than the guard allows, because it was allowed otherwise.
  public var exceedsGuard = false

  public init(run: String, entity: String, started: Int64, finished: Int64, outcome: Outcome) {
    (self.run, self.entity, self.started, self.finished, self.outcome) = (
      run, entity, started, finished, outcome
    )
  }
}

/// The result of a run that was committed.
public struct SyncReport: Sendable, Hashable {
  public var record: RunRecord
  public var duration: Duration
  /// Columns that no record had a value for: perhaps a path that is misspelt.
  public var absentColumns: [String]
  /// What became of the downloads; nil where none is declared.
  public var assets: AssetReport?
  /// What was changed, row by row; nil where nobody asked.
  public var changes: [RowChange]?
  /// Pages that the server said are as they were (status 304).
  public var pagesNotModified = 0

  public var entity: String { record.entity }
  public var inserted: Int { record.inserted }
  public var updated: Int { record.updated }
  public var unchanged: Int { record.unchanged }
  public var deleted: Int { record.deleted }
  public var isProven: Bool { record.outcome == .proven }
}

/// Some rows of a source as they would be stored.
public struct SampleRows: Sendable {
  public let columns: [Column]
  /// Values in the order of the columns; nil where a record had none.
  public let rows: [[StoredValue?]]
  /// Records of the same pages that a run would quarantine.
  public let badRecords: Int
  /// Tables of nested records, whose rows are not among these.
  public let tablesLeftOut: [String]
}
