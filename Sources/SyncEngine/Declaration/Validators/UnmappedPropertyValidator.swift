/// Every stored property stands in a statement: a forgotten one would keep its initial value for ever.
enum UnmappedPropertyValidator {
  static func validate<E>(_ initial: E, _ mapping: Mapping<E>) throws(DeclarationError) {
    let mapped = Set(mapping.columns.compactMap(\.property))
    let missing = Mirror(reflecting: initial).children.compactMap(\.label).filter { !mapped.contains($0) }
    guard let first = missing.first else { return }
    throw DeclarationError(
      "\(E.table): the property \"\(first)\" stands in no statement of the mapping; add Field(\\.\(first)) or, if only the application writes it, Local(\\.\(first))"
    )
  }
}
