import JSON

/// What the loop needs of a column whose value is looked up by a path and is read by one of the plain operations.
struct FastColumn {
  enum Operation { case none, text, integer, real, boolean, iso8601, url, json, list, template, urlTemplate }
  var operation = Operation.none
  var node = 0
  var range: ClosedRange<Int64> = .min ... .max
  var emptyIsNull = false
  /// What the elements of a list are.
  var scalar: JSONScalar?
  /// Of a template: what stands between the values, and the nodes of these, or -1.
  var parts: UnsafeMutableBufferPointer<Part> = .init(start: nil, count: 0)

  struct Part {
    var literal: UnsafeMutableBufferPointer<UInt8>
    var node: Int
  }

  func deallocate() {
    for part in parts { part.literal.deallocate() }
    parts.deallocate()
  }

  init(_ column: DecodingPlan.ColumnPlan) {
    if case .template(let parts) = column.source {
      prepare(parts, column)
      return
    }
    guard case .node(let node) = column.source, node >= 0, column.reading.member == nil else { return }
    emptyIsNull = column.options.contains(.emptyAsNull)
    switch column.reading.operation {
    case .text: operation = .text
    case .integer(let range): (operation, self.range) = (.integer, range)
    case .real: operation = .real
    case .boolean: operation = .boolean
    case .timestamp(.iso8601(nil)): operation = .iso8601
    case .url: operation = .url
    case .json(.any): operation = .json
    case .json(.array(let scalar)): (operation, self.scalar) = (.list, scalar)
    default: return
    }
    self.node = node
  }

  private mutating func prepare(_ parts: [DecodingPlan.TemplatePart], _ column: DecodingPlan.ColumnPlan) {
    guard column.reading.member == nil, !column.options.contains(.emptyAsNull) else { return }
    switch column.reading.operation {
    case .text: operation = .template
    case .url: operation = .urlTemplate
    default: return
    }
    self.parts = .allocate(capacity: parts.count)
    for (position, part) in parts.enumerated() {
      var made = Part(literal: .init(start: nil, count: 0), node: -1)
      switch part {
      case .literal(let text):
        made.literal = .allocate(capacity: text.count)
        _ = made.literal.initialize(from: text)
      case .value(.node(let node)) where node >= 0: made.node = node
      case .value: operation = .none
      }
      self.parts.initializeElement(at: position, to: made)
    }
  }
}

extension RecordDecoder {
  /// What a source leads to.
  enum Found {
    case missing
    /// A value at this position of the tape.
    case node(Int)
    /// A value that stands nowhere as it is meant: it is valid until the next one is looked for.
    case scalar(Scalar)
    case fault(String)
  }

