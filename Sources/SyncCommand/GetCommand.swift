import SyncEngine

/// `get`: the first rows of a source as they would be stored, as JSON lines; nothing written.
struct GetCommand {
  private let program: Program

  init(_ program: Program) { self.program = program }

  func run() async -> ExitStatus {
    var statuses: [ExitStatus] = []
    for entity in program.entities {
      do {
        let (columns, rows) = try await program.engine.rows(of: entity, limit: program.limit)
        for row in rows {
          let members = zip(columns, row).compactMap { column, value in
            value.map { "\(jsonText(column.name)):\($0.json(as: column.type))" }
          }
          program.console.write("{\(members.joined(separator: ","))}")
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
