import JSON

/// What a record's fields can read besides the record itself.
struct RecordContext: Sendable {
  /// The tape position of the record's key, where the records are the values of an object; else -1.
  var key = -1
  /// The record's position in its list, counted from 0.
  var position = 0
  /// Whether it is no record but a value in the way of the records' path.
  var isObstacle = false
  /// Whether it stands for a row that is gone.
  var isTombstone = false
  /// The column whose value counts for the watermark, also of a row that is gone.
  var watermark: Int?
  /// When the page was received, in milliseconds since 1970.
  var fetchedAt: Int64 = 0
  /// The values of ``DecodingPlan/parentColumns`` in the parent's row; nil where a record that is the parent does not
  /// have it.
  var parent: [StoredValue?] = []
}

/// The rows of a page: the entity's own, and those of the records nested in them.
struct PageRows: Sendable {
  /// Records on the page, also those that a filter passed over or that are bad.
  let recordCount: Int
  let batch: RowBatch
  /// In the order of ``RecordDecoder/nested``: owners before what they own.
  let nested: [NestedBatch]
  /// Rows of the batch that stand for rows which are gone: only their keys count.
  var tombstones: [Int] = []
}

/// Rows of a nested table, and the rows that they came in.
struct NestedBatch: Sendable {
  let batch: RowBatch
  /// Per row: the row of the owner's batch that it came in.
  let owners: [UInt32]
  /// Rows of the owner's batch whose list came, be it empty.
  let lists: [UInt32]
}

/// Turns the records of a page into a ``RowBatch``, and those that do not fit into ``BadRecord``s.
///
/// One decoder serves one page after the other: it keeps its working memory, and what it has learnt of enumerations, in
/// between.
final class RecordDecoder {
  let plan: DecodingPlan
  let columns: [DecodingPlan.ColumnPlan]
  /// Per node of the plan: the tape position of the value, 0 if missing. The top bit marks a value that stands in
  /// the way of the path.
  let slots: UnsafeMutablePointer<UInt32>
  private let nodes: UnsafeMutablePointer<FlatNode>
  private let children: UnsafeMutablePointer<Int32>
  private let keys: UnsafeMutablePointer<UInt8>
  private let roots: Range<Int>
  static let obstructed: UInt32 = 0x8000_0000

  /// A node with all that the loop needs in one place.
  private struct FlatNode {
    var key: UnsafeBufferPointer<UInt8>
    var children: Range<Int>
    var index: Int
    var isOnKeyPath: Bool
  }

  let fast: UnsafeMutablePointer<FastColumn>

  /// Texts that are known to be values of the column's type, with its form of them; they compare as bytes.
  var members: [[[UInt8]: StoredValue]]
  /// Whether any record of the run had a value for the column.
  let present: UnsafeMutablePointer<Bool>
  /// Memory for a text that does not stand in the document as it is meant.
  var scratch: UnsafeMutableBufferPointer<UInt8>
  /// The document that is being decoded, for closures that are given values of it.
  var document: JSONDocument?
  /// The decoders of the records nested directly in these.
  let nestedDecoders: [NestedDecoder]
  private var hasSeenRecords = false
  /// Rows of the page that say that they are gone.
  private var tombstones: [Int] = []
  let redactor: Redactor
  private let textRule: TextRule?

  init(_ plan: DecodingPlan, redactor: Redactor = Redactor(), textRule: TextRule? = nil) {
    (self.plan, self.redactor, self.textRule) = (plan, redactor, textRule)
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
    members = Array(repeating: [:], count: plan.columns.count)
    present = .allocate(capacity: plan.columns.count)
    present.initialize(repeating: false, count: plan.columns.count)
    fast = .allocate(capacity: plan.columns.count)
    for (position, column) in plan.columns.enumerated() {
      (fast + position).initialize(to: FastColumn(column))
    }
    scratch = .allocate(capacity: 256)
    nestedDecoders = plan.nested.map { NestedDecoder($0, redactor: redactor, textRule: textRule) }
  }

  deinit {
    slots.deallocate()
    nodes.deallocate()
    children.deallocate()
    keys.deallocate()
    present.deallocate()
    for column in columns.indices { fast[column].deallocate() }
    fast.deallocate()
    scratch.deallocate()
  }

  /// Columns that no record of the run had a value for; those of nested records with their table in front.
  var absentColumns: [String] {
    guard hasSeenRecords else { return [] }
    return columns.indices.filter { !present[$0] }.map { columns[$0].name }
      + nestedDecoders.flatMap { nested in
        nested.decoder.absentColumns.map { "\(nested.plan.plan.table).\($0)" }
      }
  }

  /// Takes over which columns another decoder of the same plan had values for.
  func learn(from other: RecordDecoder) {
    hasSeenRecords = hasSeenRecords || other.hasSeenRecords
    for column in columns.indices where other.present[column] { present[column] = true }
    for (nested, other) in zip(nestedDecoders, other.nestedDecoders) {
      nested.decoder.learn(from: other.decoder)
    }
  }

