import CMalloc
import SyncEngine

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A program that syncs: its entities and stores, with the whole command line around them.
///
/// ```swift
/// @main
/// struct Main: SyncCommand {
///   static let entities: [any Entity.Type] = [Book.self]
///   static let stores: [any Store.Type] = [SQLite.self]
/// }
/// // $ main once
/// // book: 5 records, 5 inserted, 0 updated, 0 unchanged, 0 deleted (1 page, 12 ms)
/// ```
public protocol SyncCommand {
  /// What can be synced.
  static var entities: [any Entity.Type] { get }
  /// Where it can be kept. A program links the database libraries of the stores that it names, and no others.
  static var stores: [any Store.Type] { get }
  /// What `--version` says.
  static var version: String { get }
  /// Variables of the program's own that begin with `SYNCD_`, so that they are not warned about.
  static var ownVariables: [String] { get }
}

extension SyncCommand {
  public static var version: String { syncdVersion }
  public static var ownVariables: [String] { [] }

  public static func main() async {
    // Threads are few and pages large: 2,000,000 rows take 10 MB less, in the same time.
    cmalloc_use_one_heap()
    let status = await run(Array(CommandLine.arguments.dropFirst()))
    exit(status.rawValue)
  }

  /// Runs the command line and returns the exit status.
  static func run(_ arguments: [String]) async -> ExitStatus {
    let console = Console()
    do {
      let invocation = try Invocation(parsing: arguments)
      switch invocation.action {
      case .help(let command):
        console.write(Help.text(for: command))
        return .done
      case .version:
        console.write("\(programName) \(version)")
        return .done
      case .command(.config):
        return try ConfigCommand(entities, invocation, ownVariables: ownVariables, console).run()
      case .command(.completions):
        let completions = Completions(program: programName, entities: entities.map { $0.name })
        console.write(completions.script(for: invocation.operand.flatMap(Completions.Shell.init) ?? .bash))
        return .done
      case .command(.manual):
        console.write(Manual(program: programName, version: version, entities: entities.map { $0.name }).text)
        return .done
      case .command(.doctor):
        let doctor = try DoctorCommand(
          entities: entities, stores: stores, invocation: invocation, ownVariables: ownVariables,
          console: console)
        let task = Task { await doctor.run() }
        let signals = SignalTrap(lateStatus: { 128 + $0 }) { task.cancel() }
        let status = await task.value
        return signals.received.map { .signal($0) } ?? status
      case .command(let command):
        let (entities, stores, ownVariables) = (entities, stores, ownVariables)
        let make: @Sendable () throws -> Program = {
          try Program(
            entities: entities, stores: stores, invocation: invocation, ownVariables: ownVariables,
            console: console)
        }
        return await Self.run(command, try make(), again: make)
      }
    } catch let error as UsageError {
      console.complain("\(error.description)\nSee '\(programName) --help'.")
      return .usage
    } catch {
      console.complain("\(error)")
      return .usage
    }
  }

  /// - Parameter again: reads the configuration anew.
  private static func run(
    _ command: CommandName, _ program: Program, again: @escaping @Sendable () throws -> Program
  ) async -> ExitStatus {
    let isService = command == .watch
    let watch = WatchCommand(program, version: version, again: again)
    let console = program.console
    // It begins when signals are heard.
    let (start, begin) = AsyncStream<Void>.makeStream()
    let task = Task { () -> ExitStatus in
      for await _ in start { break }
      return switch command {
      case .once: await OnceCommand(program).run()
      case .watch: await watch.run()
      case .plan: await PlanCommand(program).run()
      case .check: await CheckCommand(program).run()
      case .status: await StatusCommand(program).run()
      case .schema: SchemaCommand(program).run()
      case .explain: await ExplainCommand(program).run()
      case .get: await GetCommand(program).run()
      case .rejects: await RejectsCommand(program).run()
      case .rebuild: await RebuildCommand(program).run()
      case .backup: await BackupCommand(program, to: program.file ?? "").run()
      // Answered before there is a program.
      case .config, .completions, .manual, .doctor: .done
      }
    }
    let hangup: @Sendable () -> Void = {
      // A terminal that was closed, rather than an administrator.
      if console.isErrorTerminal && isatty(2) == 0 { task.cancel() } else { watch.reload() }
    }
    let signals = SignalTrap(
      others: isService ? [SIGHUP: hangup, SIGUSR1: watch.syncNow] : [:],
      lateStatus: { isService ? 0 : 128 + $0 }
    ) { task.cancel() }
    begin.finish()
    let status = await task.value
    if !isService { await program.store.close() }
    guard let signal = signals.received else { return status }
    // A service was told to stop, and did. A command that was stopped did not do its work.
    if isService { return .done }
    program.console.complain(
      "stopped by signal \(signal); what was under way was given up, and its table is as before")
    return .signal(signal)
  }
}

/// The version of the engine and its command line.
public let syncdVersion = "0.1.0"

/// The name that the program was called by.
let programName =
  CommandLine.arguments.first.map { String($0.split(separator: "/").last ?? "syncd") } ?? "syncd"
