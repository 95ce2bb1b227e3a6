import FoundationEssentials
import JSON

/// Turns the records of a page into a ``RowBatch``, and those that do not fit into ``BadRecord``s.
///
/// One decoder serves one run: it keeps its working memory, and what it has learnt of enumerations, in between.
final class RecordDecoder {
  private let plan: DecodingPlan
  private let columns: [DecodingPlan.ColumnPlan]
  /// Per node of the plan: the tape position of the value, 0 if missing. The top bit marks a value that stands in
  /// the way of the path.
  private let slots: UnsafeMutablePointer<UInt32>
  private let nodes: UnsafeMutablePointer<FlatNode>
  private let children: UnsafeMutablePointer<Int32>
  private let keys: UnsafeMutablePointer<UInt8>
  private let roots: Range<Int>
  private static let obstructed: UInt32 = 0x8000_0000

  /// A node with all that the loop needs in one place.
  private struct FlatNode {
    var key: UnsafeBufferPointer<UInt8>
    var children: Range<Int>
    var index: Int
    var isOnKeyPath: Bool
  }

  /// What the loop needs of a column whose value is looked up by a path and is read by one of the plain operations.
  fileprivate struct FastColumn {
    enum Operation { case none, text, integer, real, boolean, iso8601, url, json }
    var operation = Operation.none
    var node = 0
    var range: ClosedRange<Int64> = .min ... .max
    var emptyIsNull = false
  }

  private let fast: UnsafeMutablePointer<FastColumn>

  /// Texts and integers already known to be values of an enumeration, per column.
  private var accepted: [Set<StoredValue>]
  /// Whether any record of the run had a value for the column.
  private let present: UnsafeMutablePointer<Bool>

  private var scratch: UnsafeMutableBufferPointer<UInt8>

  init(_ plan: DecodingPlan) {
    self.plan = plan
    columns = plan.columns
    slots = .allocate(capacity: plan.nodes.count + 1)
    slots.initialize(repeating: 0, count: plan.nodes.count + 1)
    keys = .allocate(capacity: plan.keyBytes.count + 1)
    keys.initialize(from: plan.keyBytes, count: plan.keyBytes.count)
    nodes = .allocate(capacity: plan.nodes.count + 1)
    let children = UnsafeMutablePointer<Int32>.allocate(capacity: plan.nodes.count + 1)
    self.children = children
    var used = 0
    func place(_ list: [Int]) -> Range<Int> {
      for child in list {
        children[used] = Int32(child)
        used += 1
      }
      return used - list.count..<used
    }
    roots = place(plan.roots)
    for (position, node) in plan.nodes.enumerated() {
      var index = -1
      if case .index(let value) = node.component { index = value }
      (nodes + position).initialize(
        to: FlatNode(
          key: UnsafeBufferPointer(start: UnsafePointer(keys) + node.key.lowerBound, count: node.key.count),
          children: place(node.children), index: index, isOnKeyPath: node.isOnKeyPath))
    }
    accepted = Array(repeating: [], count: plan.columns.count)
    present = .allocate(capacity: plan.columns.count)
    present.initialize(repeating: false, count: plan.columns.count)
    fast = .allocate(capacity: plan.columns.count)
    for (position, column) in plan.columns.enumerated() {
      (fast + position).initialize(to: FastColumn(column))
    }
    scratch = .allocate(capacity: 256)
  }

  /// Columns that no record of the run had a value for.
  var absentColumns: [String] { columns.indices.filter { !present[$0] }.map { columns[$0].name } }

  deinit {
    slots.deallocate()
    nodes.deallocate()
    children.deallocate()
    keys.deallocate()
    present.deallocate()
    fast.deallocate()
    scratch.deallocate()
  }

