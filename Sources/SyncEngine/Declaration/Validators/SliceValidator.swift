/// What is to be cut into slices has something to cut.
enum SliceValidator {
  static func validate(_ source: Source, entity: String) throws(DeclarationError) {
    guard let slices = source.slices else { return }
    switch slices.kind {
    case .parents, .buckets:
      guard let parents = source.parents else {
        throw DeclarationError("\(entity): slices of parents need parents: Parents(….self)")
      }
      if slices.kind == .parents, parents.groupSize > 1 {
        throw DeclarationError(
          "\(entity): its requests are made for \(parents.groupSize) parents at once; spread them over slices: .parents(in: 16)"
        )
      }
      if case .buckets(let count) = slices.kind, !(1...65_536).contains(count) {
        throw DeclarationError("\(entity): parents in \(count) slices; there can be 1 to 65,536")
      }
    case .windows:
      if source.paging.windows == nil {
        throw DeclarationError("\(entity): slices of windows need paging: .windows(…)")
      }
    }
  }
}
