/// What reads from a parent has one, the parent has the columns, and a deletion knows whose rows it judges.
enum ParentValidator {
  /// - Parameters:
  ///   - columns: the parent's columns that are read.
  ///   - owner: the entity's columns that are filled from the parent, with the parent's columns.
  /// - Returns: the table of the parents, if there are any.
  static func validate(
    source: Source, deletion: DeletionPolicy, columns: [String], owner: [(column: String, parent: String)],
    schema own: TableSchema, entity: String
  ) throws(DeclarationError) -> TableSchema? {
    guard let parents = source.parents else {
      if let column = columns.first {
        throw DeclarationError(
          "\(entity): \"parent.\(column)\" is read, but the source has no parents; add parents: Parents(….self)"
        )
      }
      return nil
    }
    let schema = try parents.schema()
    if let declared = parents.declared {
      let (values, column) = (declared.values, declared.column)
      if values.isEmpty {
        throw DeclarationError("\(entity): its parents are declared values, and there is none")
      }
      if Set(values).count < values.count {
        throw DeclarationError("\(entity): of the declared values for \"\(column.name)\" one is there twice")
      }
    }
    if schema.name == own.name { throw DeclarationError("\(entity): an entity cannot be its own parent") }
    for column in columns where !schema.columns.contains(where: { $0.name == column }) {
      throw DeclarationError(
        "\(entity): \"parent.\(column)\" is read, but \(schema.name.isEmpty ? "the declared values" : schema.name) \(schema.name.isEmpty ? "have" : "has") no column \"\(column)\"; \(schema.name.isEmpty ? "they have" : "it has") \(schema.columns.map(\.name).joined(separator: ", "))"
      )
    }
    if columns.isEmpty {
      throw DeclarationError(
        "\(entity): the source has parents, but nothing in its path or query names {parent.…}")
    }
    for condition in parents.conditions where !schema.columns.contains(where: { $0.name == condition.column })
    {
      throw DeclarationError(
        "\(entity): parents are chosen by \"\(condition.column)\", but \(schema.name) has no such column")
    }
    if parents.groupSize < 1 {
      throw DeclarationError("\(entity): parents in groups of \(parents.groupSize)")
    }
    if parents.groupSize > 1, let column = owner.first?.column {
      throw DeclarationError(
        "\(entity): column \"\(column)\" reads @parent.…, but its requests are made for many parents at once")
    }
    guard deletion.isByAbsence else { return schema }
    if parents.groupSize > 1 {
      throw DeclarationError(
        "\(entity): a deletion has to know whose row each one is, but its requests are made for \(parents.groupSize) parents at once"
      )
    }
    if owner.isEmpty {
      throw DeclarationError(
        "\(entity): a deletion among rows of parents has to know whose row each one is; fill a column from the parent: Field(\\.…, \"@parent.\(columns[0])\")"
      )
    }
    // Rows are compared with their parents by these columns: the same value in another type is another one.
    for (column, parent) in owner {
      guard let type = own.columns.first(where: { $0.name == column })?.type,
        let parentType = schema.columns.first(where: { $0.name == parent })?.type, type != parentType
      else { continue }
      throw DeclarationError(
        "\(entity): a deletion compares column \"\(column)\", which is \(type.rawValue), with \(schema.name.isEmpty ? "parent" : schema.name).\(parent), which is \(parentType.rawValue); give it the same type"
      )
    }
    return schema
  }
}