  /// - Parameters:
  ///   - records: the list, the object keyed by id, or the single record.
  ///   - parent: the values of ``DecodingPlan/parentColumns`` in the parent's row.
  ///   - onBad: called for each record that does not fit; it is left out of the batch.
  func decode(
    _ records: JSONValue, shape: Rows.Shape, page: Int, parent: [StoredValue], onBad: (BadRecord) -> Void
  ) -> RowBatch {
    let isList = records.kind == .array
    let document = records.document
    return document.withTape { tape in
      let list = records.index
      let end = tape.next(list)
      let isSingle = shape == .object || (shape == .listOrObject && !isList)
      let bytes = tape.raw(list).count
      var batch = RowBatchBuilder(
        page: page, columnCount: columns.count,
        expectedRows: isSingle ? 1 : max(4, (end - list) / max(8, 2 * columns.count)),
        expectedBytes: bytes / 2)
      var index = isSingle ? list : list + 1
      var position = 0
      while index < end {
        position += 1
        var key = -1
        if shape == .byKey {
          key = index
          index += 1
        }
        decode(tape, index, key: key, position: position, parent: parent, into: &batch, onBad: onBad)
        index = tape.next(index)
      }
      return batch.finish()
    }
  }

  private func decode(
    _ tape: JSONTape, _ record: Int, key: Int, position: Int, parent: [StoredValue],
    into batch: inout RowBatchBuilder,
    onBad: (BadRecord) -> Void
  ) {
    var fault: (column: Int?, reason: String)?
    if tape.kind(record) != .object {
      fault = (nil, "the record is \(tape.kind(record).name), not an object")
    } else {
      slots.update(repeating: 0, count: plan.nodes.count)
      if !find(tape, record, roots) {
        let column = columns.firstIndex { $0.isKey }
        fault = (column, "a part of the key stands twice in the record")
      } else {
        for column in columns.indices {
          if let reason = append(tape, column, key: key, record: record, parent: parent, into: &batch) {
            fault = (column, reason)
            break
          }
        }
      }
    }
    guard let fault else { return batch.endRow() }
    let names = keyText(tape, record: record, key: key, parent: parent)
    batch.abandonRow()
    let raw = tape.raw(record)
    onBad(
      BadRecord(
        page: batch.page, position: position, key: names, column: fault.column.map { columns[$0].name },
        path: fault.column.map { columns[$0].path }, reason: fault.reason,
        record: tape.kind(record) == .string
          ? "\"\(String(decoding: raw, as: UTF8.self))\"" : String(decoding: raw, as: UTF8.self)))
  }

  // MARK: Looking up the paths

  /// Fills the slots of the nodes below a value; false if a key on the way to a key column stands twice.
  private func find(_ tape: JSONTape, _ value: Int, _ range: Range<Int>) -> Bool {
    switch tape.kind(value) {
    case .object:
      var expected = range.lowerBound
      var index = value + 1
      let end = tape.next(value)
      while index < end {
        // Most records have their keys in the order of the one before: the likely child comes first.
        var child = expected
        for _ in range {
          let node = Int(children[child])
          if nodes[node].index < 0, tape.string(index, equals: nodes[node].key) {
            if !take(tape, index + 1, node) { return false }
            expected = child + 1 == range.upperBound ? range.lowerBound : child + 1
            break
          }
          child = child + 1 == range.upperBound ? range.lowerBound : child + 1
        }
        index = tape.next(index + 1)
      }
    case .array:
      var position = 0
      var index = value + 1
      let end = tape.next(value)
      while index < end {
        for child in range where nodes[Int(children[child])].index == position {
          if !take(tape, index, Int(children[child])) { return false }
        }
        position += 1
        index = tape.next(index)
      }
      for child in range where nodes[Int(children[child])].index < 0 { obstruct(value, Int(children[child])) }
      return true
    case .null:
      // A null on the way is a null for every value below.
      for child in range { spread(UInt32(value), Int(children[child])) }
      return true
    default:
      for child in range { obstruct(value, Int(children[child])) }
      return true
    }
    for child in range where nodes[Int(children[child])].index >= 0 { obstruct(value, Int(children[child])) }
    return true
  }

  @inline(__always)
  private func take(_ tape: JSONTape, _ value: Int, _ node: Int) -> Bool {
    if slots[node] != 0 {
      // The key stands twice: the last value counts, with nothing left of the first one.
      if nodes[node].isOnKeyPath { return false }
      for child in nodes[node].children { spread(0, Int(children[child])) }
    }
    slots[node] = UInt32(value)
    return nodes[node].children.isEmpty || find(tape, value, nodes[node].children)
  }

