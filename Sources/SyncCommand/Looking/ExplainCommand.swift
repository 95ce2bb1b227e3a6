import SyncEngine

/// `explain`: every request of a walk and what became of it, nothing written.
struct ExplainCommand {
  private let program: Program

  init(_ program: Program) { self.program = program }

  func run() async -> ExitStatus {
    var statuses: [ExitStatus] = []
    for entity in program.entities {
      do {
        let console = program.console
        let (records, doubts) = try await program.engine.explain(entity) { progress in
          if let step = progress.step { console.write("\(entity.name): \(step.line)") }
          if let retry = progress.retry { console.write("\(entity.name): \(retry)") }
        }
        let verdict =
          doubts.isEmpty ? "proven complete" : "not proven complete: \(doubts.joined(separator: "; "))"
        program.console.write("\(entity.name): \(grouped(records)) records, \(verdict)")
      } catch is CancellationError {
        break
      } catch {
        program.console.complain("\(error)")
        statuses.append(.failed)
      }
    }
    return .of(statuses)
  }
}

extension WalkStep {
  /// `page 1: GET http://… → 200, 3 ms, 1,234 bytes, 50 records (50 new); next: page=2`
  var line: String {
    var text =
      "page \(page): \(method) \(url) → \(status), \(duration.readable), \(grouped(bytes)) bytes"
    if attempts > 1 { text += ", \(attempts) attempts" }
    text += ", \(grouped(records)) records (\(grouped(newRecords)) new)"
    return decision.isEmpty ? text : "\(text); \(decision)"
  }
}
