import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// One value of a row, 16 bytes. Texts and blobs lie in the batch's arena.
public struct Cell: Sendable {
  public enum Kind: UInt8, Sendable {
    case missing, null, integer, real, text, blob
  }

  /// The integer, the bits of the double, or the offset of the text or blob in the arena.
  @usableFromInline package let payload: UInt64
  /// Length of the text or blob in bytes.
  @usableFromInline package let length: UInt32
  public let kind: Kind

  @inline(__always)
  init(_ kind: Kind, payload: UInt64 = 0, length: UInt32 = 0) {
    (self.kind, self.payload, self.length) = (kind, payload, length)
  }

  @inline(__always)
  static func integer(_ value: Int64) -> Cell { Cell(.integer, payload: UInt64(bitPattern: value)) }
  @inline(__always)
  static func real(_ value: Double) -> Cell { Cell(.real, payload: value.bitPattern) }

  @inlinable @inline(__always)
  package var integer: Int64 { Int64(bitPattern: payload) }
  @inlinable @inline(__always)
  package var real: Double { Double(bitPattern: payload) }
  /// The bytes of a text or blob. Valid while the arena is.
  @inlinable @inline(__always)
  package func text(in arena: UnsafeMutablePointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: arena + Int(payload), count: Int(length))
  }
}

/// The rows of a page as flat typed cells, row by row: what passes from decoding to storing.
///
/// The cells follow ``TableSchema/synced``. No Swift object exists per row or value. They are in memory or, where a run has
/// too many of them, in a file: see ``RowSpool``.
public final class RowBatch: @unchecked Sendable {
  // Sendable: `comparison` is set by the task that decodes the page, before it hands the batch over, and `firstOrdinal` by the
  // one task that puts the pages of a run in their order, before it shares them; all else is constant or behind the mutex.

  /// Number of the page the rows came from, counted from 1.
  public let page: Int
  public let columnCount: Int
  public let rowCount: Int
  /// Whether each record had a value, be it null, for every column; no more is known where it is false.
  package let isComplete: Bool
  /// Position of the first row among all rows of the run, counted from 0.
  package internal(set) var firstOrdinal = 0
  /// What a survey of the table made of the rows, beside the walk.
  package var comparison: (any Sendable)?
  private let place: Mutex<Place>

  private enum Place {
    case memory(RowMemory)
    /// Nothing is left of rows that the table has as they came.
    case nowhere
    case file(RowSpool.File, offset: Int, cells: Int, arena: Int)
  }

  fileprivate init(page: Int, rowCount: Int, isComplete: Bool, _ memory: RowMemory) {
    (self.page, self.rowCount, columnCount) = (page, rowCount, memory.columnCount)
    self.isComplete = isComplete
    place = Mutex(.memory(memory))
  }

  /// The rows in memory; those in the file are mapped.
  ///
  /// - Throws: ``SpoolError``
  package func memory() throws -> RowMemory {
    let file: RowSpool.File
    let (offset, cells, arena): (Int, Int, Int)
    switch place.withLock({ $0 }) {
    case .memory(let memory): return memory
    case .nowhere: throw RowsDropped()
    case .file(let found, let start, let cellBytes, let arenaBytes):
      (file, offset, cells, arena) = (found, start, cellBytes, arenaBytes)
    }
    return RowMemory(
      columnCount: columnCount, mapped: try file.map(offset, cells + arena), cellBytes: cells,
      arenaBytes: arena)
  }

  /// Lets go of the rows: the table has all of them as they came.
  func drop() { place.withLock { $0 = .nowhere } }

  package var isDropped: Bool { place.withLock { if case .nowhere = $0 { true } else { false } } }

  /// Bytes in memory.
  var size: Int {
    let compared = comparison == nil ? 0 : rowCount * MemoryLayout<RowDigest>.stride
    return compared
      + place.withLock {
        if case .memory(let memory) = $0 { memory.cellBytes + memory.arenaBytes } else { 0 }
      }
  }

  /// Moves the rows to a file.
  ///
  /// - Throws: ``SpoolError``
  func move(to file: RowSpool.File) throws {
    try place.withLock { place in
      guard case .memory(let memory) = place else { return }
      let offset = try file.append([memory.cellMemory, memory.arenaMemory])
      place = .file(file, offset: offset, cells: memory.cellBytes, arena: memory.arenaBytes)
    }
  }

