import SyncEngine

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The configuration: whether it can be read, and who may write it.
enum ConfigurationCheck {
  /// - Returns: the configuration, or what stands for one that cannot be read; then the store is known only where an option
  ///   or variable says it, and the addresses of APIs are not.
  static func run(
    _ invocation: Invocation, entities: [any Entity.Type], ownVariables: [String]
  ) -> (Configuration, knowsStore: Bool, knowsAddresses: Bool, [Finding]) {
    let environment = Program.environment()
    let given = invocation[.config] ?? environment["SYNCD_CONFIG"]
    let paths = given.map { [$0] } ?? Configuration.defaultPaths
    var findings = [paths.lazy.compactMap { file($0) }.first].compactMap(\.self)
    do {
      let configuration = try Configuration(
        invocation, environment: environment,
        names: Configuration.Names(entities: entities, ownVariables: ownVariables))
      findings += configuration.warnings.map {
        Finding(.warning, "configuration", $0, advice: "correct the name, or unset the variable")
      }
      if findings.isEmpty {
        findings.append(Finding(.ok, "configuration", "no file; variables, options and what is usual"))
      }
      return (configuration, true, true, findings)
    } catch {
      var configuration = Configuration()
      let store = invocation[.store] ?? environment["SYNCD_STORE"]
      configuration.store = store ?? configuration.store
      if invocation[.json] != nil || invocation[.logFormat] == "json" { configuration.logFormat = .json }
      if invocation[.quiet] != nil { configuration.logLevel = .warning }
      findings.removeAll { $0.level == .ok }
      findings.append(
        Finding(
          .failure, "configuration", "\(error)",
          advice: store == nil
            ? "correct it, then look again: until then nothing runs, and where the store and the APIs are is not known (--store LOCATION looks at one)"
            : "correct it, then look again: until then nothing runs, and the addresses of the APIs are not known"
        ))
      return (configuration, store != nil, false, findings)
    }
  }

  /// Nil where there is no file.
  private static func file(_ path: String) -> Finding? {
    var information = stat()
    guard stat(path, &information) == 0 else { return nil }
    let isOwn = information.st_uid == geteuid() || information.st_uid == 0
    let others = [
      information.st_mode & S_IWGRP != 0 ? "its group" : nil,
      information.st_mode & S_IWOTH != 0 ? "everyone" : nil,
    ].compactMap(\.self)
    if isOwn, others.isEmpty { return Finding(.ok, "configuration", "\(path), which nobody else may write") }
    let owner =
      getpwuid(information.st_uid).map { String(cString: $0.pointee.pw_name) } ?? "\(information.st_uid)"
    let reason =
      others.isEmpty
      ? "belongs to \(owner), who is not the user of this program"
      : "may be written by \(others.joined(separator: " and "))"
    return Finding(
      .warning, "configuration",
      "\(path) \(reason): whoever writes it decides what this program asks and where",
      advice: "chown it to root or to the program's user, and chmod go-w \(path)")
  }
}
