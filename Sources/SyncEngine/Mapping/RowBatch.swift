/// One value of a row, 16 bytes. Texts and blobs lie in the batch's arena.
public struct Cell: Sendable {
  public enum Kind: UInt8, Sendable {
    case missing, null, integer, real, text, blob
  }

  /// The integer, the bits of the double, or the offset of the text or blob in the arena.
  package let payload: UInt64
  /// Length of the text or blob in bytes.
  package let length: UInt32
  public let kind: Kind

  @inline(__always)
  init(_ kind: Kind, payload: UInt64 = 0, length: UInt32 = 0) {
    (self.kind, self.payload, self.length) = (kind, payload, length)
  }

  @inline(__always)
  static func integer(_ value: Int64) -> Cell { Cell(.integer, payload: UInt64(bitPattern: value)) }
  @inline(__always)
  static func real(_ value: Double) -> Cell { Cell(.real, payload: value.bitPattern) }

  @inline(__always)
  package var integer: Int64 { Int64(bitPattern: payload) }
  @inline(__always)
  package var real: Double { Double(bitPattern: payload) }
}

/// The rows of a page as flat typed cells, row by row: what passes from decoding to storing.
///
/// The cells follow ``TableSchema/synced``. No Swift object exists per row or value.
public final class RowBatch: @unchecked Sendable {
  // Sendable: the memory is filled by a builder before this object exists, belongs to it alone and is only read
  // from then on; `firstOrdinal` is set once, by the walk that receives the batch, before it is shared.

  /// Number of the page the rows came from, counted from 1.
  public let page: Int
  public let columnCount: Int
  public let rowCount: Int
  /// Position of the first row among all rows of the run, counted from 0.
  package internal(set) var firstOrdinal = 0

  private let cells: UnsafeMutablePointer<Cell>
  private let arena: UnsafeMutablePointer<UInt8>

  fileprivate init(
    page: Int, columnCount: Int, rowCount: Int, cells: UnsafeMutablePointer<Cell>,
    arena: UnsafeMutablePointer<UInt8>
  ) {
    (self.page, self.columnCount, self.rowCount) = (page, columnCount, rowCount)
    (self.cells, self.arena) = (cells, arena)
  }

  deinit {
    cells.deallocate()
    arena.deallocate()
  }

  /// The cells of a row. Valid while the batch is.
  @inline(__always)
  package func row(_ row: Int) -> UnsafePointer<Cell> { UnsafePointer(cells + row * columnCount) }

  /// The bytes of a text or blob cell. Valid while the batch is.
  @inline(__always)
  package func text(_ cell: Cell) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: arena + Int(cell.payload), count: Int(cell.length))
  }

  /// A cell as a value of its own, for messages and tests; nil where the record did not have it.
  public func value(row index: Int, column: Int) -> StoredValue? {
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
    return RowBatch(page: page, columnCount: columnCount, rowCount: rowCount, cells: cells, arena: arena)
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