  /// A cell as a value of its own, for messages and tests; nil where the record did not have it.
  ///
  /// - Throws: ``SpoolError``
  public func value(row: Int, column: Int) throws -> StoredValue? {
    try memory().value(row: row, column: column)
  }
}

/// Rows were let go since the table had them as they came, and now it has others: they have to come again.
package struct RowsDropped: Error {
  package init() {}
}

/// The cells of a batch.
package final class RowMemory: @unchecked Sendable {
  // Sendable: the memory is filled before anyone else has this object, belongs to it alone and is only read from then on.

  package let columnCount: Int
  @usableFromInline let cells: UnsafeMutablePointer<Cell>
  /// What the offsets of texts and blobs count from.
  package let arena: UnsafeMutablePointer<UInt8>
  fileprivate let cellBytes: Int
  fileprivate let arenaBytes: Int
  /// Whether it is a part of a file.
  private let isMapped: Bool

  fileprivate init(
    columnCount: Int, cells: UnsafeMutablePointer<Cell>, count: Int, arena: UnsafeMutablePointer<UInt8>,
    arenaBytes: Int
  ) {
    (self.columnCount, self.cells, self.arena) = (columnCount, cells, arena)
    (cellBytes, self.arenaBytes, isMapped) = (count * MemoryLayout<Cell>.stride, arenaBytes, false)
  }

  /// - Parameter mapped: the cells, and the arena behind them.
  fileprivate init(columnCount: Int, mapped: UnsafeMutableRawPointer, cellBytes: Int, arenaBytes: Int) {
    (self.columnCount, self.cellBytes, self.arenaBytes, isMapped) = (columnCount, cellBytes, arenaBytes, true)
    cells = mapped.bindMemory(to: Cell.self, capacity: cellBytes / MemoryLayout<Cell>.stride)
    arena = (mapped + cellBytes).bindMemory(to: UInt8.self, capacity: arenaBytes)
  }

  deinit {
    if isMapped {
      munmap(cells, cellBytes + arenaBytes)
    } else {
      cells.deallocate()
      arena.deallocate()
    }
  }

  fileprivate var cellMemory: UnsafeMutableRawBufferPointer { .init(start: cells, count: cellBytes) }
  fileprivate var arenaMemory: UnsafeMutableRawBufferPointer { .init(start: arena, count: arenaBytes) }

  /// The cells of a row. Valid while the object is.
  @inlinable @inline(__always)
  package func row(_ row: Int) -> UnsafePointer<Cell> { UnsafePointer(cells + row * columnCount) }

  /// The bytes of a text or blob cell. Valid while the object is.
  @inlinable @inline(__always)
  package func text(_ cell: Cell) -> UnsafeBufferPointer<UInt8> { cell.text(in: arena) }

  /// A cell as a value of its own; nil where the record did not have it.
  package func value(row index: Int, column: Int) -> StoredValue? {
    let cell = row(index)[column]
    return StoredValue(cell, text: text(cell))
  }
}

extension StoredValue {
  /// Nil for a cell of a value that is missing.
  fileprivate init?(_ cell: Cell, text: @autoclosure () -> UnsafeBufferPointer<UInt8>) {
    switch cell.kind {
    case .missing: return nil
    case .null: self = .null
    case .integer: self = .integer(cell.integer)
    case .real: self = .real(cell.real)
    case .text: self = .text(String(decoding: text(), as: UTF8.self))
    case .blob: self = .blob(Array(text()))
    }
  }
}

/// Fills the memory of a ``RowBatch``. A value of its own rather than methods of the batch, so that the decoding
/// loop works on a local variable and pays no exclusivity checks.
struct RowBatchBuilder: ~Copyable {
  let page: Int
  private let columnCount: Int
  private(set) var rowCount = 0
  private var cells: UnsafeMutablePointer<Cell>
  private var cellCapacity: Int
  private var cellCount = 0
  private var isComplete = true
  private var arena: UnsafeMutablePointer<UInt8>
  private var arenaCapacity: Int
  private var arenaCount = 0