  /// All decoders of nested records at any depth, owners before what they own.
  private(set) lazy var allNested: [NestedDecoder] = nestedDecoders.flatMap { [$0] + $0.decoder.allNested }

  /// - Parameters:
  ///   - records: the list, the object keyed by id, or the single record.
  ///   - onBad: called for each record that does not fit; it is left out of the batch.
  func decode(
    _ records: JSONValue, of source: RecordSource, page: Int, context: RecordContext,
    onBad: (BadRecord) -> Void
  ) -> PageRows {
    let document = records.document
    self.document = document
    defer { self.document = nil }
    for nested in allNested { nested.begin(page: page) }
    tombstones.removeAll()
    var recordCount = 0
    let batch = document.withTape { tape in
      let list = records.index
      let expectedRows =
        (tape.next(list) - list) / max(8, 2 * columns.count)
      var batch = RowBatchBuilder(
        page: page, columnCount: columns.count, expectedRows: max(4, expectedRows),
        expectedBytes: tape.raw(list).count / 2)
      var context = context
      Self.forEachRecord(in: tape, list, source.rows) { record, key, position, isObstacle in
        (context.key, context.position, context.isObstacle) = (key, position, isObstacle)
        recordCount += 1
        if source.isPlain || isObstacle {
          self.decodeRecord(tape, record, context, into: &batch, onBad: onBad)
        } else {
          self.decodeRecord(tape, record, of: source, context, into: &batch, onBad: onBad)
        }
      }
      return batch.finish()
    }
    return PageRows(
      recordCount: recordCount, batch: batch, nested: allNested.map { $0.finish() }, tombstones: tombstones)
  }

  /// Calls `body` with the tape position of each record in a list, that of its key or -1, and its position, and with
  /// each value that stands in the way to records.
  @inline(__always)
  static func forEachRecord(
    in tape: JSONTape, _ list: Int, _ rows: Rows,
    _ body: (_ record: Int, _ key: Int, _ position: Int, _ isObstacle: Bool) -> Void
  ) {
    if rows.shape == .object || (rows.shape == .listOrObject && tape.kind(list) != .array) {
      return body(list, -1, 0, false)
    }
    let path = rows.recordPath
    let end = tape.next(list)
    var index = list + 1
    var position = 0
    while index < end {
      var key = -1
      if rows.shape == .byKey {
        key = index
        index += 1
      }
      if path.isEmpty {
        body(index, key, position, false)
        position += 1
      } else {
        tape.forEach(path, from: index) { value, isObstacle in
          if tape.kind(value) == .null { return }
          body(value, key, position, isObstacle)
          position += 1
        }
      }
      index = tape.next(index)
    }
  }

  // MARK: One record

  func decodeRecord(
    _ tape: JSONTape, _ record: Int, _ context: RecordContext, into batch: inout RowBatchBuilder,
    onBad: (BadRecord) -> Void
  ) {
    let rows = batch.rowCount
    let marks = nestedDecoders.isEmpty ? [] : allNested.map(\.mark)
    guard let fault = append(tape, record, context, into: &batch) else { return }
    let key = keyText(tape, record: record, context)
    batch.abandonRows(behind: rows)
    for (nested, mark) in zip(allNested, marks) { nested.reset(to: mark) }
    onBad(
      BadRecord(
        page: batch.page, position: context.position + 1, key: key, column: fault.column, path: fault.path,
        reason: fault.reason, record: rejected(tape, record)))
  }

  /// A bad record as it is kept: without secrets, and no more of it than 64 kB.
  func rejected(_ tape: JSONTape, _ record: Int) -> String {
    let text = redactor.withoutSecrets(tape.text(record).utf8)
    let limit = 64 << 10
    return text.utf8.count <= limit ? text : "\(text.unicodeScalars.prefix(limit))…"
  }

  /// Why a record does not fit.
  struct Fault {
    var column: String?
    var path: String?
    var reason: String
  }

  /// Appends the row of a record, and those of the records in it.
  func append(
    _ tape: JSONTape, _ record: Int, _ context: RecordContext, into batch: inout RowBatchBuilder
  ) -> Fault? {
    hasSeenRecords = true
    if context.isObstacle {
      slots.update(repeating: 0, count: plan.nodes.count)
      return Fault(reason: "\(tape.kind(record).name) stands where the path to the records goes on")
    }
    if tape.kind(record) == .object {
      slots.update(repeating: 0, count: plan.nodes.count)
      if let doubled = find(tape, record, roots) {
        return fault(
          columns.firstIndex { $0.isKey && $0.reads(doubled, in: plan) },
          "a part of the key stands twice in the record")
      }
    } else if plan.readsMembers {
      return Fault(reason: "the record is \(tape.kind(record).name), not an object")
    }
    for column in columns.indices {
      // Of a row that is gone only the key counts, and when that was, if it can be read.
      if context.isTombstone, !columns[column].isKey {
        if column != context.watermark || append(tape, column, record, context, into: &batch) != nil {
          batch.appendMissing()
        }
        continue
      }
      if let reason = append(tape, column, record, context, into: &batch) { return fault(column, reason) }
    }
    if let textRule {
      for column in columns.indices {
        guard let text = batch.text(column) else { continue }
        if let reason = textRule.fault(text, columns[column].reading.columnType) {
          return fault(column, reason)
        }
      }
    }
    if context.isTombstone {
      tombstones.append(batch.rowCount)
      batch.endRow()
      return nil
    }
    for nested in nestedDecoders {
      if let fault = nested.append(tape, record, context, of: self, &batch) { return fault }
    }
    batch.endRow()
    return nil
  }

