/// The paths of a source can be read, and its numbers make sense.
enum PathValidator {
  static func validate(_ source: Source, entity: String) throws(DeclarationError) {
    if let fault = source.query.fault { throw DeclarationError("\(entity): \(fault)") }
    if let fault = source.format.fault { throw DeclarationError("\(entity): \(fault)") }
    let paths = source.paging.paths + (source.filter?.paths ?? []) + source.errors + source.api.errors
    for path in paths {
      if let fault = path.fault { throw DeclarationError("\(entity): \(fault)") }
      if path.hasWildcard || path.builtin != nil {
        throw DeclarationError("\(entity): \"\(path)\" has to lead to one value of the answer")
      }
    }
    if let fault = source.paging.fault { throw DeclarationError("\(entity): \(fault)") }
    if source.api.concurrency < 1 {
      throw DeclarationError(
        "API \"\(source.api.name)\": no request may be under way (concurrency \(source.api.concurrency))")
    }
    if source.maxPages < 1 {
      throw DeclarationError("\(entity): maxPages is \(source.maxPages); it has to be 1 or more")
    }
    if let limit = source.maxRecords, limit < 1 {
      throw DeclarationError("\(entity): maxRecords is \(limit); it has to be 1 or more")
    }
    if !(0...1).contains(source.badRecords.quarantineShare) {
      throw DeclarationError(
        "\(entity): the share of bad records is \(source.badRecords.quarantineShare); it is a share from 0 to 1"
      )
    }
  }
}
