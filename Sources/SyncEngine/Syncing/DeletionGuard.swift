/// The bound on what one run may delete.
public struct DeletionGuard: Sendable, Hashable {
  /// The largest share of the rows in scope, 0 to 1; exactly the share passes.
  public var share: Double
  /// Whether an answer without any record may delete all rows; judged in place of the share.
  public var allowEmpty: Bool

  /// - Throws: ``GuardRefusal`` if that many rows must not go.
  /// - Parameters:
  ///   - deleted: rows that would be deleted.
  ///   - rows: rows in scope before the run.
  ///   - isAnswerEmpty: whether the source returned no record at all.
  public func check(deleting deleted: Int, of rows: Int, isAnswerEmpty: Bool) throws(GuardRefusal) {
    guard deleted > 0 else { return }
    if isAnswerEmpty {
      if !allowEmpty {
        throw GuardRefusal(deleted: deleted, rows: rows, rule: "the source returned no record at all")
      }
    } else if rows < 1 || Double(deleted) / Double(rows) > share {
      // The quotient is compared, not a product: 29 of 100 is the same double as 0.29, and 0.29 × 100 is not 29.
      let percent = (deleted * 100 + max(rows, 1) - 1) / max(rows, 1)
      let allowed = (share * 10_000).rounded() / 100
      throw GuardRefusal(
        deleted: deleted, rows: rows,
        rule:
          "\(percent)% of the rows, and the guard allows \(allowed == allowed.rounded() ? "\(Int(allowed))" : "\(allowed)")%"
      )
    }
  }
}

/// A deletion that the guard does not allow: nothing of the run is committed, a person decides.
public struct GuardRefusal: Error, Sendable, CustomStringConvertible {
  public let deleted: Int
  public let rows: Int
  let rule: String
  /// Another table than the entity's own, whose rows would go with the deleted ones.
  private var table: String?

  init(deleted: Int, rows: Int, rule: String) {
    (self.deleted, self.rows, self.rule) = (deleted, rows, rule)
  }

  /// The same refusal, for rows of another table that a cascade or a trigger reaches.
  package func reaching(_ table: String) -> GuardRefusal {
    var copy = self
    copy.table = table
    return copy
  }

  public var description: String {
    "the run would delete \(deleted) of \(rows) rows\(table.map { " of the table \"\($0)\", which follow the deleted ones" } ?? "") (\(rule)); nothing was written"
  }
}

/// The deletion of what a provably complete walk did not see. A store deletes only what one of these tells it to.
public struct ArmedDeletion: Sendable {
  /// The keys that were seen.
  package let seen: KeyIndex
  /// The rows that count: those whose columns hold one of the keys. Nil is the whole table.
  package let scope: DeletionScope?
  package let bound: DeletionGuard
  package let isAnswerEmpty: Bool

  /// Nil where the proof is not enough for deletion yet.
  init?(
    proof: ProofOfCompleteness, seen: KeyIndex, scope: DeletionScope?, bound: DeletionGuard,
    isAnswerEmpty: Bool
  ) {
    guard proof.armsDeletion else { return nil }
    (self.seen, self.scope, self.bound, self.isAnswerEmpty) = (seen, scope, bound, isAnswerEmpty)
  }
}

/// The rows that a deletion judges: those whose columns hold one of the keys.
public struct DeletionScope: Sendable {
  package let columns: [String]
  package let keys: KeyIndex
}
