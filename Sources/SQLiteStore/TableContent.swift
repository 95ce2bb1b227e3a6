import CSQLite
import Dispatch
import SyncEngine
import Synchronization

/// What a table holds, read on a connection of its own while the source is asked: its keys, and a digest of each row where
/// rows come to be compared. It holds as long as nobody commits.
final class TableContent: TableSurvey {
  /// Bytes of the keys that are held at most; those of a larger table are read in the commit.
  private static let keyLimit = 32 << 20
  /// Rows of which a digest is held at most, 16 bytes each; larger tables are compared in the commit.
  private static let digestLimit = 1 << 20

  private struct Reading {
    let connection: Connection
    /// The state of the database that was read (sqlite.org/pragma.html#pragma_data_version).
    let version: Int64
    /// Nil where they are too many.
    var keys: Keys? = Keys()
    var digests: DigestList?
    /// Where the next row of a page may be.
    var hint = 0

    /// Whether nobody has committed since.
    var isCurrent: Bool { (try? connection.integer("PRAGMA data_version")) == version }
  }

  /// Keys one behind the other.
  private struct Keys {
    /// Those of one integer, as long as there are no others.
    private var integers: [Int64] = []
    private var bytes: [UInt8] = []
    /// Where each key ends.
    private var ends: [UInt32] = []

    var isTooLong: Bool { integers.count * 8 + bytes.count > keyLimit }

    init() {
      // Memory that is never written to costs nothing, and to move it while it grows does.
      integers.reserveCapacity(keyLimit / 8)
    }

    /// Appends the key in the row that a statement stands at.
    @inline(__always)
    mutating func append(_ count: Int, of statement: borrowing Statement, _ reader: inout KeyReader) {
      let handle = statement.handle
      if count == 1, ends.isEmpty, sqlite3_column_type(handle, 0) == SQLITE_INTEGER {
        integers.append(sqlite3_column_int64(handle, 0))
        return
      }
      if ends.isEmpty {
        bytes.reserveCapacity(keyLimit)
        ends.reserveCapacity(keyLimit / KeyBytes.integerLength)
        for integer in integers {
          var key = KeyBytes()
          key.append(integer)
          key.withBytes { append($0) }
        }
        integers = []
      }
      reader.withKey(count, of: { ColumnCell(statement: handle, column: Int32($0)) }) { append($0) }
    }

    private mutating func append(_ key: UnsafeBufferPointer<UInt8>) {
      bytes.append(contentsOf: key)
      ends.append(UInt32(truncatingIfNeeded: bytes.count))
    }

    /// Whether these are the keys of an index, in their order.
    func areThose(of index: KeyIndex) -> Bool { ends.isEmpty && index.isEqual(to: integers) }

    /// Calls `body` with the position of each key in an index; nil for one that is not there.
    func forEach(in index: KeyIndex, _ body: (Int?) -> Void) {
      var (index, hint) = (index, 0)
      for integer in integers { body(index.ordinal(of: integer, hint: &hint)) }
      bytes.withUnsafeBufferPointer { bytes in
        var start = 0
        for end in ends {
          body(index.ordinal(of: UnsafeBufferPointer(rebasing: bytes[start..<Int(end)]), hint: &hint))
          start = Int(end)
        }
      }
    }
  }

  /// Nil until it is read, and where it cannot be.
  private let reading = Mutex<Reading?>(nil)
  private let work = DispatchGroup()
  private let cancellation = Cancellation()
  private let schema: TableSchema
  /// The columns that tell whether a row has changed, among those of a record; none where that is not asked for.
  private let compared: [Int]
  private let forms: CellForms
  private let secret = DigestSecret()
  /// Whether digests are of no use any more.
  private let isGivenUp = Atomic(false)
  /// Rows of which digests are read.
  private let rowLimit: Int

