import SyncEngine

/// `rejects`: the records that runs left out as bad.
struct RejectsCommand {
  private let program: Program

  init(_ program: Program) { self.program = program }

  private struct Line: Encodable {
    var run, entity: String
    var page, position: Int
    var key, field, path: String?
    var reason, record: String
  }

  func run() async -> ExitStatus {
    let rejects: [Reject]
    do { rejects = try await program.store.rejects(of: program.entities.map { $0.name }) } catch {
      program.console.complain("\(error)")
      return .failed
    }
    if program.configuration.logFormat == .json {
      for reject in rejects {
        let record = reject.record
        program.console.write(
          jsonLine(
            Line(
              run: reject.run, entity: reject.entity, page: record.page, position: record.position,
              key: record.key, field: record.column, path: record.path, reason: record.reason,
              record: record.record)))
      }
    } else if rejects.isEmpty {
      program.console.write("no record was left out")
    } else {
      program.console.write(
        TextTable.text(
          ["RUN", "ENTITY", "PAGE", "POSITION", "KEY", "FIELD", "REASON"],
          rejects.map { reject in
            let record = reject.record
            return [
              reject.run, reject.entity, "\(record.page)", "\(record.position)", record.key ?? "",
              record.column ?? "", record.reason,
            ]
          }, numbers: [2, 3]))
    }
    return .done
  }
}
