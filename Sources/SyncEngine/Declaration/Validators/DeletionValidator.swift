/// The guard's share is a share (10 % is 0.1, and 10 would be no guard at all), and what a deletion names is there.
enum DeletionValidator {
  static func validate(
    _ deletion: DeletionPolicy, entity: String, properties: [String: Column]
  ) throws(DeclarationError) {
    if let path = deletion.tombstone?.path {
      if let fault = path.fault { throw DeclarationError("\(entity): \(fault)") }
      if path.hasWildcard || path.builtin != nil {
        throw DeclarationError(
          "\(entity): the tombstone's \"\(path)\" has to lead to one value of the record")
      }
    }
    guard deletion.isByAbsence else {
      if deletion.verification != nil {
        throw DeclarationError("\(entity): nothing is deleted, so there is nothing to verify")
      }
      return
    }
    if !(0...1).contains(deletion.bound.share) {
      throw DeclarationError(
        "\(entity): the deletion's atMost is \(deletion.bound.share); it is a share from 0 to 1")
    }
    if deletion.runs < 1 {
      throw DeclarationError(
        "\(entity): rows are deleted after \(deletion.runs) runs; it has to be 1 or more")
    }
    for case .equal(let property, let value) in deletion.conditions {
      guard let column = properties[property] else {
        throw DeclarationError("\(entity): the deletion's scope names \"\(property)\", which is no column")
      }
      if value == .null {
        throw DeclarationError(
          "\(entity): the deletion's scope compares \"\(column.name)\" with nil, which equals nothing")
      }
    }
    if let mark = deletion.mark {
      guard let column = properties[mark], column.role == .local else {
        throw DeclarationError(
          "\(entity): deleted rows are marked in \"\(mark)\", which has to be declared: Local(\\.\(mark))")
      }
    }
  }
}