  private func spread(_ value: UInt32, _ node: Int) {
    slots[node] = value
    for child in nodes[node].children { spread(value, Int(children[child])) }
  }

  private func obstruct(_ value: Int, _ node: Int) { spread(UInt32(value) | Self.obstructed, node) }

  // MARK: Reading the values

  /// A JSON scalar whose text has no escapes left, or a container as it stands.
  private struct Scalar {
    var kind: JSONKind
    var bytes: UnsafeBufferPointer<UInt8>
  }

  private enum Found {
    case missing
    case scalar(Scalar)
    case fault(String)
  }

  @inline(__always)
  private func append(
    _ tape: JSONTape, _ column: Int, key: Int, record: Int, parent: [StoredValue],
    into batch: inout RowBatchBuilder
  ) -> String? {
    let plan = fast[column]
    if plan.operation != .none {
      let slot = slots[plan.node]
      if slot == 0 { return appendMissing(column, &batch) }
      if slot & Self.obstructed == 0, append(tape, Int(slot), plan, into: &batch) {
        present[column] = true
        return nil
      }
    }
    return appendSlowly(tape, column, key: key, record: record, parent: parent, into: &batch)
  }

  /// Appends a value of the most frequent form of its type; false for all others, which take the slow way.
  @inline(__always)
  private func append(
    _ tape: JSONTape, _ value: Int, _ plan: FastColumn, into batch: inout RowBatchBuilder
  ) -> Bool {
    let kind = tape.kind(value)
    let raw = tape.raw(value)
    switch plan.operation {
    case .text:
      guard kind == .string, !tape.hasEscape(value), !(plan.emptyIsNull && raw.isEmpty) else { return false }
      batch.append(text: raw)
    case .integer:
      guard kind == .integer, raw.count <= 18, let integer = Self.smallInteger(raw),
        plan.range.contains(integer)
      else { return false }
      batch.append(.integer(integer))
    case .real:
      // Larger ones may be integers that no double holds: the slow way looks.
      guard kind == .decimal, let real = nearestDouble(raw), abs(real) < 0x1p53 else { return false }
      batch.append(.real(real))
    case .boolean:
      guard kind == .true || kind == .false else { return false }
      batch.append(.integer(kind == .true ? 1 : 0))
    case .iso8601:
      guard kind == .string, let instant = Timestamp.parse(raw) else { return false }
      batch.append(.integer(instant))
    case .url:
      guard kind == .string, !tape.hasEscape(value), Self.isPlainURL(raw) else { return false }
      batch.append(text: raw)
    case .json:
      switch kind {
      case .null: return false
      case .string:
        if plan.emptyIsNull && raw.isEmpty { return false }
        let room = batch.reserve(raw.count + 2)
        room[0] = UInt8(ascii: "\"")
        if let base = raw.baseAddress { (room + 1).update(from: base, count: raw.count) }
        room[raw.count + 1] = UInt8(ascii: "\"")
        batch.appendReserved(raw.count + 2)
      default:
        let room = batch.reserve(raw.count + 64)
        batch.appendReserved(minify(raw, into: room))
      }
    case .none: return false
    }
    return true
  }

  private func appendSlowly(
    _ tape: JSONTape, _ column: Int, key: Int, record: Int, parent: [StoredValue],
    into batch: inout RowBatchBuilder
  ) -> String? {
    let found: Found
    if case .template(let parts) = columns[column].source {
      found = fill(parts, tape, key: key, record: record, parent: parent)
    } else {
      found = scalar(columns[column].source, tape, key: key, record: record, parent: parent)
    }
    switch found {
    case .missing: return appendMissing(column, &batch)
    case .fault(let reason): return reason
    case .scalar(let scalar):
      present[column] = true
      if scalar.kind == .null
        || (scalar.kind == .string && scalar.bytes.isEmpty && columns[column].options.contains(.emptyAsNull))
      {
        return appendNull(column, &batch)
      }
      return convert(scalar, column, &batch)
    }
  }

  private func appendMissing(_ column: Int, _ batch: inout RowBatchBuilder) -> String? {
    if columns[column].isKey { return "the key is missing" }
    batch.append(Cell(.missing))
    return nil
  }

