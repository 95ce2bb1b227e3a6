import HTTP

/// What a run asks for beyond the source's own requests, and what it is to learn for the next one.
struct Increment: Sendable {
  /// Parameters that ask for what changed.
  var items: [PageRequest.Item] = []
  /// The address at which what changed begins.
  var address: String?
  /// The position of a column, and the value at which everything is known.
  var known: (column: Int, value: StoredValue)?
  /// Statuses that say that what was kept is too old.
  var expired: Set<Int> = []
  /// Where the source hands out what the next run asks with.
  var tokenPlace: TokenPlace?
  /// Whether everything is asked for.
  var isFull = true

  /// - Parameters:
  ///   - kept: what an earlier run has kept.
  ///   - isFull: whether everything has to be asked for, whatever is kept.
  init(_ plan: EntityPlan, kept: String?, isFull: Bool) throws(WalkFailure) {
    guard let policy = plan.incremental else { return }
    switch policy.kind {
    case .token(let place, _, _), .link(let place): tokenPlace = place
    default: break
    }
    guard !isFull, let kept, !kept.isEmpty else { return }
    self.isFull = false
    expired = policy.expired
    switch policy.kind {
    case .token(_, let parameter, let place): items = [.init(parameter, kept, in: place)]
    case .link: address = kept
    case .since(let parameter, let place, let isJSON, let writing):
      guard let value = plan.watermark(kept), let text = writing(value.back(policy.lookBack)) else {
        throw WalkFailure("the watermark \"\(kept)\" cannot be read; ask for everything once (--full)")
      }
      items = [.init(parameter, text, in: place, isJSON: isJSON)]
    case .newestFirst:
      guard let value = plan.watermark(kept), let column = plan.watermarkPosition else {
        throw WalkFailure("the watermark \"\(kept)\" cannot be read; ask for everything once (--full)")
      }
      known = (column, value.back(policy.lookBack))
    }
  }

  /// Whether a page holds a record that is older than what is known. One that is as old may stand before another one
  /// that is new.
  func isKnown(_ rows: PageRows?) throws -> Bool {
    guard let known, let batch = rows?.batch else { return false }
    let memory = try batch.memory()
    return (0..<batch.rowCount).contains { row in
      guard let value = memory.value(row: row, column: known.column) else { return false }
      return value != .null && value.precedes(known.value)
    }
  }
}

/// What was kept is too old for the source: everything has to be asked for.
struct IncrementExpired: Error {}

/// What the next run asks with. Only a proof makes one.
struct Watermark: Sendable {
  let text: String

  /// Nil where the walk brought nothing to go on from.
  ///
  /// - Parameter kept: what an earlier run has kept; an instant, a number or a text never moves behind it.
  /// - Throws: ``SpoolError``
  init?(proof: ProofOfCompleteness, _ walk: Walk, _ plan: EntityPlan, kept: String?) throws {
    guard let policy = plan.incremental else { return nil }
    if policy.property == nil {
      guard let token = walk.token else { return nil }
      text = token
      return
    }
    guard let column = plan.watermarkPosition, let type = plan.watermarkType else { return nil }
    var largest: StoredValue?
    for batch in walk.rows.map(\.batch) {
      let memory = try batch.memory()
      for row in 0..<batch.rowCount {
        guard let value = memory.value(row: row, column: column), value != .null else { continue }
        if largest.map({ $0.precedes(value) }) ?? true { largest = value }
      }
    }
    // A record from the future would hide all that comes until then.
    if type == .timestamp, case .integer(let instant)? = largest {
      largest = .integer(min(instant, walk.serverTime ?? Timestamp.now))
    }
    if let old = kept.flatMap(plan.watermark), largest.map({ $0.precedes(old) }) ?? true { largest = old }
    guard let found = largest?.text(as: type) else { return nil }
    text = found
  }
}

extension StoredValue {
  /// The order of a watermark's values: whole numbers by value, texts by bytes.
  fileprivate func precedes(_ other: StoredValue) -> Bool {
    switch (self, other) {
    case (.integer(let a), .integer(let b)): a < b
    case (.text(let a), .text(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
    default: false
    }
  }

  /// An instant so many milliseconds earlier.
  fileprivate func back(_ milliseconds: Int64) -> StoredValue {
    guard milliseconds > 0, case .integer(let instant) = self else { return self }
    return .integer(instant - milliseconds)
  }
}

extension EntityPlan {
  /// The watermark's column among those of a batch.
  var watermarkPosition: Int? {
    watermarkColumn.flatMap { name in schema.synced.firstIndex { $0.name == name } }
  }

  var watermarkType: ColumnType? { watermarkPosition.map { schema.synced[$0].type } }

  /// A watermark as it was kept; nil for what is none.
  func watermark(_ text: String) -> StoredValue? {
    switch watermarkType {
    case .timestamp:
      var text = text
      return text.withUTF8 { Timestamp.parse($0) }.map { .integer($0) }
    case .integer: return Int64(text).map { .integer($0) }
    case .text, .day: return .text(text)
    default: return nil
    }
  }
}
