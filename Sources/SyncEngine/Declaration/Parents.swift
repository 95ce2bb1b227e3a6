/// The rows that an entity's requests are made for: one walk over the pages for each, or for each group of them.
///
/// ```swift
/// Source(.shop, "orders/{parent.id}/lines", paging: .none,
///        parents: Parents(Order.self, where: ["status": "open"], skipping: [404]))
/// Source(.shop, "prices", query: ["ids": "{parent.id}"], paging: .none,
///        parents: Parents(Product.self, grouped: 50))
/// // GET /prices?ids=1%2C2%2C3…
/// Source(.shop, "{parent.region}/items", paging: .none, parents: Parents(values: ["eu", "us"], as: "region"))
/// // GET /eu/items, GET /us/items
/// ```
public struct Parents: Sendable {
  /// Rows that the declaration gives, of one column.
  struct Declared: Sendable {
    let values: [StoredValue]
    let column: Column
  }

  /// The entity whose rows they are; nil for declared values.
  let entity: (any Entity.Type)?
  let declared: Declared?
  let conditions: [(column: String, value: String)]
  let groupSize: Int
  let skippedStatuses: Set<Int>

  /// The rows of the parent's table, as they stand when the run begins. The columns of `{parent.…}` and `@parent.…`
  /// are theirs.
  ///
  /// - Parameters:
  ///   - conditions: columns of the parent and the values, as text, that its rows need to have.
  ///   - size: parents in one request; `{parent.column}` is then their values, joined by commas, none of which is
  ///     empty or holds a comma. Whose row one is then stands in the record, so ``Deletion/missing`` is refused.
  ///   - statuses: where the first page of a parent is answered with one of these, the parent is passed over, and the
  ///     run deletes nothing. On a later page they fail the run like all others.
  public init(
    _ entity: any Entity.Type, where conditions: KeyValuePairs<String, String> = [:], grouped size: Int = 1,
    skipping statuses: Set<Int> = []
  ) {
    (self.entity, declared) = (entity, nil)
    self.conditions = conditions.map { ($0.key, $0.value) }
    (groupSize, skippedStatuses) = (size, statuses)
  }

  /// Values that are declared, such as regions or tenants: the partitions of a source that lists each by itself.
  ///
  /// - Parameters:
  ///   - values: one walk for each; none comes twice.
  ///   - column: the name of `{parent.…}` and `@parent.…`.
  ///   - statuses: as for the rows of a table.
  public init<Value: KeyValue>(values: [Value], as column: String, skipping statuses: Set<Int> = []) {
    let type = Value.reading.columnType
    entity = nil
    declared = Declared(
      values: values.map(\.stored),
      column: Column(
        name: column, type: type, isNullable: false, role: .key, defaultValue: nil, marksChange: true))
    (conditions, groupSize, skippedStatuses) = ([], 1, statuses)
  }

  /// - Throws: ``DeclarationError``
  func schema() throws(DeclarationError) -> TableSchema {
    if let entity { return try TableSchema.erased(entity) }
    // Of no table: it has the name that no table can have.
    return TableSchema(name: "", columns: declared.map { [$0.column] } ?? [], references: [], assets: [])
  }

  /// Whether a row has the values that it needs to have.
  func chooses(_ row: [StoredValue], _ columns: [Column]) -> Bool {
    conditions.allSatisfy { condition in
      columns.firstIndex { $0.name == condition.column }.map {
        row[$0].text(as: columns[$0].type) == condition.value
      } ?? false
    }
  }

  /// The parents' rows that are asked for, by group.
  ///
  /// - Parameters:
  ///   - columns: the columns of the rows.
  ///   - sent: how many of them, from the first on, the requests name.
  /// - Throws: ``WalkFailure`` for a value that cannot stand in a group.
  func groups(of rows: [[StoredValue]], _ columns: [Column], sent: Int) throws -> [[StoredValue]] {
    let chosen = rows.filter { chooses($0, columns) }
    guard groupSize > 1 else { return chosen }
    return try stride(from: 0, to: chosen.count, by: groupSize).map { start in
      let group = chosen[start..<min(start + groupSize, chosen.count)]
      return try columns.prefix(sent).enumerated().map { position, column in
        let values = try group.map { row in
          let value = row[position].text(as: column.type) ?? ""
          guard !value.isEmpty, !value.contains(",") else {
            throw WalkFailure("a parent's \(column.name) \"\(value)\" cannot stand in a list with commas")
          }
          return value
        }
        return .text(values.joined(separator: ","))
      }
    }
  }
}
