import SyncEngine

/// `backup`: a copy of the store, while runs go on.
struct BackupCommand {
  private let program: Program
  private let file: String

  init(_ program: Program, to file: String) { (self.program, self.file) = (program, file) }

  private struct Line: Encodable {
    var file: String
    var bytes: Int64
  }

  func run() async -> ExitStatus {
    let begun = ContinuousClock.now
    program.console.show(["copying \(program.store.location) …"])
    do {
      let backup = try await program.store.backUp(to: file)
      program.console.show([])
      if program.configuration.logFormat == .json {
        program.console.write(jsonLine(Line(file: backup.file, bytes: backup.bytes)))
      } else if program.configuration.logLevel >= .info {
        program.console.write(
          "\(backup.file): \(readableSize(backup.bytes)), checked (\(begun.duration(to: .now).readable))")
      }
      return .done
    } catch {
      program.console.show([])
      // The signal that came is told elsewhere.
      if !(error is CancellationError) { program.console.complain("\(error)") }
      return .failed
    }
  }
}
