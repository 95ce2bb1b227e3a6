/// The guard's share is a share: 10 % is 0.1, and 10 would be no guard at all.
enum DeletionValidator {
  static func validate(_ deletion: DeletionPolicy, entity: String) throws(DeclarationError) {
    guard case .missing(let bound) = deletion, !(0...1).contains(bound.share) else { return }
    throw DeclarationError("\(entity): the deletion's atMost is \(bound.share); it is a share from 0 to 1")
  }
}
