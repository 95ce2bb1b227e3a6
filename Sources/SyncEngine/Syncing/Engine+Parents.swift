/// The rows that requests are made for.
extension Engine {
  /// A parent's row, and the key by which it is in one slice or another.
  struct ParentRow {
    var sent: [StoredValue]
    var key: [StoredValue]

    /// The name of its slice, where each parent has one.
    func name(in plan: EntityPlan) -> String {
      let columns = plan.parent?.schema.keys ?? []
      let name = zip(key, columns).map { $0.text(as: $1.type) ?? "" }.joined(separator: ",")
      // Without a name it would be the entity itself.
      if name.isEmpty { return "''" }
      if name.utf8.count <= Self.longestName { return name }
      let hash = String(FNV1a.hash(name.utf8), radix: 16)
      return name.prefix(64) + "…" + hash
    }

    /// Bytes of a slice's name: what is much longer, no index of a database takes.
    static let longestName = 500

    /// The number of its slice, where parents are spread over so many.
    func bucket(of count: Int) -> Int {
      var bytes = KeyBytes()
      for value in key { bytes.append(value) }
      let hash = bytes.withBytes { FNV1a.hash($0) }
      // Spread once more: the keys of neighbours differ in their last byte alone.
      return Int((hash ^ hash >> 32) % UInt64(count))
    }
  }

  /// One row for each walk; one without values where the source has no parents. Of a slice those that are its own.
  ///
  /// - Parameter staged: what is going to be written before they are asked for.
  func readParents(_ plan: EntityPlan, after staged: [Commit] = []) async throws -> [[StoredValue]] {
    guard let parent = plan.parent else { return [[]] }
    var rows = try await parentRows(plan, after: staged)
    switch plan.source.slices?.kind {
    case .parents where plan.slice != nil: rows = rows.filter { $0.name(in: plan) == plan.slice }
    case .buckets(let count) where plan.slice != nil:
      rows = rows.filter { String($0.bucket(of: count)) == plan.slice }
    default: break
    }
    let sent = rows.map(\.sent)
    return try plan.source.parents?.groups(
      of: sent, parent.columns, sent: plan.requests.parentColumns.count) ?? sent
  }

  /// The parents that the declaration chooses.
  func chosenParents(_ plan: EntityPlan) async throws -> [ParentRow] {
    guard let parent = plan.parent, let parents = plan.source.parents else { return [] }
    return try await parentRows(plan).filter { parents.chooses($0.sent, parent.columns) }
  }

  /// All of the parents' rows; where one is asked for by its key, perhaps that one alone.
  func parentRows(_ plan: EntityPlan, after staged: [Commit] = []) async throws -> [ParentRow] {
    guard let parent = plan.parent else { return [] }
    if let declared = plan.source.parents?.declared {
      return declared.values.map { value in ParentRow(sent: parent.columns.map { _ in value }, key: [value]) }
    }
    let columns = parent.columns + parent.schema.keys
    var rows: [[StoredValue]] = []
    let last = staged.lastIndex { commit in
      ([commit.rows.schema] + commit.nested.map(\.rows.schema)).contains { $0.name == parent.schema.name }
    }
    do {
      if let last {
        rows = try await store.rows(of: parent.schema, columns: columns, after: Array(staged[...last]))
      } else {
        try store.rows(of: parent.schema, columns: columns, key: plan.parentKey) { rows.append($0) }
      }
    } catch let error as StoreError {
      throw StoreError("the parents cannot be read (sync \(parent.schema.name) first?): \(error)")
    }
    return rows.map {
      ParentRow(
        sent: Array($0.prefix(parent.columns.count)), key: Array($0.dropFirst(parent.columns.count)))
    }
  }
}

extension EntityPlan {
  /// The key of the one parent of a slice; nil where it is found by looking at all of them.
  fileprivate var parentKey: [StoredValue]? {
    guard let slice, source.slices?.kind == .parents, slice != "''", !slice.contains("…"),
      let keys = parent?.schema.keys,
      keys.count == 1
    else { return nil }
    switch keys[0].type {
    case .integer: return Int64(slice).map { [.integer($0)] }
    case .text: return [.text(slice)]
    default: return nil
    }
  }
}
