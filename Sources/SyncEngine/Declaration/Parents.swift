/// The rows that an entity's requests are made for: one walk over the pages for each, or for each group of them.
///
/// ```swift
/// Source(.shop, "orders/{parent.id}/lines", paging: .none,
///        parents: Parents(Order.self, where: ["status": "open"], skipping: [404]))
/// Source(.shop, "prices", query: ["ids": "{parent.id}"], paging: .none,
///        parents: Parents(Product.self, grouped: 50))
/// // GET /prices?ids=1,2,3,…
/// ```
public struct Parents: Sendable {
  let entity: any Entity.Type
  let conditions: [(column: String, value: String)]
  let groupSize: Int
  let skippedStatuses: Set<Int>

  /// The rows of the parent's table, as they stand when the run begins. The columns of `{parent.…}` and `@parent.…`
  /// are theirs.
  ///
  /// - Parameters:
  ///   - conditions: columns of the parent and the values, as text, that its rows need to have.
  ///   - size: parents in one request; `{parent.column}` is then their values, joined by commas.
  ///   - statuses: where the first page of a parent is answered with one of these, the parent is passed over, and the
  ///     run deletes nothing. On a later page they fail the run like all others.
  public init(
    _ entity: any Entity.Type, where conditions: KeyValuePairs<String, String> = [:], grouped size: Int = 1,
    skipping statuses: Set<Int> = []
  ) {
    self.entity = entity
    self.conditions = conditions.map { ($0.key, $0.value) }
    (groupSize, skippedStatuses) = (size, statuses)
  }

  /// The parents' rows that are asked for, by group.
  ///
  /// - Parameter columns: the columns of the rows.
  func groups(of rows: [[StoredValue]], _ columns: [Column]) -> [[StoredValue]] {
    let chosen = rows.filter { row in
      conditions.allSatisfy { condition in
        columns.firstIndex { $0.name == condition.column }.map {
          row[$0].text(as: columns[$0].type) == condition.value
        } ?? false
      }
    }
    guard groupSize > 1 else { return chosen }
    return stride(from: 0, to: chosen.count, by: groupSize).map { start in
      let group = chosen[start..<min(start + groupSize, chosen.count)]
      return columns.indices.map { column in
        .text(group.map { $0[column].text(as: columns[column].type) ?? "" }.joined(separator: ","))
      }
    }
  }
}
