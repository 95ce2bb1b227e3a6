import HTTP

/// Where rows are kept. ``Engine`` knows a database only through this.
public protocol Store: Sendable {
  /// Schemes of the locations that the store opens, such as `postgresql`; `""` is a plain path.
  static var schemes: [String] { get }

  /// - Throws: ``StoreError`` if nothing can be opened there.
  static func open(_ location: String, options: StoreOptions) throws -> Self

  /// What a person calls the store, without secrets.
  var location: String { get }

  /// Whether there is anything yet: the first run makes it.
  var exists: Bool { get async throws }

  /// The right to run on a table, from the first request to the commit: one holder among all processes that use
  /// the store. It ends with its process.
  ///
  /// - Parameter isShared: whether others that share it may hold it too.
  /// - Throws: ``LeaseTimeout`` if another run holds the table longer than `wait`.
  func lease(table: String, isShared: Bool, wait: Duration) async throws -> any Lease

  /// The work that programs share which use the store; nil where a store is one machine's.
  ///
  /// - Parameters:
  ///   - name: what people call this worker.
  ///   - lease: how long a worker may say nothing before others have its units.
  func workQueue(worker name: String, lease: Duration) -> (any WorkQueue)?

  /// Who works on the store; nil where nobody shares work.
  func sharedWork(leases limit: Int) async throws -> SharedWork?

  /// The turns of an API's requests among all programs that use the store; nil where a store is one machine's.
  func turns(of api: String) -> (any SharedTurns)?

  /// Which texts can be kept; nil where all can.
  func textRule() async throws -> TextRule?

  /// Looks whether the table that is there can take the schema's rows; a table that is not there fits.
  ///
  /// - Throws: ``StoreError`` with the difference.
  func check(_ schema: TableSchema) async throws

  /// How the table that is there differs from the schema, be it that the rows can live with it; a table that is not
  /// there does not differ.
  func differences(from schema: TableSchema) async throws -> [String]

  /// Makes tables that the engine created what their schemas ask for, in one transaction. Their rows, local columns,
  /// indexes and triggers stay.
  ///
  /// - Parameter droppingColumns: whether columns that are no longer declared go, with what they hold.
  /// - Returns: what was changed, for the tables that differed.
  /// - Throws: ``StoreError`` for a table that someone else made, and for values that do not fit their new type.
  func rebuild(_ schemas: [TableSchema], droppingColumns: Bool) async throws -> [Rebuild]

  /// The records that runs left out as bad, the oldest first.
  func rejects(of tables: [String]) async throws -> [Reject]

  /// Rows in the scope whose keys were not seen, and all rows in it. Reads only.
  func countUnseen(
    _ seen: KeyIndex, scope: DeletionScope?, in schema: TableSchema
  ) async throws -> (unseen: Int, rows: Int)

  /// The keys of the rows in the scope that were not seen, in their order. Reads only.
  func unseen(_ seen: KeyIndex, scope: DeletionScope?, in schema: TableSchema) async throws -> [[StoredValue]]

  /// Begins to read a table beside the requests, for a commit that compares what came with what is there; nil where the
  /// store has no use for that.
  ///
  /// - Parameter rows: how many records the last full run had, if that is known.
  func survey(_ schema: TableSchema, for purpose: SurveyPurpose, rows: Int?) -> (any TableSurvey)?

  /// What the last proven run kept of an entity's pages.
  func pages(of entity: String) async throws -> [KeptPage]

  /// Writes all of it in one transaction, or nothing. One commit comes after the other.
  ///
  /// Each creates the table if it is absent, upserts the rows that differ, deletes under the guard, and keeps the run's
  /// record, with the counts filled in, the state and the pages. Pages of other entities that have rows in a table
  /// which it changes are void from then on.
  ///
  /// Rehearsals do all of it and undo it again; where there is no store yet, none is made.
  ///
  /// - Throws: ``FailedCommit`` with a ``StoreError``, ``GuardRefusal``, ``RowConflict``, ``KeptRowsMissing`` or
  ///   `CancellationError`.
  func commit(_ commits: [Commit]) async throws -> [Committed]

  /// The rows that a table will have after the commits, which are done and undone, in the order of their keys.
  ///
  /// - Throws: as ``commit(_:)``.
  func rows(of schema: TableSchema, columns: [Column], after commits: [Commit]) async throws
    -> [[StoredValue]]

  /// Rows whose address differs from the one that their bytes came from; with ``Asset/isRevalidated`` all that have
  /// an address. Bytes whose address is gone are cleared.
  func pendingAssets(_ asset: Asset, in schema: TableSchema) async throws -> [PendingAsset]

  /// Keeps what was downloaded, in the rows that still have the address.
  func save(_ assets: [FetchedAsset], _ asset: Asset, in schema: TableSchema) async throws

