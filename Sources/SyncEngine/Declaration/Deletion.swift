/// What happens to rows that the source no longer returns.
public struct Deletion<E: Entity>: Sendable {
  let policy: DeletionPolicy

  /// They stay.
  public static var never: Deletion { Deletion(policy: .never) }

  /// They are deleted after a walk that was provably complete, with the default guard.
  public static var missing: Deletion { missing() }

  /// They are deleted after a walk that was provably complete.
  ///
  /// - Warning: Rows are removed from the table.
  /// - Parameters:
  ///   - share: the largest share of the rows in scope, 0 to 1, that one run may delete; exactly the share passes.
  ///   - allowEmpty: whether an answer without any record may empty the table.
  public static func missing(atMost share: Double = 0.5, allowEmpty: Bool = false) -> Deletion {
    Deletion(policy: .missing(DeletionGuard(share: share, allowEmpty: allowEmpty)))
  }
}

enum DeletionPolicy: Sendable {
  case never
  case missing(DeletionGuard)
}
