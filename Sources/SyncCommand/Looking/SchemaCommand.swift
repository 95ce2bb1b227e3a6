import SyncEngine

/// `schema`: the statements that create the tables.
struct SchemaCommand {
  private let program: Program

  init(_ program: Program) { self.program = program }

  func run() -> ExitStatus {
    for entity in program.entities {
      do {
        for sql in try program.engine.definitions(of: entity) { program.console.write(sql + ";") }
      } catch {
        program.console.complain("\(error)")
        return .usage
      }
    }
    return .done
  }
}