  /// Keeps the record of a run that committed nothing.
  ///
  /// - Parameter isPatient: whether it waits for other programs' transactions as long as a commit does.
  func record(_ run: RunRecord, isPatient: Bool) async throws

  /// What earlier commits kept for an entity.
  func state(of entity: String) async throws -> [String: String]

  /// Keeps values by name beside those of commits, in a transaction of its own that a power cut does not undo.
  func keep(_ state: [String: String], of entity: String) async throws

  /// What a run that was ended has read of an entity; nil where nothing can be kept. The caller holds the entity's lease.
  func journal(_ request: PageJournalRequest) async -> (any PageJournal)?

  /// A secret of this store, made at its first use: the key of hashes that must not be compared across stores.
  func installationKey() async throws -> String

  /// The last runs of an entity, the latest first.
  func runs(of entity: String, limit: Int) async throws -> [RunRecord]

  /// The rows of a table; nil if there is no table.
  func count(of table: String) async throws -> Int?

  /// The statements that create the entity's table.
  func definition(of schema: TableSchema) -> String

  /// Calls `body` for each row, with the values of the asked-for columns. The order is that of the keys.
  ///
  /// - Parameter key: only the row with this key.
  func rows(
    of schema: TableSchema, columns: [Column], key: [StoredValue]?, _ body: ([StoredValue]) throws -> Void)
    throws

  /// Forgets old records of runs, in short transactions, and notes when that was done.
  func prune(_ request: PruneRequest) async throws -> Pruned

  /// Moves what was written ahead of the file into it, as far as nobody reads what was there before, and waits for
  /// nobody; nil where a store has no such log.
  func checkpoint() async throws -> StoreLog?

  /// Copies the store as it is at one moment into a file, for its owner alone, while runs go on. The file is replaced when
  /// the copy is whole, and checked.
  ///
  /// - Throws: ``StoreError``, for a file that is no backup of this store too; `CancellationError`, with no file left.
  func backUp(to file: String) async throws -> Backup

  /// Looks for what is wrong with the store, or soon may be. A damaged store is a finding and no error.
  func examine(_ examination: StoreExamination) async -> [Finding]

  /// Writes what is pending to its final place and closes connections.
  func close() async
}

/// Which texts a store can keep: a record with another one is bad.
public struct TextRule: Sendable {
  /// Why a text of a column's type cannot be kept; nil where it can.
  package let fault: @Sendable (UnsafeBufferPointer<UInt8>, ColumnType) -> String?

  package init(_ fault: @escaping @Sendable (UnsafeBufferPointer<UInt8>, ColumnType) -> String?) {
    self.fault = fault
  }
}

/// What holds for any store.
public struct StoreOptions: Sendable, Hashable {
  /// How long a commit waits for other programs' transactions.
  public var busyLimit: Duration

  public init(busyLimit: Duration = .seconds(60)) { self.busyLimit = busyLimit }
}

extension Store {
  /// Opens a store as it is usual.
  public static func open(_ location: String) throws -> Self {
    try open(location, options: StoreOptions())
  }

  public func workQueue(worker name: String, lease: Duration) -> (any WorkQueue)? { nil }
  public func sharedWork(leases limit: Int) async throws -> SharedWork? { nil }
  public func turns(of api: String) -> (any SharedTurns)? { nil }
}

/// What a commit wants to know of a table.
public enum SurveyPurpose: Sendable {
  /// Which keys it has: pages were as before, and their rows have to be there still.
  case keys
  /// Which rows it has: those that came again as they are need not be written.
  case rows
}

/// A table as it was while the source was asked. A commit believes it only where that is as good as to look again.
public protocol TableSurvey: Sendable {
  /// Shows rows as they come, beside the walk and several at a time, before anyone else has them. What the survey makes of
  /// them may be kept in ``RowBatch/comparison``.
  func compare(_ rows: RowBatch)
  /// Whether the table has all of these rows as they came. Then they need not be held: the commit makes sure of it, and
  /// throws ``RowsDropped`` where that does not hold any more.
  func holds(_ rows: RowBatch) -> Bool
  /// Waits until it is read.
  func finish() async
  /// Ends the reading: nobody waits for it.
  func end()
}

extension TableSurvey {
  public func compare(_ rows: RowBatch) {}
  public func holds(_ rows: RowBatch) -> Bool { false }
}

/// The right to run on a table.
public protocol Lease: Sendable {
  func end()
}

/// Another run holds the table.
public struct LeaseTimeout: Error, Sendable, CustomStringConvertible {
  public var description: String
  public init(table: String, wait: Duration) {
    let time = wait < .seconds(1) ? "\(wait.milliseconds) ms" : "\(wait.components.seconds) s"
    description = "another run has held the table \"\(table)\" for longer than \(time)"
  }
}