  private func appendNull(_ column: Int, _ batch: inout RowBatchBuilder) -> String? {
    let plan = columns[column]
    if plan.isKey { return "the key is null" }
    if plan.options.contains(.nullAsDefault), let value = plan.defaultValue {
      append(value, &batch)
      return nil
    }
    if plan.isNullable && !plan.options.contains(.required) {
      batch.append(Cell(.null))
      return nil
    }
    return "null, and the column takes no null"
  }

  private func append(_ value: StoredValue, _ batch: inout RowBatchBuilder) {
    switch value {
    case .null: batch.append(Cell(.null))
    case .integer(let value): batch.append(.integer(value))
    case .real(let value): batch.append(.real(value))
    case .text(var text): text.withUTF8 { batch.append(text: $0) }
    }
  }

  /// The value that a source names.
  private func scalar(
    _ source: DecodingPlan.Source, _ tape: JSONTape, key: Int, record: Int, parent: [StoredValue]
  ) -> Found {
    switch source {
    case .node(let node):
      let slot = node < 0 ? UInt32(record) : slots[node]
      if slot == 0 && node >= 0 { return .missing }
      if slot & Self.obstructed != 0 {
        let obstacle = tape.kind(Int(slot & ~Self.obstructed))
        return .fault(
          "\(obstacle.name) stands where the path goes on: \(Self.excerpt(tape, Int(slot & ~Self.obstructed)))"
        )
      }
      return scalar(tape, Int(slot))
    case .recordKey:
      return key < 0 ? .missing : scalar(tape, key)
    case .parent(let position):
      switch parent[position] {
      case .null: return .scalar(Scalar(kind: .null, bytes: UnsafeBufferPointer(start: nil, count: 0)))
      case .integer(let value): return .scalar(Scalar(kind: .integer, bytes: copied(String(value))))
      case .real(let value): return .scalar(Scalar(kind: .decimal, bytes: copied(String(value))))
      case .text(let text): return .scalar(Scalar(kind: .string, bytes: copied(text)))
      }
    case .template:
      return .fault("a template inside a template")
    }
  }

  private func scalar(_ tape: JSONTape, _ value: Int) -> Found {
    let raw = tape.raw(value)
    guard tape.kind(value) == .string, tape.hasEscape(value) else {
      return .scalar(Scalar(kind: tape.kind(value), bytes: raw))
    }
    if tape.hasLoneSurrogate(value) {
      return .fault("half a surrogate pair, which no text can hold: \(Self.excerpt(tape, value))")
    }
    let room = room(raw.count)
    let count = tape.unescape(value, into: room)
    return .scalar(Scalar(kind: .string, bytes: UnsafeBufferPointer(start: room, count: count)))
  }

  private func room(_ count: Int) -> UnsafeMutablePointer<UInt8> {
    if scratch.count < max(count, 1) {
      scratch.deallocate()
      scratch = .allocate(capacity: count * 2)
    }
    guard let base = scratch.baseAddress else { preconditionFailure("scratch memory is never empty") }
    return base
  }

  private func copied(_ text: String) -> UnsafeBufferPointer<UInt8> {
    var text = text
    return text.withUTF8 { bytes in
      let room = room(bytes.count)
      if let base = bytes.baseAddress { room.update(from: base, count: bytes.count) }
      return UnsafeBufferPointer(start: room, count: bytes.count)
    }
  }

  private func fill(
    _ parts: [DecodingPlan.TemplatePart], _ tape: JSONTape, key: Int, record: Int, parent: [StoredValue]
  ) -> Found {
    var text: [UInt8] = []
    var isNull = false
    for part in parts {
      switch part {
      case .literal(let literal): text += literal
      case .value(let source):
        switch scalar(source, tape, key: key, record: record, parent: parent) {
        case .missing: return .missing
        case .fault(let reason): return .fault(reason)
        case .scalar(let scalar):
          switch scalar.kind {
          case .null: isNull = true
          case .object, .array: return .fault("\(scalar.kind.name) in a template")
          default: text.append(contentsOf: scalar.bytes)
          }
        }
      }
    }
    if isNull { return .scalar(Scalar(kind: .null, bytes: UnsafeBufferPointer(start: nil, count: 0))) }
    let room = room(text.count)
    room.update(from: text, count: text.count)
    return .scalar(Scalar(kind: .string, bytes: UnsafeBufferPointer(start: room, count: text.count)))
  }

