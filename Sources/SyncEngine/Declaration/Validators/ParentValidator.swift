/// What reads from a parent has one, the parent has the columns, and a deletion knows whose rows it judges.
enum ParentValidator {
  static func validate(
    source: Source, deletion: DeletionPolicy, columns: [String], owner: [String], entity: String
  ) throws(DeclarationError) {
    guard let parents = source.parents else {
      if let column = columns.first {
        throw DeclarationError(
          "\(entity): \"parent.\(column)\" is read, but the source has no parents; add parents: Parents(….self)"
        )
      }
      return
    }
    let schema = try TableSchema.erased(parents.entity)
    for column in columns where !schema.columns.contains(where: { $0.name == column }) {
      throw DeclarationError(
        "\(entity): \"parent.\(column)\" is read, but \(schema.name) has no column \"\(column)\"; it has \(schema.columns.map(\.name).joined(separator: ", "))"
      )
    }
    if columns.isEmpty {
      throw DeclarationError(
        "\(entity): the source has parents, but nothing in its path or query names {parent.…}")
    }
    if case .missing = deletion, owner.isEmpty {
      throw DeclarationError(
        "\(entity): a deletion among rows of parents has to know whose row each one is; fill a column from the parent: Field(\\.…, \"@parent.\(columns[0])\")"
      )
    }
  }
}