  /// - Parameter rows: how many the source had last, if that is known.
  init(of schema: TableSchema, for purpose: SurveyPurpose, rows: Int?, path: String) {
    self.schema = schema
    rowLimit = min(Self.digestLimit, max(4 * (rows ?? Self.digestLimit), 10_000))
    let columns = schema.synced
    forms = CellForms(columns)
    compared =
      purpose == .rows ? columns.indices.filter { columns[$0].role == .key || columns[$0].marksChange } : []
    let cancellation = cancellation
    // It holds this object, and ends with it: who has no use for the content calls `end`.
    DispatchQueue.global(qos: .userInitiated).async(group: work) { [self] in
      let read = try? read(path, cancellation)
      if read?.digests == nil { isGivenUp.store(true, ordering: .relaxed) }
      reading.withLock { $0 = read }
    }
  }

  private func read(_ path: String, _ cancellation: Cancellation) throws -> Reading? {
    let connection = try Connection(path: path, busyLimit: .zero)
    connection.watch(cancellation)
    // Each page is read once: a larger cache would be fresh memory and no use.
    try connection.execute("PRAGMA cache_size = -512")
    guard let version = try connection.integer("PRAGMA data_version") else { return nil }
    var reading = Reading(connection: connection, version: version)
    if try !compared.isEmpty && canCompare(in: connection) {
      reading.digests = DigestList()
    } else {
      isGivenUp.store(true, ordering: .relaxed)
    }
    try scan(connection, &reading)
    return reading
  }

  /// Whether digests tell what a row is, and nothing but the source's own rows changes rows of the table in a commit.
  private func canCompare(in connection: Connection) throws -> Bool {
    try TableDifference.known(of: schema, in: connection).asText.isEmpty
      && !TableWriter(schema, in: connection).mayChangeByItself()
  }

  private func scan(_ connection: Connection, _ reading: inout Reading) throws {
    let keys = schema.keys
    let columns = reading.digests == nil ? [] : compared.map { schema.synced[$0] }
    let names = (keys + columns).map { quoted($0.name) }.joined(separator: ", ")
    let statement = try connection.prepare("SELECT \(names) FROM main.\(quoted(schema.name))")
    let types = keys.map(\.type)
    var reader = KeyReader(types)
    while try connection.step(statement) {
      if reading.keys != nil {
        reading.keys?.append(types.count, of: statement, &reader)
        if reading.keys?.isTooLong == true { reading.keys = nil }
      }
      if reading.digests != nil {
        if reading.digests?.count == rowLimit {
          // Most of the rows are not asked for, or there are too many: the commit looks at those that come.
          isGivenUp.store(true, ordering: .relaxed)
          (reading.digests, reading.keys) = (nil, nil)
        } else {
          reading.digests?.append(digest(of: statement, from: keys.count, columns.count))
        }
      }
      if reading.keys == nil, reading.digests == nil { return }
    }
  }

  func finish() async {
    await withCheckedContinuation { continuation in
      work.notify(queue: .global(qos: .userInitiated)) { continuation.resume() }
    }
  }

  func end() { cancellation.cancel() }

  // MARK: Keys

  /// The number of rows, where their keys are those of an index and no others; nil where it is not that simple.
  func rowCount(of table: TableSchema, ifThoseOf index: KeyIndex) -> Int? {
    guard table.name == schema.name, table.keys == schema.keys else { return nil }
    return reading.withLock { reading in
      guard let reading, reading.keys?.areThose(of: index) == true, reading.isCurrent else { return nil }
      return index.count
    }
  }

  /// Calls `body` with the position of each key of the table in an index; nil for one that is not there.
  ///
  /// - Returns: false where somebody has committed since the keys were read, or they could not be read; `body` is not
  ///   called then.
  func forEach(of table: TableSchema, in index: KeyIndex, _ body: (Int?) -> Void) -> Bool {
    guard table.name == schema.name, table.keys == schema.keys else { return false }
    return reading.withLock { reading in
      guard let reading, let keys = reading.keys, reading.isCurrent else { return false }
      keys.forEach(in: index, body)
      return true
    }
  }

