/// Every path, template and format of a mapping can be read, the options of a statement agree, and no record holds
/// itself.
enum MappingValidator {
  /// - Parameters:
  ///   - rows: where the records are found.
  ///   - owners: the records that this one is nested in.
  static func validate<R: Record>(
    _ record: R.Type, rows: Rows, owners: [any Record.Type] = []
  ) throws(DeclarationError) {
    let (table, mapping, initial) = (R.table, R.declaredMapping, R())
    if owners.contains(where: { $0 == record }) {
      throw DeclarationError("\(table): its records hold records of the same type, without an end")
    }
    if owners.contains(where: { $0.table.asciiLowercased == table.asciiLowercased }) {
      throw DeclarationError("\(table): a record and one in it have the same table")
    }
    for (index, nested) in mapping.nested.enumerated() {
      let twins = mapping.nested[..<index].filter {
        $0.record.table.asciiLowercased == nested.record.table.asciiLowercased
      }
      if twins.contains(where: { nested.isOwned || $0.isOwned }) {
        throw DeclarationError(
          "\(table): two statements fill the table \"\(nested.record.table)\", and children replace what stands there"
        )
      }
    }
    for column in mapping.columns {
      guard let fault = fault(of: column, initial: column.initial(initial), rows) else { continue }
      throw DeclarationError("\(table): column \"\(column.name ?? "")\"\(fault)")
    }
    let names = Set(mapping.columns.compactMap { $0.name?.asciiLowercased })
    for asset in mapping.assets {
      if !mapping.columns.contains(where: { $0.name == asset.address && $0.role == .remote }) {
        throw DeclarationError(
          "\(table): \"\(asset.column)\" is downloaded from \"\(asset.address)\", which is no field of the mapping"
        )
      }
      for name in [asset.source, asset.validator] where names.contains(name.asciiLowercased) {
        throw DeclarationError("\(table): the column \"\(name)\" belongs to \"\(asset.column)\"")
      }
      if asset.limit < 1 {
        throw DeclarationError("\(table): \"\(asset.column)\" may hold \(asset.limit) bytes")
      }
    }
    if let fault = rows.fault { throw DeclarationError("\(table): \(fault)") }
    for nested in mapping.nested {
      if nested.rows.shape == .columns {
        throw DeclarationError("\(table): records inside of records cannot be .columns")
      }
      try erased(nested.record, rows: nested.rows, owners: owners + [record])
    }
  }

  private static func erased(
    _ record: any Record.Type, rows: Rows, owners: [any Record.Type]
  ) throws(DeclarationError) {
    try validate(record, rows: rows, owners: owners)
  }

  /// What is wrong with a statement, as the end of a sentence about its column.
  private static func fault<R>(of column: MappedColumn<R>, initial: StoredValue, _ rows: Rows) -> String? {
    if case .template(let template) = column.place, let fault = template.fault { return ": \(fault)" }
    if let fault = column.paths.lazy.compactMap(\.fault).first { return ": \(fault)" }
    switch (initial, column.reading.columnType) {
    case (.real(let value), _) where !value.isFinite:
      return " has the initial value \(value), which no column holds"
    case (.text(let value), .integer): return " has the initial value \(value), which is beyond 64 bits"
    default: break
    }
    if let fault = column.reading.fault { return ": \(fault)" }
    if column.options.isSuperset(of: [.required, .nullAsDefault]) {
      return " is .required, so it has no default for .nullAsDefault"
    }
    if column.options.contains(.nullAsDefault), initial == .null {
      return " is .nullAsDefault, but its property has no initial value"
    }
    if column.paths.contains(where: { $0.builtin == .recordKey }), rows.shape != .byKey {
      return " reads @key, but the records are not declared to be the values of an object (rows: .byKey)"
    }
    if column.paths.contains(where: { $0.builtin == .fetchedAt }), column.reading.columnType != .timestamp {
      return " reads @fetchedAt, which is an instant, and its property is no Date"
    }
    if case .custom = column.reading.operation, column.paths.contains(where: { $0.builtin != nil }) {
      return " is read by a closure, which takes values of the record, and not \(column.paths[0])"
    }
    if column.paths.contains(where: \.hasWildcard) {
      if case .template = column.place { return " collects a list in a template" }
      guard case .json = column.reading.operation else {
        return " collects a list, and its property is none: \(column.paths[0])"
      }
    }
    return nil
  }
}

extension Rows {
  /// Why no records can be found there.
  var fault: String? {
    if let fault = path.fault { return fault }
    if let builtin = path.components.first(where: { if case .builtin = $0 { true } else { false } }) {
      return "the records cannot be at \(JSONPath(components: [builtin]))"
    }
    if path.hasWildcard, shape != .list {
      return "behind a wildcard each value is one record: \"\(path)\""
    }
    return nil
  }
}