  /// Appends the cell of a column, or says why the value does not fit.
  @inline(__always)
  func append(
    _ tape: JSONTape, _ column: Int, _ record: Int, _ context: RecordContext,
    into batch: inout RowBatchBuilder
  ) -> String? {
    let plan = fast[column]
    if plan.operation == .template || plan.operation == .urlTemplate {
      if appendTemplate(tape, plan, into: &batch) {
        present[column] = true
        return nil
      }
    } else if plan.operation != .none {
      let slot = slots[plan.node]
      if slot == 0 { return appendMissing(column, &batch) }
      if slot & Self.obstructed == 0, append(tape, Int(slot), plan, into: &batch) {
        present[column] = true
        return nil
      }
    }
    return appendSlowly(tape, column, record, context, into: &batch)
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
      guard kind == .integer, raw.count <= 18, let integer = Scalar.smallInteger(raw),
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
      guard kind == .string, !tape.hasEscape(value), Scalar.isPlainURL(raw) else { return false }
      batch.append(text: raw)
    case .json:
      guard kind != .null, !(plan.emptyIsNull && kind == .string && raw.isEmpty) else { return false }
      appendJSON(tape, value, into: &batch)
    case .list:
      guard kind == .array, plan.scalar?.takesAll(value, tape) ?? true else { return false }
      appendJSON(tape, value, into: &batch)
    case .none, .template, .urlTemplate: return false
    }
    return true
  }

  /// Appends a template of plain values; false for all others, which take the slow way.
  private func appendTemplate(
    _ tape: JSONTape, _ plan: FastColumn, into batch: inout RowBatchBuilder
  ) -> Bool {
    var size = 0
    for part in plan.parts {
      guard part.node >= 0 else {
        size += part.literal.count
        continue
      }
      let slot = slots[part.node]
      if slot == 0 || slot & Self.obstructed != 0 { return false }
      switch tape.kind(Int(slot)) {
      case .string: if tape.hasEscape(Int(slot)) { return false }
      case .integer, .decimal, .true, .false: break
      case .null, .object, .array: return false
      }
      size += tape.raw(Int(slot)).count
    }
    let room = batch.reserve(size)
    var end = room
    for part in plan.parts {
      let bytes = part.node < 0 ? UnsafeBufferPointer(part.literal) : tape.raw(Int(slots[part.node]))
      if let base = bytes.baseAddress { end.update(from: base, count: bytes.count) }
      end += bytes.count
    }
    if plan.operation == .urlTemplate, !Scalar.isPlainURL(UnsafeBufferPointer(start: room, count: size)) {
      return false
    }
    batch.appendReserved(size)
    return true
  }

  /// Appends a value as JSON text without insignificant white space.
  private func appendJSON(_ tape: JSONTape, _ value: Int, into batch: inout RowBatchBuilder) {
    let raw = tape.raw(value)
    if tape.kind(value) == .string {
      let room = batch.reserve(raw.count + 2)
      room[0] = UInt8(ascii: "\"")
      if let base = raw.baseAddress { (room + 1).update(from: base, count: raw.count) }
      room[raw.count + 1] = UInt8(ascii: "\"")
      batch.appendReserved(raw.count + 2)
    } else {
      let room = batch.reserve(raw.count + 64)
      batch.appendReserved(minify(raw, into: room))
    }
  }

  private func appendSlowly(
    _ tape: JSONTape, _ column: Int, _ record: Int, _ context: RecordContext,
    into batch: inout RowBatchBuilder
  ) -> String? {
    let plan = columns[column]
    let found = locate(plan.source, tape, record, context)
    let isString: Bool
    switch found {
    case .missing: return appendMissing(column, &batch)
    case .fault(let reason): return reason
    case .node(let value):
      present[column] = true
      if case .custom(_, let read) = plan.reading.operation {
        return append(tape, value, column, read, &batch)
      }
      if tape.kind(value) == .null { return appendNull(column, &batch) }
      isString = tape.kind(value) == .string
    case .scalar(let scalar):
      present[column] = true
      if scalar.kind == .null { return appendNull(column, &batch) }
      isString = scalar.kind == .string
    }
    // What a constant says was checked by its type already.
    if case .constant(let value) = plan.source {
      batch.append(stored: value)
      return nil
    }
    if isString, plan.options.contains(.emptyAsNull), scalar(of: found, tape)?.bytes.isEmpty == true {
      return appendNull(column, &batch)
    }
    if case .json(let shape) = plan.reading.operation {
      return appendJSON(found, tape, shape, column, &batch)
    }
    guard let scalar = scalar(of: found, tape) else { return surrogateFault(found, tape) }
    return convert(scalar, column, &batch)
  }

  private func appendMissing(_ column: Int, _ batch: inout RowBatchBuilder) -> String? {
    if columns[column].isKey { return "the key is missing" }
    if columns[column].options.contains(.missingAsNull) { return appendNull(column, &batch) }
    batch.appendMissing()
    return nil
  }

  private func appendNull(_ column: Int, _ batch: inout RowBatchBuilder) -> String? {
    let plan = columns[column]
    if plan.isKey { return "the key is null" }
    if plan.options.contains(.nullAsDefault), let value = plan.defaultValue {
      batch.append(stored: value)
      return nil
    }
    if plan.isNullable && !plan.options.contains(.required) {
      batch.append(Cell(.null))
      return nil
    }
    return "null, and the column takes no null"
  }

  /// Appends what the application's closure makes of a value.
  private func append(
    _ tape: JSONTape, _ value: Int, _ column: Int, _ read: (JSONValue) throws -> StoredValue,
    _ batch: inout RowBatchBuilder
  ) -> String? {
    guard let document else { return "the value is not in a document" }
    do {
      let made = try read(JSONValue(document: document, index: value))
      if made == .null { return appendNull(column, &batch) }
      batch.append(stored: made)
      return nil
    } catch { return "\(excerpt(tape.text(value))) cannot be read: \(excerpt("\(error)"))" }
  }

  // MARK: Locating

  func locate(
    _ source: DecodingPlan.Source, _ tape: JSONTape, _ record: Int, _ context: RecordContext
  ) -> Found {
    switch source {
    case .node(let node):
      if node < 0 { return .node(record) }
      let slot = slots[node]
      if slot == 0 { return .missing }
      guard slot & Self.obstructed != 0 else { return .node(Int(slot)) }
      let obstacle = Int(slot & ~Self.obstructed)
      return .fault(
        "\(tape.kind(obstacle).name) stands where the path goes on: \(excerpt(tape.text(obstacle)))")
    case .collection(let node, let path):
      return collect(path, below: locate(.node(node), tape, record, context), tape)
    case .first(let sources):
      var null: Found?
      for source in sources {
        switch locate(source, tape, record, context) {
        case .missing: continue
        case .node(let value) where tape.kind(value) == .null: null = null ?? .node(value)
        case .scalar(let scalar) where scalar.kind == .null: null = null ?? .scalar(scalar)
        case let found: return found
        }
      }
      return null ?? .missing
    case .template(let parts): return fill(parts, tape, record, context)
    case .constant(let value): return .scalar(scalar(value))
    case .recordKey: return context.key < 0 ? .missing : .node(context.key)
    case .position: return .scalar(scalar(.integer(Int64(context.position))))
    case .fetchedAt: return .scalar(scalar(.text(Timestamp.text(context.fetchedAt))))
    case .parent(let position): return context.parent[position].map { .scalar(scalar($0)) } ?? .missing
    }
  }

  private func scalar(_ value: StoredValue) -> Scalar {
    switch value {
    case .null: .null
    case .integer(let value): Scalar(kind: .integer, bytes: copied(String(value).utf8))
    case .real(let value): Scalar(kind: .decimal, bytes: copied(String(value).utf8))
    case .text(let text): Scalar(kind: .string, bytes: copied(text.utf8))
    case .blob(let bytes): Scalar(kind: .string, bytes: copied(bytes))
    }
  }

  /// What was found as a scalar without escapes; nil for half a surrogate pair and where nothing was found.
  func scalar(of found: Found, _ tape: JSONTape) -> Scalar? {
    switch found {
    case .missing, .fault: return nil
    case .scalar(let scalar): return scalar
    case .node(let value):
      let raw = tape.raw(value)
      guard tape.kind(value) == .string, tape.hasEscape(value) else {
        return Scalar(kind: tape.kind(value), bytes: raw)
      }
      if tape.hasLoneSurrogate(value) { return nil }
      let room = room(raw.count)
      return Scalar(
        kind: .string, bytes: UnsafeBufferPointer(start: room, count: tape.unescape(value, into: room)))
    }
  }

  private func room(_ count: Int) -> UnsafeMutablePointer<UInt8> {
    if scratch.count < max(count, 1) {
      scratch.deallocate()
      scratch = .allocate(capacity: count * 2)
    }
    guard let base = scratch.baseAddress else { preconditionFailure("scratch memory is never empty") }
    return base
  }

  private func copied(_ bytes: some Collection<UInt8>) -> UnsafeBufferPointer<UInt8> {
    let room = room(bytes.count)
    for (index, byte) in bytes.enumerated() { room[index] = byte }
    return UnsafeBufferPointer(start: room, count: bytes.count)
  }

  private func fill(
    _ parts: [DecodingPlan.TemplatePart], _ tape: JSONTape, _ record: Int, _ context: RecordContext
  ) -> Found {
    var text: [UInt8] = []
    var isNull = false
    for part in parts {
      switch part {
      case .literal(let literal): text += literal
      case .value(let source):
        let found = locate(source, tape, record, context)
        switch found {
        case .missing, .fault: return found
        case .node, .scalar: break
        }
        guard let scalar = scalar(of: found, tape) else {
          return .fault(surrogateFault(found, tape))
        }
        switch scalar.kind {
        case .null: isNull = true
        case .object, .array: return .fault("\(scalar.kind.name) in a template")
        default: text.append(contentsOf: scalar.bytes)
        }
      }
    }
    return .scalar(isNull ? .null : Scalar(kind: .string, bytes: copied(text)))
  }

  /// The values behind a wildcard as a JSON list: elements without the value are left out.
  private func collect(_ path: [JSONPath.Component], below list: Found, _ tape: JSONTape) -> Found {
    guard case .node(let list) = list, tape.kind(list) != .null else { return list }
    guard tape.kind(list) == .array else {
      return .fault("\(tape.kind(list).name) stands where a list is collected: \(excerpt(tape.text(list)))")
    }
    var text = [UInt8(ascii: "[")]
    var obstacle: Int?
    tape.forEach(path, from: list) { value, isObstacle in
      if isObstacle { obstacle = obstacle ?? value }
      if text.count > 1 { text.append(UInt8(ascii: ",")) }
      text += Array(tape.text(value).utf8)
    }
    if let obstacle {
      return .fault(
        "\(tape.kind(obstacle).name) stands where the path goes on: \(excerpt(tape.text(obstacle)))")
    }
    text.append(UInt8(ascii: "]"))
    return .scalar(Scalar(kind: .array, bytes: copied(text)))
  }

  // MARK: Converting

  private func appendJSON(
    _ found: Found, _ tape: JSONTape, _ shape: JSONShape, _ column: Int, _ batch: inout RowBatchBuilder
  ) -> String? {
    if case .node(let value) = found {
      if let reason = shape.reason(against: value, tape, excerpt) { return reason }
      appendJSON(tape, value, into: &batch)
      return nil
    }
    // A collected list, or a text out of a key, a template or a parent's row.
    guard let scalar = scalar(of: found, tape), let document = try? JSONDocument.parse(Array(scalar.bytes))
    else {
      return "it is not JSON"
    }
    return document.withTape { made in
      if let reason = shape.reason(against: 0, made, excerpt) { return reason }
      appendJSON(made, 0, into: &batch)
      return nil
    }
  }

  /// Appends the cell of a value that is not null, or says why it does not fit.
  private func convert(_ scalar: Scalar, _ column: Int, _ batch: inout RowBatchBuilder) -> String? {
    let reading = columns[column].reading
    // An enumeration has few values: each is looked up once.
    let isText = reading.member != nil && scalar.kind == .string
    if isText, let known = members[column][Array(scalar.bytes)] {
      batch.append(stored: known)
      return nil
    }
    let value: StoredValue
    switch reading.operation {
    case .text where reading.member == nil:
      if scalar.kind == .object || scalar.kind == .array {
        return "\(excerpt(scalar)) is \(scalar.kind.name), not a text"
      }
      batch.append(text: scalar.bytes)
      return nil
    case .url where reading.member == nil && scalar.isURL:
      batch.append(text: scalar.bytes)
      return nil
    default:
      switch stored(scalar, reading.operation) {
      case .success(let stored): value = stored
      case .failure(let fault):
        guard let substitute = reading.substitute else { return "\(excerpt(scalar)) \(fault.reason)" }
        batch.append(stored: substitute)
        return nil
      }
    }
    guard let member = reading.member else {
      batch.append(stored: value)
      return nil
    }
    guard let made = member(value) ?? reading.substitute else {
      return "\(excerpt(scalar)) is not one of the declared cases"
    }
    // A type that takes very many texts is asked each time.
    if isText, members[column].count < 256 { members[column][Array(scalar.bytes)] = made }
    batch.append(stored: made)
    return nil
  }

  private struct Misfit: Error {
    var reason: String
  }

  private func stored(_ scalar: Scalar, _ operation: Reading.Operation) -> Result<StoredValue, Misfit> {
    func result<V>(_ value: V?, _ reason: String, _ stored: (V) -> StoredValue) -> Result<StoredValue, Misfit>
    {
      value.map { .success(stored($0)) } ?? .failure(Misfit(reason: reason))
    }
    switch operation {
    case .integer(let range):
      guard let value = scalar.integer else {
        return .failure(Misfit(reason: "is not an integer of 64 bits"))
      }
      return result(
        range.contains(value) ? value : nil, "is outside \(range.lowerBound)...\(range.upperBound)"
      ) { .integer($0) }
    case .real: return result(scalar.real, "is not a number that a double holds") { .real($0) }
    case .float: return result(scalar.float, "is not a number that a float holds") { .real($0) }
    case .boolean: return result(scalar.boolean, "is not a boolean") { .integer($0 ? 1 : 0) }
    case .text:
      let isText = scalar.kind != .object && scalar.kind != .array
      return result(isText ? scalar.bytes : nil, "is \(scalar.kind.name), not a text") {
        .text(String(decoding: $0, as: UTF8.self))
      }
    case .decimal: return result(scalar.decimal, "is not a decimal number of up to 38 digits") { .text($0) }
    case .timestamp(let format):
      return result(scalar.timestamp(format), format.misfit(scalar)) { .integer($0) }
    case .day: return result(scalar.day, "is not a day of the form 2026-02-28") { .text($0.description) }
    case .duration(let format):
      return result(scalar.duration(format), "is not a length of time in whole microseconds") { .integer($0) }
    case .uuid: return result(scalar.uuid, "is not a UUID") { .text(String(decoding: $0, as: UTF8.self)) }
    case .url:
      return result(scalar.isURL ? scalar.bytes : nil, "is not a URL") {
        .text(String(decoding: $0, as: UTF8.self))
      }
    case .data(let encoding): return result(scalar.data(encoding), "is not \(encoding)") { .blob($0) }
    case .json, .custom: return .failure(Misfit(reason: "is not in the record"))
    }
  }

  // MARK: Messages

  private func surrogateFault(_ found: Found, _ tape: JSONTape) -> String {
    guard case .node(let value) = found else { return "it cannot be read" }
    return "half a surrogate pair, which no text can hold: \(excerpt(tape.text(value)))"
  }

  private func excerpt(_ scalar: Scalar) -> String {
    scalar.kind == .string ? "\"\(excerpt(scalar.bytes))\"" : excerpt(scalar.bytes)
  }

  func excerpt(_ text: String) -> String { excerpt(text.utf8) }

  func excerpt(_ bytes: some BidirectionalCollection<UInt8>) -> String { redactor.excerpt(bytes, limit: 80) }
}