  // MARK: Rows

  /// The digests of the table's rows; nil where there are none, or somebody has committed since.
  func digests(of table: TableSchema) -> DigestList? {
    guard table == schema else { return nil }
    return reading.withLock { reading in
      guard let reading, reading.isCurrent else { return nil }
      return reading.digests
    }
  }

  /// Reads the digests anew, in the transaction that writes.
  ///
  /// - Throws: ``RowsDropped`` where they tell nothing any more.
  func digests(in connection: Connection) throws -> DigestList {
    guard try canCompare(in: connection) else { throw RowsDropped() }
    var reading = Reading(connection: connection, version: 0, keys: nil, digests: DigestList())
    try scan(connection, &reading)
    guard let digests = reading.digests else { throw RowsDropped() }
    return digests
  }

  func compare(_ rows: RowBatch) {
    guard !compared.isEmpty, rows.isComplete, rows.rowCount > 0, !isGivenUp.load(ordering: .relaxed),
      let memory = try? rows.memory()
    else { return }
    rows.comparison = PageDigests(
      digests: (0..<rows.rowCount).map { row in
        let cells = memory.row(row)
        var sink = DigestSink(secret)
        for column in compared {
          CellForms.put(cells[column], column, as: forms.forms[column], in: memory.arena, into: &sink)
        }
        return sink.digest
      })
  }

  func holds(_ rows: RowBatch) -> Bool {
    guard let digests = (rows.comparison as? PageDigests)?.digests else { return false }
    return reading.withLock { reading in
      guard var hint = reading?.hint else { return false }
      defer { reading?.hint = hint }
      return digests.allSatisfy { reading?.digests?.contains($0, hint: &hint) == true }
    }
  }

  /// The digest of the row that a statement stands at.
  private func digest(of statement: borrowing Statement, from first: Int, _ count: Int) -> RowDigest {
    var sink = DigestSink(secret)
    for column in 0..<count {
      // One look-up of the value in place of one for each question; nobody else uses the connection
      // (sqlite.org/c3ref/column_blob.html).
      let cell = ArgumentCell(value: sqlite3_column_value(statement.handle, Int32(first + column)))
      switch cell.type {
      case SQLITE_INTEGER: sink.integer(cell.integer, column)
      case SQLITE_FLOAT: sink.real(cell.real, column)
      case SQLITE_TEXT: sink.text(cell.text, column)
      case SQLITE_BLOB: sink.blob(cell.blob, column)
      default: sink.null(column)
      }
    }
    return sink.digest
  }
}

/// The digests of a page's rows.
struct PageDigests: Sendable {
  let digests: [RowDigest]
}

/// A digest of the values that a table holds, told apart by their types.
private struct DigestSink: CellSink {
  var digest: RowDigest
  private let secret: DigestSecret

  init(_ secret: DigestSecret) { (digest, self.secret) = (RowDigest(secret), secret) }

  @inline(__always)
  mutating func null(_ column: Int) { digest.add(0, 5, secret) }
  @inline(__always)
  mutating func integer(_ value: Int64, _ column: Int) { digest.add(UInt64(bitPattern: value), 1, secret) }
  @inline(__always)
  mutating func real(_ value: Double, _ column: Int) {
    // The two zeros are one value.
    digest.add(value == 0 ? 0 : value.bitPattern, 2, secret)
  }
  @inline(__always)
  mutating func text(_ bytes: UnsafeBufferPointer<UInt8>, _ column: Int) {
    digest.add(UnsafeRawBufferPointer(bytes), kind: 3, secret)
  }
  @inline(__always)
  mutating func passingText(_ bytes: UnsafeBufferPointer<UInt8>, _ column: Int) { text(bytes, column) }
  @inline(__always)
  mutating func blob(_ bytes: UnsafeBufferPointer<UInt8>, _ column: Int) {
    digest.add(UnsafeRawBufferPointer(bytes), kind: 4, secret)
  }
}
