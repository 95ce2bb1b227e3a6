import JSON

/// Decodes the records inside a record into a batch of their own.
final class NestedDecoder {
  let plan: DecodingPlan.Nested
  let decoder: RecordDecoder
  private var builder: RowBatchBuilder?
  private var owners: [UInt32] = []
  private var lists: [UInt32] = []

  init(_ plan: DecodingPlan.Nested, redactor: Redactor, textRule: TextRule?) {
    self.plan = plan
    decoder = RecordDecoder(plan.plan, redactor: redactor, textRule: textRule)
  }

  // MARK: A page

  func begin(page: Int) {
    builder = RowBatchBuilder(
      page: page, columnCount: plan.plan.columns.count, expectedRows: 64, expectedBytes: 4096)
    owners.removeAll()
    lists.removeAll()
  }

  func finish() -> NestedBatch {
    guard let builder = builder.take() else { preconditionFailure("a page is begun before it is finished") }
    return NestedBatch(batch: builder.finish(), owners: owners, lists: lists)
  }

  /// How far the batch is, to go back to when the record turns out to be bad.
  struct Mark {
    var rows: Int
    var lists: Int
  }

  var mark: Mark { Mark(rows: owners.count, lists: lists.count) }

  func reset(to mark: Mark) {
    owners.removeLast(owners.count - mark.rows)
    lists.removeLast(lists.count - mark.lists)
    builder?.abandonRows(behind: mark.rows)
  }

  // MARK: A record

  /// Appends the rows of what is nested in a record, whose own row is under way in `batch`.
  func append(
    _ tape: JSONTape, _ record: Int, _ context: RecordContext, of owner: RecordDecoder,
    _ batch: inout RowBatchBuilder
  ) -> RecordDecoder.Fault? {
    let list: Int
    switch owner.locate(plan.source, tape, record, context) {
    case .missing: return nil
    case .fault(let reason): return fault(reason)
    case .node(let index): list = index
    case .scalar: return fault("no list of records can be read from there")
    }
    let row = UInt32(truncatingIfNeeded: batch.rowCount)
    let kind = tape.kind(list)
    if kind == .null && plan.rows.isNullEmpty {
      lists.append(row)
      return nil
    }
    // A null object is no object; a null list might be an empty one or none at all, which has to be declared.
    if kind == .null && plan.rows.shape == .object {
      lists.append(row)
      return nil
    }
    guard plan.rows.fits(kind) else { return fault("\(plan.rows.expectation), but it is \(kind.name)") }
    lists.append(row)
    var inner = RecordContext(fetchedAt: context.fetchedAt)
    inner.parent = plan.parents.map { batch.value($0)?.handedOn(as: owner.columns[$0].reading.columnType) }
    let outer = (owner.document, decoder.document)
    decoder.document = outer.0
    defer { decoder.document = outer.1 }
    var found: RecordDecoder.Fault?
    RecordDecoder.forEachRecord(in: tape, list, plan.rows) { record, key, position, isObstacle in
      if found != nil { return }
      (inner.key, inner.position, inner.isObstacle) = (key, position, isObstacle)
      found = append(tape, record, inner, row)
    }
    return found
  }

  private func append(_ tape: JSONTape, _ record: Int, _ context: RecordContext, _ owner: UInt32)
    -> RecordDecoder.Fault?
  {
    guard var builder = builder.take() else { return nil }
    let fault = decoder.append(tape, record, context, into: &builder)
    self.builder = consume builder
    guard let fault else {
      owners.append(owner)
      return nil
    }
    let place = "\(plan.rows.path)\(place(tape, context))"
    let rest = fault.path ?? ""
    return RecordDecoder.Fault(
      column: [plan.plan.table, fault.column].compactMap { $0 }.joined(separator: "."),
      path: place.isEmpty || rest.isEmpty || rest.hasPrefix("[") ? place + rest : "\(place).\(rest)",
      reason: fault.reason)
  }

  /// Which of the records it is, as paths say it.
  private func place(_ tape: JSONTape, _ context: RecordContext) -> String {
    switch plan.rows.shape {
    case .object: ""
    case .byKey: "['\(decoder.excerpt(tape.raw(context.key)))']"
    case .list, .listOrObject, .columns: "[\(context.position)]"
    }
  }

  private func fault(_ reason: String) -> RecordDecoder.Fault {
    RecordDecoder.Fault(column: plan.plan.table, path: "\(plan.rows.path)", reason: reason)
  }
}

extension StoredValue {
  /// The value as fields read it from a parent's row: what has a text form of its own comes as that.
  func handedOn(as type: ColumnType) -> StoredValue {
    switch type {
    case .timestamp, .boolean, .duration, .blob: text(as: type).map { .text($0) } ?? .null
    default: self
    }
  }
}

extension Rows {
  /// Whether the records can be in a value of this kind.
  func fits(_ kind: JSONKind) -> Bool {
    switch shape {
    case .list: kind == .array
    case .object, .byKey, .columns: kind == .object
    case .listOrObject: kind == .array || kind == .object
    }
  }

  /// What has to be where the records are declared to be.
  var expectation: String {
    let place = listPath.components.isEmpty ? "the answer" : "\"\(listPath)\""
    return switch shape {
    case .list: "\(place) has to be a list of records"
    case .object: "\(place) has to be a record"
    case .listOrObject: "\(place) has to be a list of records or a record"
    case .byKey: "\(place) has to be an object of records"
    case .columns: "\(place) has to be an object of lists"
    }
  }
}
