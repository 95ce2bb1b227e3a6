import SyncEngine

/// `doctor`: all that keeps runs from working, or soon will, and what to do about each.
///
/// It needs no whole program: a configuration that cannot be read, a secret that is not set or a damaged store is what it
/// tells of.
struct DoctorCommand {
  private let entities: [any Entity.Type]
  private let stores: [any Store.Type]
  private let invocation: Invocation
  private let ownVariables: [String]
  private let console: Console

  /// - Throws: `UsageError` for an entity that is not there.
  init(
    entities: [any Entity.Type], stores: [any Store.Type], invocation: Invocation, ownVariables: [String],
    console: Console
  ) throws {
    (self.entities, self.stores, self.invocation) = (entities, stores, invocation)
    (self.ownVariables, self.console) = (ownVariables, console)
    try Program.demandEntities(invocation.entities, among: entities.map { $0.name })
  }

  func run() async -> ExitStatus {
    let (configuration, knowsStore, knowsAddresses, found) = ConfigurationCheck.run(
      invocation, entities: entities, ownVariables: ownVariables)
    let report = FindingReport(console, configuration)
    report.add(found)
    if knowsAddresses { report.add(await ServiceCheck.run(configuration)) }
    let chosen = entities.filter { entity in
      invocation.entities.isEmpty
        ? !configuration.disabled.contains(entity.name) : invocation.entities.contains(entity.name)
    }
    let apis = APIUnderCheck.all(of: chosen, urls: configuration.urls)

    // Where the configuration cannot be read, nobody knows which store is meant.
    if knowsStore {
      await lookAtStore(configuration, chosen, apis, report)
    } else {
      for api in apis { report.add(SecretCheck.run(api, engine: nil, all: entities)) }
    }
    report.add(DiskCheck.waitingRows(storePath: configuration.store))
    for api in apis { report.add(CertificateCheck.files(of: api)) }
    report.add(ClockCheck.kernel())
    if knowsAddresses, invocation[.offline] == nil, !Task.isCancelled {
      console.show(["asking \(apis.count) \(apis.count == 1 ? "API" : "APIs") …"])
      let answers = await APIAnswer.ask(apis)
      if !Task.isCancelled {
        for answer in answers { report.add(answer.findings) }
        report.add(ClockCheck.compare(answers))
      }
    }
    return report.finish()
  }

  private func lookAtStore(
    _ configuration: Configuration, _ chosen: [any Entity.Type], _ apis: [APIUnderCheck],
    _ report: FindingReport
  ) async {
    let store: any Store
    do {
      store = try Program.open(
        configuration.store, stores, StoreOptions(busyLimit: min(configuration.busy, .seconds(5))))
    } catch {
      report.add([
        Finding(
          .failure, "store", "\(error)",
          advice: "correct \"store\" in the configuration, SYNCD_STORE or --store, or create the folder")
      ])
      for api in apis { report.add(SecretCheck.run(api, engine: nil, all: entities)) }
      return
    }
    let engine = Engine(
      store: store,
      options: Engine.Options(
        urls: configuration.urls, rates: configuration.rates, memory: configuration.memory))
    let declarations = EntityCheck.declarations(entities, engine)
    report.add(declarations)
    for api in apis { report.add(SecretCheck.run(api, engine: engine, all: entities)) }
    if configuration.isShared, store.workQueue(worker: "", lease: configuration.lease) == nil {
      report.add([
        Finding(
          .failure, "sharing", "the store \(store.location) is one machine's, and \"shared\" is true",
          advice:
            "choose a store on a server (postgresql://…), or leave \"shared\" out: until then 'watch' does not start"
        )
      ])
    }
    console.show(["looking at the store …"])
    let isDeclared = declarations.allSatisfy { $0.level == .ok }
    let schemas = isDeclared ? chosen.flatMap { (try? engine.tables(of: $0)) ?? [] } : []
    var journals: [String: Int64] = [:]
    for entity in entities { journals[entity.name] = entity.journalValidity }
    let found = await store.examine(
      StoreExamination(
        isQuick: invocation[.quick] != nil, tables: schemas.map(\.name), journals: journals,
        now: Timestamp.now))
    report.add(found)
    let isReadable = !found.contains { $0.subject == "store" && $0.level == .failure }
    if isDeclared, isReadable, !Task.isCancelled {
      report.add(await EntityCheck.tables(of: chosen, engine))
      report.add(await EntityCheck.runs(of: chosen, store, configuration))
    }
    await store.close()
  }
}
