import SyncEngine

/// `get`: the first rows of a source as they would be stored, as JSON lines; nothing written.
struct GetCommand {
  private let program: Program

  init(_ program: Program) { self.program = program }

  func run() async -> ExitStatus {
    var statuses: [ExitStatus] = []
    for entity in program.entities {
      do {
        let sample = try await program.engine.rows(of: entity, limit: program.limit)
        for row in sample.rows {
          let members = zip(sample.columns, row).compactMap { column, value in
            value.map { "\(jsonText(column.name)):\($0.json(as: column.type))" }
          }
          program.console.write("{\(members.joined(separator: ","))}")
        }
        if sample.badRecords > 0 {
          program.console.complain(
            "\(entity.name): \(sample.badRecords) bad records of these pages are left out")
        }
        if !sample.tablesLeftOut.isEmpty {
          program.console.complain(
            "\(entity.name): not shown are rows of \(sample.tablesLeftOut.joined(separator: ", "))")
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