extension TimestampFormat {
  /// Why a value is no instant in this form.
  func misfit(_ scalar: Scalar) -> String {
    if case .iso8601(let zone) = self, scalar.kind == .string,
      Timestamp.parse(scalar.bytes, zone: .utc) != nil
    {
      return zone == nil
        ? "has no zone; declare whose time it is: .iso8601(zone: .utc)"
        : "is a time that the zone's clocks skip"
    }
    return "is not an instant in the declared form"
  }
}

extension JSONShape {
  /// Why a value is not of this shape; nil if it is.
  func reason(against value: Int, _ tape: JSONTape, _ excerpt: (String) -> String) -> String? {
    let kind = tape.kind(value)
    switch self {
    case .any: return nil
    case .object: return kind == .object ? nil : "\(excerpt(tape.text(value))) is \(kind.name), not an object"
    case .array(let scalar):
      guard kind == .array else { return "\(excerpt(tape.text(value))) is \(kind.name), not a list" }
      guard let scalar else { return nil }
      var element = value + 1
      while element < tape.next(value) {
        guard scalar.takes(element, tape) else {
          return "\(excerpt(tape.text(element))) does not fit the elements of the list"
        }
        element = tape.next(element)
      }
      return nil
    }
  }
}

extension JSONScalar {
  /// Whether all elements of a list are such scalars.
  func takesAll(_ list: Int, _ tape: JSONTape) -> Bool {
    var element = list + 1
    let end = tape.next(list)
    while element < end {
      guard takes(element, tape) else { return false }
      element = tape.next(element)
    }
    return true
  }

  func takes(_ value: Int, _ tape: JSONTape) -> Bool {
    switch (self, tape.kind(value)) {
    case (.string, .string): !tape.hasLoneSurrogate(value)
    case (.boolean, .true), (.boolean, .false): true
    case (.integer(let range), .integer), (.integer(let range), .decimal):
      NumberToken(tape.raw(value))?.integer.map(range.contains) ?? false
    case (.number, .integer), (.number, .decimal): nearestDouble(tape.raw(value)) != nil
    case (.single, .integer), (.single, .decimal):
      nearestDouble(tape.raw(value)).map { abs($0) <= Double(Float.greatestFiniteMagnitude) } ?? false
    default: false
    }
  }
}
