/// Every path, template, date pattern and paging field can be read, and the options of a statement agree.
enum PathValidator {
  static func validate<E>(_ mapping: Mapping<E>, source: Source, entity: String) throws(DeclarationError) {
    for column in mapping.columns {
      let name = column.name ?? ""
      let fault: String? =
        switch column.place {
        case .ownName: nil
        case .path(let path): path.fault
        case .template(let template): template.fault
        }
      if let fault { throw DeclarationError("\(entity): column \"\(name)\": \(fault)") }
      if let fault = column.reading.fault {
        throw DeclarationError("\(entity): column \"\(name)\": \(fault)")
      }
      if column.options.isSuperset(of: [.required, .nullAsDefault]) {
        throw DeclarationError(
          "\(entity): column \"\(name)\" is .required, so it has no default for .nullAsDefault")
      }
      if column.options.contains(.nullAsDefault), column.initial(E()) == .null {
        throw DeclarationError(
          "\(entity): column \"\(name)\" is .nullAsDefault, but its property has no initial value")
      }
      if case .path(let path) = column.place, path == .key("@key"), source.rows.shape != .byKey {
        throw DeclarationError(
          "\(entity): column \"\(name)\" reads @key, but the records are not declared to be the values of an object (rows: .byKey)"
        )
      }
    }
    if let fault = source.query.fault { throw DeclarationError("\(entity): \(fault)") }
    for path in source.paging.paths + [source.rows.path] {
      if let fault = path.fault { throw DeclarationError("\(entity): \(fault)") }
    }
    if source.maxPages < 1 {
      throw DeclarationError("\(entity): maxPages is \(source.maxPages); it has to be 1 or more")
    }
  }
}