/// What a rebuild changed.
public struct Rebuild: Sendable, Hashable {
  public var table: String
  public var changes: [String]
  public var rows: Int
  public init(table: String, changes: [String], rows: Int) {
    (self.table, self.changes, self.rows) = (table, changes, rows)
  }
}

/// A record that a run left out as bad.
public struct Reject: Sendable, Hashable {
  public var run: String
  public var entity: String
  public var record: BadRecord
  public init(run: String, entity: String, record: BadRecord) {
    (self.run, self.entity, self.record) = (run, entity, record)
  }
}

/// What a database says when it cannot do as it was told.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  public var description: String
  /// Whether another program kept the store busy for longer than was waited.
  public var isBusy = false
  public init(_ description: String) { self.description = description }
}

/// Why nothing was written, and for which of the commits.
public struct FailedCommit: Error, Sendable {
  public var position: Int
  public var error: any Error
  public init(position: Int, error: any Error) { (self.position, self.error) = (position, error) }
}

/// A new row without a value for a column that has no default.
public struct RowConflict: Error, Sendable, CustomStringConvertible {
  public var description: String
  public init(_ description: String) { self.description = description }
}

/// Rows for one table.
public struct TableRows: Sendable {
  public var schema: TableSchema
  public var batches: [RowBatch]
  /// Positions of rows whose key came again later in the run: they are passed over.
  package var superseded: Set<Int>
}

/// Rows that came inside others.
public struct NestedRows: Sendable {
  public var rows: TableRows
  /// What the lists that came replace; nil where the rows belong to nobody.
  public var replacement: Replacement?

  /// Rows of owners whose list came, without those in the list.
  public struct Replacement: Sendable {
    package let seen: KeyIndex
    package let scope: DeletionScope
  }
}

/// What one run writes.
public struct Commit: Sendable {
  public var rows: TableRows
  /// Owners before what they own.
  public var nested: [NestedRows]
  /// Tables that columns refer to; those that are absent are created.
  public var referenced: [TableSchema]
  public var deletion: ArmedDeletion?
  /// Rows that the source itself says are gone.
  public var tombstones: StatedDeletion?
  /// The keys of all rows of which the source says so: their mark is not cleared.
  package var gone: KeyIndex?
  /// The keys that the run saw. Those that came with no record have to have a row.
  package var seen: SeenKeys
  /// Keys of rows of other tables that have to be there too.
  package var keptNested: [(schema: TableSchema, keys: KeyIndex)]
  /// A column that is cleared in the rows with these keys.
  public var mark: String?
  public var rejects: [BadRecord]
  public var run: RunRecord
  /// Values to keep for the entity, by name.
  public var state: [String: String]
  /// What may be kept of the pages; nil makes void what is kept of them.
  public var pages: ProvenPages?
  /// Whether only what changed was asked for: what is kept of pages holds as long as nothing did.
  public var isIncrement: Bool
  /// Whether the changes of single rows are told.
  public var tellsChanges = false
  public var isRehearsal = false
  public var survey: (any TableSurvey)?
  /// The unit of shared work that the run is one of.
  public var settlement: Settlement?
}

// MARK: Typed reads

extension Store {
  /// All rows of a record's table in the order of their keys, local columns included.
  ///
  /// ```swift
  /// for book in try store.all(Book.self) { print(book.title) }
  /// // SELECT "id", "title", "author" FROM "book" ORDER BY "id"
  /// ```
  ///
  /// - Throws: ``StoreError`` if the table cannot be read, ``UnreadableValue`` if a row is no value of the type.
  public func all<R: Record>(_ record: R.Type) throws -> [R] { try rows(of: record, key: nil) }

  /// The row with this key; the parts of a composite key follow each other. Nil if there is none.
  ///
  /// ```swift
  /// let book = try store.first(Book.self, key: 3)
  /// ```
  public func first<R: Record>(_ record: R.Type, key: any KeyValue...) throws -> R? {
    try rows(of: record, key: key.map(\.stored)).first
  }

  private func rows<R: Record>(of record: R.Type, key: [StoredValue]?) throws -> [R] {
    let schema = try TableSchema(record)
    let mapping = R.declaredMapping
    if let key, key.count != schema.keys.count {
      throw StoreError(
        "\(schema.name) has a key of \(schema.keys.count) columns, and \(key.count) values were given")
    }
    var found: [R] = []
    try rows(of: schema, columns: schema.columns, key: key) { values in
      var row = R()
      for (column, value) in zip(mapping.columns, values) { try column.assign(&row, value) }
      found.append(row)
    }
    return found
  }
}