  // MARK: Converting

  /// Appends the cell of a value that is not null, or says why it does not fit.
  private func convert(_ scalar: Scalar, _ column: Int, _ batch: inout RowBatchBuilder) -> String? {
    let reading = columns[column].reading
    switch reading.operation {
    case .integer(let range):
      guard let value = Self.integer(scalar) else {
        return "\(Self.excerpt(scalar)) is not an integer of 64 bits"
      }
      guard range.contains(value) else {
        return "\(Self.excerpt(scalar)) is outside \(range.lowerBound)...\(range.upperBound)"
      }
      if let reason = check(.integer(value), scalar, column) { return reason }
      batch.append(.integer(value))
    case .real:
      guard let value = Self.real(scalar) else {
        return "\(Self.excerpt(scalar)) is not a number that a double holds"
      }
      batch.append(.real(value))
    case .boolean:
      guard let value = Self.boolean(scalar) else { return "\(Self.excerpt(scalar)) is not a boolean" }
      batch.append(.integer(value ? 1 : 0))
    case .text:
      if scalar.kind == .object || scalar.kind == .array {
        return "\(Self.excerpt(scalar)) is \(scalar.kind.name), not a text"
      }
      if reading.accepts != nil,
        let reason = check(.text(String(decoding: scalar.bytes, as: UTF8.self)), scalar, column)
      {
        return reason
      }
      batch.append(text: scalar.bytes)
    case .timestamp(let format):
      guard let value = Self.timestamp(scalar, format) else {
        return "\(Self.excerpt(scalar)) is not an instant in the declared form"
      }
      batch.append(.integer(value))
    case .url:
      guard scalar.kind == .string, Self.isURL(scalar.bytes) else {
        return "\(Self.excerpt(scalar)) is not a URL"
      }
      batch.append(text: scalar.bytes)
    case .json:
      // Values at a path were taken as they stand; what is left is text from a key, a parent or a template.
      return "\(Self.excerpt(scalar)) is not read as JSON"
    }
    return nil
  }

  private func check(_ value: StoredValue, _ scalar: Scalar, _ column: Int) -> String? {
    guard let accepts = columns[column].reading.accepts, !accepted[column].contains(value) else { return nil }
    guard accepts(value) else { return "\(Self.excerpt(scalar)) is not one of the declared cases" }
    // An enumeration has few values; a type that takes very many is asked each time.
    if accepted[column].count < 256 { accepted[column].insert(value) }
    return nil
  }

  private static func integer(_ scalar: Scalar) -> Int64? {
    switch scalar.kind {
    case .integer, .decimal, .string:
      if scalar.bytes.count <= 18, let value = smallInteger(scalar.bytes) { return value }
      return NumberToken(scalar.bytes)?.integer
    default: return nil
    }
  }

  /// An integer of at most 18 digits without leading zeros.
  @inline(__always)
  private static func smallInteger(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
    var index = 0
    let isNegative = bytes.first == UInt8(ascii: "-")
    if isNegative { index = 1 }
    guard index < bytes.count, bytes[index] != 0x30 || bytes.count == index + 1 else { return nil }
    var value: Int64 = 0
    while index < bytes.count {
      let digit = bytes[index] &- 0x30
      guard digit < 10 else { return nil }
      value = value &* 10 &+ Int64(digit)
      index += 1
    }
    return isNegative ? -value : value
  }

  private static func real(_ scalar: Scalar) -> Double? {
    switch scalar.kind {
    case .integer, .decimal: break
    case .string: guard NumberToken(scalar.bytes) != nil else { return nil }
    default: return nil
    }
    guard let value = nearestDouble(scalar.bytes) else { return nil }
    // An integer that no double holds would lose digits.
    if abs(value) >= 0x1p53, let exact = NumberToken(scalar.bytes)?.integer {
      return Int64(exactly: value) == exact ? value : nil
    }
    return value
  }

