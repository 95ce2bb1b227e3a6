import SyncEngine

/// Rows in the binary form of COPY, which are sent on piece by piece.
struct CopyBuffer: ~Copyable {
  private var bytes: UnsafeMutablePointer<UInt8>
  private var capacity = 128 << 10
  private var count = 0
  private var rowStart = 0
  private let send: (UnsafeRawBufferPointer) throws -> Void
  /// Bytes that are collected before they are sent.
  private static let pieceLength = 64 << 10

  init(_ send: @escaping (UnsafeRawBufferPointer) throws -> Void) {
    self.send = send
    bytes = .allocate(capacity: capacity)
    // The signature, no flags, no header extension.
    for byte in Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0] + [UInt8](repeating: 0, count: 8) {
      append(byte)
    }
  }

  deinit { bytes.deallocate() }

  @inline(__always)
  private mutating func reserve(_ more: Int) {
    if count + more > capacity { grow(more) }
  }

  @inline(never)
  private mutating func grow(_ more: Int) {
    let larger = max(capacity * 2, count + more)
    let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
    moved.update(from: bytes, count: count)
    bytes.deallocate()
    (bytes, capacity) = (moved, larger)
  }

  @inline(__always)
  private mutating func append(_ byte: UInt8) {
    reserve(1)
    bytes[count] = byte
    count += 1
  }

  @inline(__always)
  private mutating func append<I: FixedWidthInteger>(bigEndian value: I) {
    let size = MemoryLayout<I>.size
    reserve(size)
    UnsafeMutableRawPointer(bytes + count).storeBytes(of: value.bigEndian, as: I.self)
    count += size
  }

  @inline(__always)
  private mutating func append(raw: UnsafeBufferPointer<UInt8>) {
    guard let base = raw.baseAddress else { return }
    reserve(raw.count)
    (bytes + count).update(from: base, count: raw.count)
    count += raw.count
  }

  // MARK: Rows

  /// Begins a row; the one before it may be sent now.
  @inline(__always)
  mutating func beginRow(_ fields: Int) throws {
    if count >= Self.pieceLength { try flush() }
    rowStart = count
    append(bigEndian: Int16(truncatingIfNeeded: fields))
  }

  /// Takes back the row under way.
  mutating func abandonRow() { count = rowStart }

  /// Where the next field begins.
  var position: Int { count }

  /// Calls `body` with the bytes of a field, its length in front.
  @inline(__always)
  func withField<R>(from start: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    body(UnsafeRawBufferPointer(start: bytes + start, count: count - start))
  }

  private mutating func flush() throws {
    try send(UnsafeRawBufferPointer(start: bytes, count: count))
    count = 0
  }

  mutating func finish() throws {
    append(bigEndian: Int16(-1))
    try flush()
  }

  // MARK: Fields, each with its length in front

  mutating func appendNull() { append(bigEndian: Int32(-1)) }

  @inline(__always)
  mutating func append(_ value: Int64) {
    append(bigEndian: Int32(8))
    append(bigEndian: value)
  }

  mutating func append(_ value: Int32) {
    append(bigEndian: Int32(4))
    append(bigEndian: value)
  }

  mutating func append(_ value: Double) {
    append(bigEndian: Int32(8))
    append(bigEndian: value.bitPattern)
  }

  mutating func append(_ value: Bool) {
    append(bigEndian: Int32(1))
    append(value ? 1 as UInt8 : 0)
  }

  @inline(__always)
  mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
    append(bigEndian: Int32(truncatingIfNeeded: text.count))
    append(raw: text)
  }

  mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append($0) }
  }

  /// `jsonb`: a version in front of the text.
  mutating func append(json: UnsafeBufferPointer<UInt8>) {
    append(bigEndian: Int32(truncatingIfNeeded: json.count + 1))
    append(1 as UInt8)
    append(raw: json)
  }

  /// Sixteen bytes from hexadecimal digits in groups.
  mutating func append(uuid text: UnsafeBufferPointer<UInt8>) {
    append(bigEndian: Int32(16))
    var high: UInt8?
    for byte in text where byte != UInt8(ascii: "-") {
      let digit = byte & 0x40 == 0 ? byte & 0xF : (byte & 0xF) + 9
      if let first = high {
        append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
  }

  /// `numeric`: four decimal digits to a word (postgresql.org, src/backend/utils/adt/numeric.c, numeric_recv).
  ///
  /// - Parameter text: digits with at most one point and a sign, without an exponent.
  mutating func append(numeric text: UnsafeBufferPointer<UInt8>) {
    // What a closure of the application's may give; it has a sign of its own and no digits.
    if text.elementsEqual("NaN".utf8) {
      append(bigEndian: Int32(8))
      for word: UInt16 in [0, 0, 0xC000, 0] { append(bigEndian: word) }
      return
    }
    var digits = text[...]
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative || digits.first == UInt8(ascii: "+") { digits = digits.dropFirst() }
    let point = digits.firstIndex(of: UInt8(ascii: ".")) ?? digits.endIndex
    let whole = digits[..<point]
    let fraction = point < digits.endIndex ? digits[(point + 1)...] : digits[digits.endIndex...]
    func value(_ digits: some Sequence<UInt8>) -> Int16 { digits.reduce(0) { $0 * 10 + Int16($1 & 0xF) } }
    var words: [Int16] = []
    var rest = whole
    if rest.count % 4 > 0 {
      words.append(value(rest.prefix(rest.count % 4)))
      rest = rest.dropFirst(rest.count % 4)
    }
    while !rest.isEmpty {
      words.append(value(rest.prefix(4)))
      rest = rest.dropFirst(4)
    }
    var weight = words.count - 1
    var after = fraction
    while !after.isEmpty {
      words.append(value(Array(after.prefix(4)) + Array(repeating: 0, count: max(0, 4 - after.count))))
      after = after.dropFirst(4)
    }
    while words.last == 0 { words.removeLast() }
    while words.first == 0 {
      words.removeFirst()
      weight -= 1
    }
    if words.isEmpty { weight = 0 }
    append(bigEndian: Int32(8 + 2 * words.count))
    append(bigEndian: Int16(words.count))
    append(bigEndian: Int16(truncatingIfNeeded: weight))
    append(bigEndian: UInt16(isNegative && !words.isEmpty ? 0x4000 : 0))
    append(bigEndian: UInt16(truncatingIfNeeded: fraction.count))
    for word in words { append(bigEndian: word) }
  }
}

/// How values of a column stand in a temporary table.
///
/// Nothing in it is counted: the loop over rows copies it at no cost.
struct WireForm {
  let type: ColumnType
  /// Whether the table's own column is of text, and holds the value in its text form.
  let isText: Bool

  /// Microseconds from 1970 to PostgreSQL's beginning of time, 2000-01-01.
  private static let epoch: Int64 = 946_684_800_000_000
  private static let epochDays = 10_957

  /// The types of columns that have the same binary form, by their numbers. Text holds any type in its text form.
  static func oids(of type: ColumnType) -> Set<Int> {
    let own: BinaryValue.Kind =
      switch type {
      case .integer, .duration: .bigint
      case .boolean: .boolean
      case .real: .double
      case .blob: .bytea
      case .text: .text
      case .decimal: .numeric
      case .timestamp: .timestamptz
      case .day: .date
      case .uuid: .uuid
      case .json: .jsonb
      }
    return Set([own, .text, .varchar].map { Int($0.rawValue) })
  }

  /// Whether the field has JSON in it behind a version.
  var isBinaryJSON: Bool { !isText && type == .json }

  /// The type's name.
  var name: String { isText ? "text" : TableDefinition.type(type) }

  @inline(__always)
  func append(_ cell: Cell, of memory: RowMemory, to buffer: inout CopyBuffer) {
    switch cell.kind {
    case .null, .missing: buffer.appendNull()
    case .integer: append(cell.integer, to: &buffer)
    case .real: isText ? buffer.append(String(cell.real)) : buffer.append(cell.real)
    case .text, .blob: append(memory.text(cell), isBlob: cell.kind == .blob, to: &buffer)
    }
  }

  func append(_ value: Int64, to buffer: inout CopyBuffer) {
    switch type {
    case .timestamp where isText: buffer.append(Timestamp.text(value))
    case .timestamp: buffer.append(value * 1000 - Self.epoch)
    case _ where isText: buffer.append(String(value))
    case .boolean: buffer.append(value != 0)
    case .real: buffer.append(Double(value))
    default: buffer.append(value)
    }
  }

  func append(_ text: UnsafeBufferPointer<UInt8>, isBlob: Bool, to buffer: inout CopyBuffer) {
    if isText {
      if isBlob { buffer.append(DataEncoding.base64.string(Array(text))) } else { buffer.append(text) }
      return
    }
    switch type {
    case .decimal: buffer.append(numeric: text)
    case .uuid: buffer.append(uuid: text)
    case .json: buffer.append(json: text)
    case .day:
      let parts = text.split(separator: UInt8(ascii: "-")).map { $0.reduce(0) { $0 * 10 + Int($1 & 0xF) } }
      if parts.count == 3, let days = Timestamp.days(year: parts[0], month: parts[1], day: parts[2]) {
        buffer.append(Int32(truncatingIfNeeded: days - Self.epochDays))
      } else {
        buffer.appendNull()
      }
    default: buffer.append(text)
    }
  }
}
