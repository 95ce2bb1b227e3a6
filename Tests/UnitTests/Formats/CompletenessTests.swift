import TestSupport
import Testing

@testable import SyncEngine

/// Proofs of completeness, and the bound on deletions.
@Suite(.once)
struct CompletenessTests {
  private func proof(mayShift: Bool, confirming first: ProofOfCompleteness? = nil) throws
    -> ProofOfCompleteness
  {
    var ledger = WalkLedger(mayShift: mayShift)
    ledger.beginPart()
    ledger.endPart(.proven)
    guard case .proven(let proof) = ledger.outcome(confirming: first) else { throw Doubted() }
    return proof
  }

  private struct Doubted: Error {}

  @Test("one open part or one doubt leaves the whole unproven")
  func ledger() {
    var ledger = WalkLedger(mayShift: false)
    for _ in 0..<3 { ledger.beginPart() }
    for _ in 0..<2 { ledger.endPart(.proven) }
    #expect(ledger.outcome().doubts.count == 1)
    ledger.endPart(.unproven("a short page"))
    #expect(ledger.outcome().doubts.map(\.description) == ["a short page"])
    ledger.doubt("a short page")
    ledger.doubt("a bad record")
    #expect(ledger.outcome().doubts.map(\.description) == ["a short page", "a bad record"])
  }

  @Test("pages that shift need two walks that agree")
  func twoWalks() throws {
    let first = try proof(mayShift: true)
    #expect(first.walks == 1 && !first.armsDeletion)
    let second = try proof(mayShift: true, confirming: first)
    #expect(second.walks == 2 && second.armsDeletion)
    #expect(try proof(mayShift: false).armsDeletion)
    let bound = DeletionGuard(share: 1, allowEmpty: true)
    for (proof, isArmed) in [(first, false), (second, true)] {
      let deletion = ArmedDeletion(
        proof: proof, seen: KeyIndex(), scope: nil, policy: DeletionPolicy(isByAbsence: true, bound: bound),
        mark: nil, allowed: nil)
      #expect((deletion != nil) == isArmed)
    }
  }

  @Test("exactly the share passes, one row more does not")
  func share() throws {
    var refused: [String] = []
    for percent in 0...100 {
      // The share as a declaration writes it: 0.29, not 29 / 100 of something else.
      let share = try #require(Double("\(percent)e-2"))
      let bound = DeletionGuard(share: share, allowEmpty: false)
      for rows in [100, 200, 300, 700, 1000, 123_400] {
        let most = rows / 100 * percent
        do {
          try bound.check(deleting: most, of: rows, isAnswerEmpty: false)
        } catch { refused.append("\(most) of \(rows) with \(share)") }
        guard most < rows else { continue }
        #expect(throws: GuardRefusal.self) {
          try bound.check(deleting: most + 1, of: rows, isAnswerEmpty: false)
        }
      }
    }
    #expect(refused.isEmpty, "\(refused)")
  }

  @Test("a refusal tells the share that is declared")
  func message() throws {
    var wrong: [String] = []
    for percent in 0..<100 {
      let bound = DeletionGuard(share: try #require(Double("\(percent)e-2")), allowEmpty: false)
      let error = #expect(throws: GuardRefusal.self) {
        try bound.check(deleting: 9, of: 9, isAnswerEmpty: false)
      }
      let text = error?.description ?? ""
      if !text.contains("100% of the rows, and the guard allows \(percent)%") { wrong.append(text) }
    }
    #expect(wrong.isEmpty, "\(wrong)")
  }

  @Test("an empty answer is judged by its own rule")
  func emptyAnswer() throws {
    for share in [0, 0.5, 1] {
      let (closed, open) = (
        DeletionGuard(share: share, allowEmpty: false), DeletionGuard(share: share, allowEmpty: true)
      )
      #expect(throws: GuardRefusal.self) { try closed.check(deleting: 1, of: 1000, isAnswerEmpty: true) }
      try closed.check(deleting: 0, of: 0, isAnswerEmpty: true)
      try open.check(deleting: 1000, of: 1000, isAnswerEmpty: true)
    }
  }
}
