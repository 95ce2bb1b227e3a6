import SyncEngine

/// `check`: one page of each source, nothing written.
struct CheckCommand {
  private let program: Program

  init(_ program: Program) { self.program = program }

  func run() async -> ExitStatus {
    var statuses: [ExitStatus] = []
    for entity in program.entities {
      if Task.isCancelled { break }
      do {
        let (records, absent) = try await program.engine.check(entity)
        var line = "\(entity.name): ok, \(records) \(records == 1 ? "record" : "records") on the first page"
        if !absent.isEmpty {
          line += "; none of them has a value for \(absent.map { "\"\($0)\"" }.joined(separator: ", "))"
        }
        program.console.write(line)
        for (table, differences) in try await program.engine.differences(of: entity) {
          program.console.write(
            "\(entity.name): the table \"\(table)\" differs from the declaration, which '\(programName) rebuild \(entity.name)' changes: \(differences.joined(separator: "; "))"
          )
        }
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
