/// Why a walk, though it failed nowhere, does not prove that the source was seen whole.
public struct Doubt: Sendable, Hashable, CustomStringConvertible {
  public let description: String
  init(_ description: String) { self.description = description }
}

/// How a walk that did not fail ended.
public enum WalkOutcome: Sendable {
  /// Rows are committed; nothing is deleted.
  case unproven([Doubt])
  /// Everything is committed, deletions too.
  case proven(ProofOfCompleteness)

  var doubts: [Doubt] { if case .unproven(let doubts) = self { doubts } else { [] } }
}

/// The proof that a walk saw all that the source has. Whoever deletes asks for one.
///
/// Only this file can make one, out of a ``WalkLedger`` without doubts whose every part ended by proof, or of slices that
/// all have one.
public struct ProofOfCompleteness: Sendable {
  /// Walks that agree. Pages that shift need two of them before anything is deleted.
  public let walks: Int
  /// Whether rows could have moved between pages unseen while a walk went on.
  let mayShift: Bool

  fileprivate init(walks: Int, mayShift: Bool) { (self.walks, self.mayShift) = (walks, mayShift) }

  /// Nil unless each slice of a generation was proven to be complete since it began. What shifts inside of a slice was
  /// walked again by its own run.
  init?(_ generation: SliceGeneration) {
    guard generation.slices > 0, generation.done == generation.slices,
      generation.proven == generation.slices
    else { return nil }
    self.init(walks: 1, mayShift: false)
  }

  /// Whether absence from the walks means absence from the source.
  var armsDeletion: Bool { !mayShift || walks >= 2 }
}

/// What a walk learns about its own completeness.
struct WalkLedger: Sendable {
  private var doubts: [Doubt] = []
  private var partsBegun = 0
  private var partsProven = 0
  /// Whether rows could move between pages unseen while the walk goes on.
  var mayShift: Bool

  init(mayShift: Bool) { self.mayShift = mayShift }

  mutating func doubt(_ reason: String) {
    let doubt = Doubt(reason)
    if !doubts.contains(doubt) { doubts.append(doubt) }
  }

  /// A walk over the pages begins, one of several where the source has parents.
  mutating func beginPart() { partsBegun += 1 }

  mutating func endPart(_ end: PageEnd) {
    switch end {
    case .proven: partsProven += 1
    case .unproven(let reason): doubt(reason)
    }
  }

  /// - Parameter first: the proof of an earlier walk of the same run, which this one confirms.
  func outcome(confirming first: ProofOfCompleteness? = nil) -> WalkOutcome {
    guard doubts.isEmpty else { return .unproven(doubts) }
    guard partsProven == partsBegun else { return .unproven([Doubt("the end of the pages was not reached")]) }
    return .proven(ProofOfCompleteness(walks: 1 + (first?.walks ?? 0), mayShift: mayShift))
  }
}