  init(page: Int, columnCount: Int, expectedRows: Int, expectedBytes: Int) {
    (self.page, self.columnCount) = (page, columnCount)
    cellCapacity = max(expectedRows, 1) * columnCount
    arenaCapacity = max(expectedBytes, 256)
    cells = .allocate(capacity: cellCapacity)
    arena = .allocate(capacity: arenaCapacity)
  }

  /// Hands the memory over to a batch. There is no deinit: every builder ends here.
  consuming func finish() -> RowBatch {
    if arenaCapacity > arenaCount + arenaCount / 8 + 4096 { resizeArena(max(arenaCount, 1)) }
    if cellCapacity > cellCount + cellCount / 8 + 256 { resizeCells(max(cellCount, 1)) }
    return RowBatch(
      page: page, rowCount: rowCount, isComplete: isComplete,
      RowMemory(
        columnCount: columnCount, cells: cells, count: cellCount, arena: arena, arenaBytes: arenaCount))
  }

  mutating func appendMissing() {
    isComplete = false
    append(Cell(.missing))
  }

  @inline(__always)
  mutating func append(_ cell: Cell) {
    if cellCount == cellCapacity { resizeCells(cellCapacity * 2) }
    cells[cellCount] = cell
    cellCount += 1
  }

  /// Ends the row whose cells were appended.
  @inline(__always)
  mutating func endRow() { rowCount += 1 }

  /// Takes back the cells of the row under way, and of the rows behind the first `count`.
  mutating func abandonRows(behind count: Int) {
    rowCount = count
    cellCount = rowCount * columnCount
  }

  /// A cell of the row under way as a value; nil where the record did not have it.
  func value(_ column: Int) -> StoredValue? {
    let cell = cells[rowCount * columnCount + column]
    return StoredValue(
      cell, text: UnsafeBufferPointer(start: arena + Int(cell.payload), count: Int(cell.length)))
  }

  /// The bytes of a text cell of the row under way, valid until something is appended; nil for another cell.
  @inline(__always)
  func text(_ column: Int) -> UnsafeBufferPointer<UInt8>? {
    let cell = cells[rowCount * columnCount + column]
    guard cell.kind == .text else { return nil }
    return UnsafeBufferPointer(start: arena + Int(cell.payload), count: Int(cell.length))
  }

  /// Room for `count` bytes of text behind those that are there.
  @inline(__always)
  mutating func reserve(_ count: Int) -> UnsafeMutablePointer<UInt8> {
    if arenaCount + count > arenaCapacity { resizeArena(max(arenaCapacity * 2, arenaCount + count)) }
    return arena + arenaCount
  }

  /// Makes the first `count` reserved bytes a cell.
  @inline(__always)
  mutating func appendReserved(_ count: Int, as kind: Cell.Kind = .text) {
    append(
      Cell(kind, payload: UInt64(truncatingIfNeeded: arenaCount), length: UInt32(truncatingIfNeeded: count)))
    arenaCount += count
  }

  @inline(__always)
  mutating func append(text: UnsafeBufferPointer<UInt8>) {
    if let base = text.baseAddress { reserve(text.count).update(from: base, count: text.count) }
    appendReserved(text.count)
  }

  mutating func append(stored value: StoredValue) {
    switch value {
    case .null: append(Cell(.null))
    case .integer(let value): append(.integer(value))
    case .real(let value): append(.real(value))
    case .text(var text): text.withUTF8 { append(text: $0) }
    case .blob(let bytes):
      bytes.withUnsafeBufferPointer { bytes in
        if let base = bytes.baseAddress { reserve(bytes.count).update(from: base, count: bytes.count) }
        appendReserved(bytes.count, as: .blob)
      }
    }
  }

  @inline(never)
  private mutating func resizeCells(_ capacity: Int) {
    let moved = UnsafeMutablePointer<Cell>.allocate(capacity: capacity)
    moved.update(from: cells, count: cellCount)
    cells.deallocate()
    (cells, cellCapacity) = (moved, capacity)
  }

  @inline(never)
  private mutating func resizeArena(_ capacity: Int) {
    let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    moved.update(from: arena, count: arenaCount)
    arena.deallocate()
    (arena, arenaCapacity) = (moved, capacity)
  }
}
