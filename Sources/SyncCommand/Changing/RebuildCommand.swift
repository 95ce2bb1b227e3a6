import SyncEngine

/// `rebuild`: the tables become what the declarations ask for.
struct RebuildCommand {
  private let program: Program

  init(_ program: Program) { self.program = program }

  func run() async -> ExitStatus {
    var statuses: [ExitStatus] = []
    for entity in program.entities {
      do {
        let done = try await program.engine.rebuild(entity, droppingColumns: program.dropsColumns)
        if done.isEmpty { program.console.write("\(entity.name): nothing to change") }
        for rebuild in done {
          program.console.write(
            "\(rebuild.table): rebuilt with \(rebuild.rows) \(rebuild.rows == 1 ? "row" : "rows"); what differed: \(rebuild.changes.joined(separator: "; "))"
          )
        }
      } catch let error as SyncError where error.kind == .busy {
        program.console.complain("\(error)")
        statuses.append(.busy)
      } catch {
        program.console.complain("\(error)")
        statuses.append(.failed)
      }
    }
    return .of(statuses)
  }
}