  private static func boolean(_ scalar: Scalar) -> Bool? {
    switch scalar.kind {
    case .true: return true
    case .false: return false
    case .integer, .string:
      switch scalar.bytes.count {
      case 1: return scalar.bytes[0] == 0x31 ? true : scalar.bytes[0] == 0x30 ? false : nil
      case 4: return equalsIgnoringCase(scalar.bytes, "true") ? true : nil
      case 5: return equalsIgnoringCase(scalar.bytes, "false") ? false : nil
      default: return nil
      }
    default: return nil
    }
  }

  private static func equalsIgnoringCase(_ bytes: UnsafeBufferPointer<UInt8>, _ word: StaticString) -> Bool {
    word.withUTF8Buffer { word in zip(bytes, word).allSatisfy { $0 | 0x20 == $1 } }
  }

  private static func timestamp(_ scalar: Scalar, _ format: TimestampFormat) -> Int64? {
    switch format {
    case .iso8601: return scalar.kind == .string ? Timestamp.parse(scalar.bytes) : nil
    case .pattern(let pattern):
      // `20260102` may come as a number.
      return scalar.kind == .string || scalar.kind == .integer ? pattern.parse(scalar.bytes) : nil
    case .unix(let perSecond):
      guard scalar.kind == .integer || scalar.kind == .decimal || scalar.kind == .string,
        let value = NumberToken(scalar.bytes)?.floored(timesTenTo: perSecond == 1 ? 3 : 0),
        (Timestamp.first...Timestamp.last).contains(value)
      else { return nil }
      return value
    }
  }

  /// Whether Foundation reads the text as a URL.
  private static func isURL(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    isPlainURL(bytes) || (!bytes.isEmpty && URL(string: String(decoding: bytes, as: UTF8.self)) != nil)
  }

  /// An http address of host and path in plain characters, which needs no asking.
  private static func isPlainURL(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var host = 0
    if bytes.starts(with: "https://".utf8) {
      host = 8
    } else if bytes.starts(with: "http://".utf8) {
      host = 7
    }
    guard host > 0 else { return false }
    var index = host
    while index < bytes.count, isHostByte(bytes[index]) { index += 1 }
    guard index > host, index == bytes.count || bytes[index] == UInt8(ascii: "/") else { return false }
    while index < bytes.count {
      let byte = bytes[index]
      guard isHostByte(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "_") else { return false }
      index += 1
    }
    return true
  }

  @inline(__always)
  private static func isHostByte(_ byte: UInt8) -> Bool {
    (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A) || (byte >= 0x30 && byte <= 0x39) || byte == 0x2D
      || byte == 0x2E
  }

  // MARK: Messages

  private static func excerpt(_ scalar: Scalar) -> String {
    let text = shortened(scalar.bytes)
    return scalar.kind == .string ? "\"\(text)\"" : text
  }

  private static func excerpt(_ tape: JSONTape, _ value: Int) -> String {
    let text = shortened(tape.raw(value))
    return tape.kind(value) == .string ? "\"\(text)\"" : text
  }

  private static func shortened(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    let text = String(decoding: bytes.prefix(80), as: UTF8.self)
    return bytes.count > 80 ? text + "…" : text
  }

  /// `id 5`, from the parts of the key that can be read.
  private func keyText(_ tape: JSONTape, record: Int, key: Int, parent: [StoredValue]) -> String? {
    guard tape.kind(record) == .object else { return nil }
    var parts: [String] = []
    for column in columns where column.isKey {
      if case .scalar(let scalar) = scalar(column.source, tape, key: key, record: record, parent: parent) {
        parts.append("\(column.name) \(Self.shortened(scalar.bytes))")
      }
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}

extension RecordDecoder.FastColumn {
  fileprivate init(_ column: DecodingPlan.ColumnPlan) {
    guard case .node(let node) = column.source, node >= 0, column.reading.accepts == nil else { return }
    emptyIsNull = column.options.contains(.emptyAsNull)
    switch column.reading.operation {
    case .text: operation = .text
    case .integer(let range): (operation, self.range) = (.integer, range)
    case .real: operation = .real
    case .boolean: operation = .boolean
    case .timestamp(.iso8601): operation = .iso8601
    case .timestamp: return
    case .url: operation = .url
    case .json: operation = .json
    }
    self.node = node
  }
}
