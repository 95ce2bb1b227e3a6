/// A watermark has a column that can be one, and deletion by absence has full passes.
enum IncrementalValidator {
  static func validate(
    _ policy: IncrementalPolicy?, deletion: DeletionPolicy, entity: String, properties: [String: Column]
  ) throws(DeclarationError) {
    guard let policy else { return }
    if let fault = policy.fault ?? policy.path?.fault { throw DeclarationError("\(entity): \(fault)") }
    if deletion.isByAbsence, policy.full.interval == nil {
      throw DeclarationError(
        "\(entity): rows are deleted for their absence, but no run ever asks for everything; say how often: full: .every(…)"
      )
    }
    if let interval = policy.full.interval, interval < 1 {
      throw DeclarationError("\(entity): a full pass after no time at all")
    }
    if policy.lookBack < 0 { throw DeclarationError("\(entity): the look-back is less than nothing") }
    guard let property = policy.property else { return }
    guard let column = properties[property], column.role != .local, column.role != .asset else {
      throw DeclarationError("\(entity): the watermark's \"\(property)\" is no column that the source fills")
    }
    guard [.timestamp, .integer, .text, .day].contains(column.type) else {
      throw DeclarationError(
        "\(entity): the watermark's column \"\(column.name)\" is \(column.type.rawValue); it has to be of instants, days, whole numbers or text"
      )
    }
    if policy.lookBack > 0, column.type != .timestamp {
      throw DeclarationError(
        "\(entity): there is no looking back in \"\(column.name)\", which holds no instants")
    }
  }
}
