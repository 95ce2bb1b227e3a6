import SyncEngine

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A checked program: its configuration, store and engine, and the entities that this call is about.
struct Program: Sendable {
  let configuration: Configuration
  let store: any Store
  let engine: Engine
  let entities: [any Entity.Type]
  let console: Console
  let dropsColumns: Bool
  /// Whether each changed row of a run is told.
  let tellsChanges: Bool
  /// Whether all entities are written in one transaction.
  let isAtomic: Bool
  /// What a person needs to see the status page; nil where nothing is asked for.
  let siteToken: String?
  /// How many records `get` shows, or runs `status`.
  let limit: Int
  /// Whether `status` shows single runs.
  let showsRuns: Bool
  /// The file of a command that takes one.
  let file: String?

  /// - Throws: `UsageError`, `DeclarationError` or `StoreError`, before any request.
  init(
    entities all: [any Entity.Type], stores: [any Store.Type], invocation: Invocation, ownVariables: [String],
    console: Console
  ) throws {
    let names = all.map { $0.name }
    configuration = try Configuration(
      invocation, environment: Self.environment(),
      names: Configuration.Names(entities: all, ownVariables: ownVariables))
    for warning in configuration.warnings { console.complain("warning: \(warning)") }
    store = try Self.open(configuration.store, stores, StoreOptions(busyLimit: configuration.busy))
    engine = Engine(
      store: store,
      options: Engine.Options(
        urls: configuration.urls, rates: configuration.rates, wait: configuration.wait,
        asksInFull: invocation[.full] != nil,
        allowedDeletions: try Self.number(invocation, .allowDeletes),
        resumes: invocation[.noResume] == nil, memory: configuration.memory,
        sharesRates: configuration.isShared))
    self.console = console
    dropsColumns = invocation[.dropColumns] != nil
    tellsChanges = invocation[.changes] != nil
    isAtomic = invocation[.atomic] != nil
    limit = try Self.number(invocation, .limit) ?? 10
    siteToken = try Self.siteToken(invocation, configuration, engine)
    showsRuns = invocation[.runs] != nil
    file = invocation.operand

    try Self.demandEntities(invocation.entities, among: names)
    let disabled = configuration.disabled
    let chosen = all.filter { entity in
      invocation.entities.isEmpty
        ? !disabled.contains(entity.name) : invocation.entities.contains(entity.name)
    }
    self.entities = engine.withDeclarations { Engine.parentsFirst(chosen) }
    try engine.prepare(all, needingSecrets: Self.needsSecrets(invocation) ? chosen : [])
    if chosen.isEmpty, file == nil { throw UsageError("every entity is disabled in the configuration") }
  }

  static func demandEntities(_ given: [String], among names: [String]) throws {
    for name in given where !names.contains(name) {
      throw UsageError(
        "there is no entity \"\(name)\"\(hint(name, among: names)); there are \(names.joined(separator: ", "))"
      )
    }
  }

  /// - Throws: `UsageError` for an address that a service could not listen on, and a secret that is not there.
  private static func siteToken(
    _ invocation: Invocation, _ configuration: Configuration, _ engine: Engine
  ) throws -> String? {
    guard case .command(.watch) = invocation.action, !configuration.http.isEmpty else { return nil }
    var token: String?
    do { token = try configuration.httpToken?.resolve() } catch {
      throw UsageError("\"http_token\": \(error.message)")
    }
    if let token { engine.redactor.add(token) }
    _ = try SiteAccess(ListenAddress(configuration.http), token: token)
    return token
  }

  private static func number(_ invocation: Invocation, _ option: CommandOption) throws -> Int? {
    guard let text = invocation[option] else { return nil }
    guard let number = Int(text), number > 0 else {
      throw UsageError("\(option.rawValue) needs a number from 1 on: \(option.rawValue) 10")
    }
    return number
  }

  private static func needsSecrets(_ invocation: Invocation) -> Bool {
    switch invocation.action {
    case .command(.status), .command(.schema), .command(.rejects), .command(.rebuild), .command(.backup):
      false
    default: true
    }
  }

  /// The store that takes the location: by its scheme, or for a plain path the one that takes paths.
  static func open(
    _ location: String, _ stores: [any Store.Type], _ options: StoreOptions
  ) throws -> any Store {
    let head = location.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
    let hasScheme = head.count > 1 && location.dropFirst(head.count).hasPrefix(":")
    let scheme = hasScheme ? head.lowercased() : ""
    guard let store = stores.first(where: { $0.schemes.contains(scheme) }) else {
      let linked = stores.flatMap { $0.schemes }.map { $0.isEmpty ? "a path" : "\($0):…" }
      throw UsageError(
        "no linked store opens \(hasScheme ? "\(scheme):…" : "a path"); this program links \(linked.joined(separator: ", "))"
      )
    }
    return try store.open(location, options: options)
  }

  static func environment() -> [String: String] {
    var variables: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
      let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
      entry += 1
    }
    return variables
  }
}
