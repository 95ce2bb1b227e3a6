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
  ///   - largest: the largest count of rows in scope in the last 24 hours, so that many small deletions do not add up
  ///     to what one must not be.
  ///   - isAnswerEmpty: whether the source returned no record at all.
  ///   - allowed: so many deletions a person has allowed for this run, whatever else holds.
  public func check(
    deleting deleted: Int, of rows: Int, largest: Int = 0, isAnswerEmpty: Bool, allowed: Int? = nil
  ) throws(GuardRefusal) {
    guard deleted > 0 else { return }
    if let allowed {
      if deleted <= allowed { return }
      throw GuardRefusal(deleted: deleted, rows: rows, rule: "more than the \(allowed) that are allowed")
    }
    if isAnswerEmpty {
      if !allowEmpty {
        throw GuardRefusal(deleted: deleted, rows: rows, rule: "the source returned no record at all")
      }
      return
    }
    let base = max(rows, largest)
    let gone = base - rows + deleted
    // The quotient is compared, not a product: 29 of 100 is the same double as 0.29, and 0.29 × 100 is not 29.
    guard rows < 1 || Double(gone) / Double(base) > share else { return }
    let percent = (gone * 100 + max(base, 1) - 1) / max(base, 1)
    let allowedShare = (share * 10_000).rounded() / 100
    let limit = allowedShare == allowedShare.rounded() ? "\(Int(allowedShare))" : "\(allowedShare)"
    let rule =
      base > rows
      ? "with what was deleted before, \(percent)% of the \(base) rows of the last 24 hours, and the guard allows \(limit)%"
      : "\(percent)% of the rows, and the guard allows \(limit)%"
    throw GuardRefusal(deleted: deleted, rows: rows, rule: rule)
  }

  /// Whether the deletion would be refused but for what is allowed: then the count begins anew.
  package func isExceeded(deleting deleted: Int, of rows: Int, largest: Int) -> Bool {
    do {
      try DeletionGuard(share: share, allowEmpty: false).check(
        deleting: deleted, of: rows, largest: largest, isAnswerEmpty: false)
      return false
    } catch { return true }
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
  package private(set) var seen: KeyIndex
  /// The rows that count. Nil is the whole table.
  package let scope: DeletionScope?
  package let bound: DeletionGuard
  package var isAnswerEmpty: Bool { seen.count == 0 }
  /// In how many runs in a row, this one counted, a row has to be missing.
  package let runs: Int
  /// The column that takes the time of the run in place of a removal.
  package let mark: String?
  /// So many deletions a person has allowed.
  package let allowed: Int?

  /// Nil where the proof is not enough for deletion yet.
  init?(
    proof: ProofOfCompleteness, seen: KeyIndex, scope: DeletionScope?, policy: DeletionPolicy, mark: String?,
    allowed: Int?
  ) {
    guard proof.armsDeletion else { return nil }
    (self.seen, self.scope, bound) = (seen, scope, policy.bound)
    (runs, self.mark, self.allowed) = (policy.runs, mark, allowed)
  }

  /// Adds what a slice has seen; false where that is not known.
  mutating func spare(_ slice: SliceRecord, _ owners: inout KeyIndex) -> Bool {
    slice.keys.map { SliceKeys.read($0, rows: &seen, owners: &owners) } ?? false
  }
}

/// The deletion of rows which the source says are gone, key by key: that needs no proof, but is under the guard too.
public struct StatedDeletion: Sendable {
  package let keys: KeyIndex
  package let bound: DeletionGuard
  package let mark: String?
  package let allowed: Int?
}

/// The rows that a deletion judges: those of which all of it holds.
public struct DeletionScope: Sendable {
  package enum Condition: Sendable {
    case equal(column: String, StoredValue)
    case isNull(column: String)
    /// An expression in the language of the store.
    case sql(String)
  }

  package var conditions: [Condition] = []
  /// Columns that hold one of the keys.
  package var columns: [String] = []
  package var keys = KeyIndex()
}