  private func fault(_ column: Int?, _ reason: String) -> Fault {
    Fault(column: column.map { columns[$0].name }, path: column.map { columns[$0].path }, reason: reason)
  }

  /// `id 5`, from the parts of the key that can be read.
  private func keyText(_ tape: JSONTape, record: Int, _ context: RecordContext) -> String? {
    guard tape.kind(record) == .object || !plan.readsMembers else { return nil }
    let parts = columns.filter(\.isKey).compactMap { column -> String? in
      guard let scalar = scalar(of: locate(column.source, tape, record, context), tape) else { return nil }
      return "\(column.name) \(excerpt(scalar.bytes))"
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  // MARK: Looking up the paths

  /// Fills the slots of the nodes below a value; the node of a key column's path that stands twice, if one does.
  private func find(_ tape: JSONTape, _ value: Int, _ range: Range<Int>) -> Int? {
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
            if let doubled = take(tape, index + 1, node) { return doubled }
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
          if let doubled = take(tape, index, Int(children[child])) { return doubled }
        }
        position += 1
        index = tape.next(index)
      }
      for child in range where nodes[Int(children[child])].index < 0 { obstruct(value, Int(children[child])) }
      return nil
    case .null:
      // A null on the way is a null for every value below.
      for child in range { spread(UInt32(value), Int(children[child])) }
      return nil
    default:
      for child in range { obstruct(value, Int(children[child])) }
      return nil
    }
    for child in range where nodes[Int(children[child])].index >= 0 { obstruct(value, Int(children[child])) }
    return nil
  }

  @inline(__always)
  private func take(_ tape: JSONTape, _ value: Int, _ node: Int) -> Int? {
    if slots[node] != 0 {
      // The key stands twice: the last value counts, with nothing left of the first one.
      if nodes[node].isOnKeyPath { return node }
      for child in nodes[node].children { spread(0, Int(children[child])) }
    }
    slots[node] = UInt32(value)
    return nodes[node].children.isEmpty ? nil : find(tape, value, nodes[node].children)
  }

  private func spread(_ value: UInt32, _ node: Int) {
    slots[node] = value
    for child in nodes[node].children { spread(value, Int(children[child])) }
  }

  private func obstruct(_ value: Int, _ node: Int) { spread(UInt32(value) | Self.obstructed, node) }
}

extension DecodingPlan.ColumnPlan {
  /// Whether the column's path leads through a node.
  func reads(_ node: Int, in plan: DecodingPlan) -> Bool {
    func isBelow(_ other: Int) -> Bool {
      other == node || plan.nodes[node].children.contains { plan.isNode(other, below: $0) }
    }
    func reads(_ source: DecodingPlan.Source) -> Bool {
      switch source {
      case .node(let other), .collection(let other, _): isBelow(other)
      case .first(let sources): sources.contains(where: reads)
      case .template(let parts):
        parts.contains { if case .value(let source) = $0 { reads(source) } else { false } }
      default: false
      }
    }
    return reads(source)
  }
}

extension DecodingPlan {
  fileprivate func isNode(_ other: Int, below node: Int) -> Bool {
    other == node || nodes[node].children.contains { isNode(other, below: $0) }
  }
}

extension JSONTape {
  /// A value as JSON text.
  func text(_ index: Int) -> String {
    let raw = String(decoding: raw(index), as: UTF8.self)
    return kind(index) == .string ? "\"\(raw)\"" : raw
  }

  /// Calls `body` with each value that a path leads to, and with each that stands in its way; a null on the way leads
  /// to nothing.
  func forEach(
    _ path: [JSONPath.Component], from value: Int, _ body: (_ value: Int, _ isObstacle: Bool) -> Void
  ) {
    forEach(path[...], from: value, body)
  }

  private func forEach(_ path: ArraySlice<JSONPath.Component>, from value: Int, _ body: (Int, Bool) -> Void) {
    guard let component = path.first else { return body(value, false) }
    if kind(value) == .null { return }
    let rest = path.dropFirst()
    switch component {
    case .key(let key):
      guard kind(value) == .object else { return body(value, true) }
      if let member = member(key, of: value) { forEach(rest, from: member.value, body) }
    case .index, .wildcard:
      guard kind(value) == .array else { return body(value, true) }
      var index = value + 1
      var position = 0
      while index < next(value) {
        if component == .wildcard || component == .index(position) { forEach(rest, from: index, body) }
        position += 1
        index = next(index)
      }
    case .builtin: return
    }
  }
}
