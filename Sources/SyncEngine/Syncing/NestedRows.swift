/// Puts together what came inside the records of a run.
struct NestedGathering {
  private let tables: [DecodingPlan.Nested]
  /// Per table: the one that it is nested in; nil is the entity's own.
  private let owners: [Int?]

  init(_ plan: DecodingPlan) {
    var tables: [DecodingPlan.Nested] = []
    var owners: [Int?] = []
    func add(_ plan: DecodingPlan, _ owner: Int?) {
      for nested in plan.nested {
        tables.append(nested)
        owners.append(owner)
        add(nested.plan, tables.count - 1)
      }
    }
    add(plan, nil)
    (self.tables, self.owners) = (tables, owners)
  }

  /// - Parameters:
  ///   - pages: all pages of the run.
  ///   - superseded: rows of the entity itself that a later one replaces; what came in them counts no more.
  /// - Throws: ``SpoolError``
  func rows(of pages: [PageRows], superseded: Set<Int>, keys: [Int]) throws -> [NestedRows] {
    var gone: [Set<Int>] = []
    var found: [NestedRows] = []
    for (table, nested) in tables.enumerated() {
      let owner = owners[table]
      let goneOwners = owner.map { gone[$0] } ?? superseded
      let ownerKeys = owner.map { tables[$0].plan.keyColumns } ?? keys
      var seen = KeyIndex()
      var lists = KeyIndex()
      var goneHere: Set<Int> = []
      var batches: [RowBatch] = []
      var ordinal = 0
      var bytes = KeyBytes()
      for page in pages {
        let part = page.nested[table]
        let owners = owner.map { page.nested[$0].batch } ?? page.batch
        part.batch.firstOrdinal = ordinal
        ordinal += part.batch.rowCount
        if part.batch.rowCount > 0 { batches.append(part.batch) }
        let memory = try part.batch.memory()
        for row in 0..<part.batch.rowCount {
          if goneOwners.contains(owners.firstOrdinal + Int(part.owners[row])) {
            goneHere.insert(part.batch.firstOrdinal + row)
            continue
          }
          bytes.set(nested.plan.keyColumns, of: memory, row)
          switch bytes.withBytes({ seen.insert($0, ordinal: part.batch.firstOrdinal + row) }) {
          case .new: break
          case .duplicate(let earlier), .duplicateOfOtherPart(let earlier), .seenBefore(let earlier):
            goneHere.insert(earlier)
          }
        }
        if part.lists.isEmpty { continue }
        let ownerMemory = try owners.memory()
        for list in part.lists where !goneOwners.contains(owners.firstOrdinal + Int(list)) {
          bytes.set(ownerKeys, of: ownerMemory, Int(list))
          bytes.withBytes { _ = lists.insert($0, ordinal: 0) }
        }
      }
      gone.append(goneHere)
      let reference = nested.schema.references.first(where: \.isOwner)
      found.append(
        NestedRows(
          rows: TableRows(schema: nested.schema, batches: batches, superseded: goneHere),
          replacement: reference.map {
            NestedRows.Replacement(seen: seen, scope: DeletionScope(columns: $0.columns, keys: lists))
          }))
    }
    return found
  }
}

extension KeyBytes {
  /// The key of a row.
  mutating func set(_ columns: [Int], of memory: RowMemory, _ row: Int) {
    removeAll()
    let cells = memory.row(row)
    for column in columns { append(cells[column], of: memory) }
  }
}
