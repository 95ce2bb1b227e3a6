import FoundationEssentials
import HTTP
import Synchronization

/// Syncs entities into a store.
///
/// ```swift
/// let engine = Engine(store: try SQLite.open("books.sqlite"))
/// let report = try await engine.sync(Book.self)
/// print(report.inserted)
/// ```
public final class Engine: Sendable {
  public struct Options: Sendable {
    /// Addresses that replace those of the APIs, by the API's name.
    public var urls: [String: String]
    /// Rates that replace those of the APIs, by the API's name.
    public var rates: [String: API.Rate]
    /// How long a run waits for another one that holds its table.
    public var wait: Duration
    /// Whether all pages are asked for in full, whatever is known of them.
    public var asksInFull: Bool
    /// A person's word that each run may delete so many rows, whatever the guard says.
    public var allowedDeletions: Int?
    /// Whether a run takes the pages that one before it had read when it was ended.
    public var resumes: Bool
    /// Whether the rates of APIs hold for all programs that use the store together.
    public var sharesRates: Bool
    /// Bytes of rows and keys that a run holds in memory until the commit, the largest page aside; further rows wait in a
    /// file without a name, in the folder of `TMPDIR` or in `/var/tmp`.
    public var memory: Int

    public init(
      urls: [String: String] = [:], rates: [String: API.Rate] = [:], wait: Duration = .seconds(60),
      asksInFull: Bool = false, allowedDeletions: Int? = nil, resumes: Bool = true, memory: Int = 64 << 20,
      sharesRates: Bool = false
    ) {
      (self.resumes, self.memory, self.sharesRates) = (resumes, memory, sharesRates)
      (self.urls, self.rates, self.wait, self.asksInFull) = (urls, rates, wait, asksInFull)
      self.allowedDeletions = allowedDeletions
    }
  }

  public let store: any Store
  public let options: Options
  /// Knows the secrets of all entities that were prepared.
  public let redactor = Redactor()
  let transport: any Transport
  private let mappings = DeclaredMappings()
  private let plans = Mutex<[ObjectIdentifier: EntityPlan]>([:])
  private let prepared = Mutex<[ObjectIdentifier: Prepared]>([:])
  private let credentials: Credentials
  private let limiters = Mutex<[String: RateLimiter]>([:])
  private let breakers = Mutex<[String: CircuitBreaker]>([:])
  let observers = Mutex<[Int: AsyncStream<[RowChange]>.Continuation]>([:])

  struct Prepared: Sendable {
    var plan: EntityPlan
    var authorizer: Authorizer
    var client: HTTPClient
  }

  public init(store: any Store, options: Options = Options(), transport: any Transport = CurlTransport()) {
    (self.store, self.options, self.transport) = (store, options, transport)
    credentials = Credentials(redactor: redactor, store: store, wait: options.wait)
  }

  // MARK: Checking declarations

  /// Runs `body`, in which each entity is asked once at most for what it declares.
  package func withDeclarations<R>(_ body: () throws -> R) rethrows -> R {
    try DeclaredMappings.$current.withValue(mappings, operation: body)
  }

  func plan(of entity: any Entity.Type) throws -> EntityPlan {
    let id = ObjectIdentifier(entity)
    if let known = plans.withLock({ $0[id] }) { return known }
    let plan = try withDeclarations { try EntityPlan.erased(entity, urls: options.urls) }
    plans.withLock { $0[id] = plan }
    return plan
  }

  /// What was declared to this engine so far.
  var declaredPlans: [EntityPlan] { plans.withLock { Array($0.values) } }

  /// Checks the declarations of a whole program and reads its secrets. Nothing is asked or written.
  ///
  /// - Parameter needingSecrets: the entities whose secrets have to be there; all by default.
  /// - Throws: ``DeclarationError`` for the first one that cannot work.
  public func prepare(_ entities: [any Entity.Type], needingSecrets running: [any Entity.Type]? = nil) throws
  {
    var plans: [EntityPlan] = []
    for entity in entities { plans.append(try plan(of: entity)) }
    try EntityListValidator.validate(plans)
    for entity in running ?? entities { _ = try prepared(entity) }
  }

  /// The entities in an order in which parents come before their children, and what is referred to before what refers.
  public static func parentsFirst(_ entities: [any Entity.Type]) -> [any Entity.Type] {
    var ordered: [any Entity.Type] = []
    var visited: Set<ObjectIdentifier> = []
    func visit(_ entity: any Entity.Type) {
      guard visited.insert(ObjectIdentifier(entity)).inserted else { return }
      let first = needs(of: entity)
      for other in entities where first.contains(ObjectIdentifier(other)) { visit(other) }
      ordered.append(entity)
    }
    for entity in entities { visit(entity) }
    return ordered
  }

  /// What has to have its rows before the entity can have its own: its parents, and what it refers to.
  private static func needs(of entity: any Entity.Type) -> Set<ObjectIdentifier> {
    var needs = Set(entity.references.map { ObjectIdentifier($0) })
    if let parent = entity.source.parents?.entity { needs.insert(ObjectIdentifier(parent)) }
    return needs
  }

  /// Those of the entities that have to have their rows before this one can have its own, by name.
  package func names(of entities: [any Entity.Type], neededBy entity: any Entity.Type) -> Set<String> {
    let needs = withDeclarations { Self.needs(of: entity) }
    return Set(entities.filter { needs.contains(ObjectIdentifier($0)) }.map { $0.name })
  }

  /// Those of the entities that write to a table of this one, by name: their runs wait for each other.
  package func names(of entities: [any Entity.Type], sharingTablesWith entity: any Entity.Type) throws
    -> Set<String>
  {
    let tables = Set(try plan(of: entity).leasedTables)
    return Set(
      try entities.filter { try $0 != entity && !tables.isDisjoint(with: plan(of: $0).leasedTables) }
        .map { $0.name })
  }

  /// The statements that create the entity's tables, those of nested records among them.
  public func definitions(of entity: any Entity.Type) throws -> [String] {
    try plan(of: entity).tables.map { store.definition(of: $0) }
  }

  /// How the entity's tables differ from its declaration; empty where they are not there yet.
  public func differences(of entity: any Entity.Type) async throws -> [(table: String, differences: [String])]
  {
    var found: [(String, [String])] = []
    for schema in try plan(of: entity).tables {
      let differences = try await store.differences(from: schema)
      if !differences.isEmpty { found.append((schema.name, differences)) }
    }
    return found
  }

  /// Makes the entity's tables what its declaration asks for, as ``Store/rebuild(_:droppingColumns:)`` does, while no
  /// run works on them.
  public func rebuild(_ entity: any Entity.Type, droppingColumns: Bool = false) async throws -> [Rebuild] {
    let plan = try plan(of: entity)
    let leases = try await lease(plan)
    defer { for lease in leases { lease.end() } }
    do { return try await store.rebuild(plan.tables, droppingColumns: droppingColumns) } catch let error
      as StoreError
    {
      throw SyncError(kind: .failed, entity: plan.name, message: redactor.redact(error.description))
    }
  }

  /// The right to run on the entities' tables.
  func lease(_ plans: EntityPlan...) async throws -> [any Lease] { try await lease(plans) }

  func lease(_ plans: [EntityPlan]) async throws -> [any Lease] {
    // Always in the same order, so that no two runs can wait for each other.
    var tables: [String: String] = [:]
    for plan in plans {
      for table in plan.leasedTables where tables[table] == nil { tables[table] = plan.name }
    }
    // Slices of one entity run side by side: what only one may do at a time is their commit.
    let isShared = plans.allSatisfy { $0.claim != nil && $0.source.slices != nil }
    var leases: [any Lease] = []
    for (table, entity) in tables.sorted(by: { $0.key < $1.key }) {
      do { leases.append(try await store.lease(table: table, isShared: isShared, wait: options.wait)) } catch
      {
        for lease in leases { lease.end() }
        switch error {
        case let error as LeaseTimeout:
          throw SyncError(kind: .busy, entity: entity, message: error.description)
        case let error as StoreError:
          throw SyncError(kind: .failed, entity: entity, message: redactor.redact(error.description))
        default: throw error
        }
      }
    }
    return leases
  }

  func prepared(_ entity: any Entity.Type) throws -> Prepared {
    let id = ObjectIdentifier(entity)
    if let known = prepared.withLock({ $0[id] }) { return known }
    let plan = try plan(of: entity)
    let api = plan.source.api
    var origins: Set<HTTPURL.Origin> = []
    for text in api.foreignOrigins {
      do { origins.insert(try HTTPURL(text).origin) } catch {
        throw DeclarationError("API \"\(api.name)\": \(error)")
      }
    }
    let interval = (options.rates[api.name] ?? api.rate)?.interval ?? .zero
    let limiter = limiters.withLock { limiters in
      let limiter =
        limiters[api.name]
        ?? RateLimiter(
          interval: interval, concurrency: api.concurrency,
          shared: options.sharesRates ? store.turns(of: api.name) : nil)
      limiters[api.name] = limiter
      return limiter
    }
    var client = HTTPClient(
      transport: transport, limits: api.limits, retry: api.retry, limiter: limiter, foreignOrigins: origins)
    // What asks for tokens has no breaker: it belongs to a request that was let through.
    let authorizer = try Authorizer(api, client: client, credentials: credentials)
    // Where parents are passed over by such a status, it does not mean that the API is down.
    if plan.source.parents?.skippedStatuses.contains(where: { $0 >= 500 }) != true {
      client.breaker = breakers.withLock { breakers in
        let breaker = breakers[api.name] ?? CircuitBreaker(api.name, api.breaker)
        breakers[api.name] = breaker
        return breaker
      }
    }
    let made = Prepared(plan: plan, authorizer: authorizer, client: client)
    prepared.withLock { $0[id] = made }
    return made
  }

  // MARK: Syncing

  /// Fetches all pages, then writes them in one transaction.
  ///
  /// - Returns: what was written, and whether the walk was provably complete.
  /// - Throws: ``DeclarationError`` before any request; ``SyncError`` when nothing was written; `CancellationError`
  ///   when the task was cancelled, with nothing written.
  /// - Parameter tellingChanges: whether the report tells what was changed, row by row. All changes are held in memory.
  @discardableResult
  public func sync(
    _ entity: any Entity.Type, tellingChanges: Bool = false,
    onProgress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
  ) async throws -> SyncReport {
    let reports = try await run([entity], tellingChanges: tellingChanges, onProgress)
    return reports[0]
  }

  /// Fetches all pages of several entities, then writes all of them in one transaction: who reads sees all of them as they
  /// were, or all as they are. The rows of all entities wait until then.
  ///
  /// Parents come before their children, which are asked for with the rows that their parents are going to have.
  ///
  /// - Returns: what was written, entity by entity, in the order in which they were fetched.
  /// - Throws: as ``sync(_:tellingChanges:onProgress:)``; the error names the entity for which nothing was written.
  @discardableResult
  public func sync(
    together entities: [any Entity.Type], tellingChanges: Bool = false,
    onProgress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
  ) async throws -> [SyncReport] {
    if entities.isEmpty { return [] }
    return try await run(Self.parentsFirst(entities), tellingChanges: tellingChanges, onProgress)
  }

  private func run(
    _ entities: [any Entity.Type], tellingChanges: Bool,
    _ onProgress: @escaping @Sendable (SyncProgress) -> Void
  ) async throws -> [SyncReport] {
    try await run(try entities.map { try self.prepared($0) }, tellingChanges: tellingChanges, onProgress)
  }

  /// - Parameter write: what is done in place of fetching and committing the entities.
  func run(
    _ prepared: [Prepared], tellingChanges: Bool, _ onProgress: @escaping @Sendable (SyncProgress) -> Void,
    write: ((inout [RunRecord]) async throws -> [(work: Work, done: Committed)])? = nil
  ) async throws -> [SyncReport] {
    let clock = ContinuousClock.now
    var runs = prepared.map {
      RunRecord(
        run: Self.newRunID(), entity: $0.plan.name, started: Timestamp.now, finished: 0, outcome: .failed)
    }
    let names = Dictionary(runs.map { ($0.entity, $0.run) }) { first, _ in first }
    let onProgress: @Sendable (SyncProgress) -> Void = { progress in
      var progress = progress
      progress.run = names[progress.entity]
      onProgress(progress)
    }
    let leases: [any Lease]
    do { leases = try await lease(prepared.map(\.plan)) } catch var error as SyncError {
      error.record = runs.first { $0.entity == error.entity }
      error.record?.finished = Timestamp.now
      error.record?.reason = error.message
      throw error
    }
    defer { for lease in leases { lease.end() } }
    for index in runs.indices { runs[index].started = Timestamp.now }
    var position = 0
    do {
      let isWatched = observers.withLock { !$0.isEmpty }
      let written =
        if let write {
          try await write(&runs)
        } else {
          try await fetchAndCommit(
            prepared, &runs, at: &position, tellsChanges: tellingChanges || isWatched, onProgress)
        }
      RunStep.next()
      var reports: [SyncReport] = []
      for (prepared, (work, done)) in zip(prepared, written) {
        if isWatched, let changes = done.changes, !changes.isEmpty {
          for observer in observers.withLock({ Array($0.values) }) { observer.yield(changes) }
        }
        var report = SyncReport(
          record: done.run, duration: .zero, absentColumns: work.absentColumns,
          changes: tellingChanges ? done.changes : nil, pagesNotModified: work.pagesNotModified)
        report.assets = await fetchAssets(prepared)
        report.duration = clock.duration(to: .now)
        reports.append(report)
      }
      return reports
    } catch let error where error is CancellationError || Task.isCancelled {
      throw CancellationError()
    } catch {
      let isRefusal = error is GuardRefusal
      let message = redactor.redact("\(error)")
      // The failure itself is what matters: that it could not be kept as well is said beside it.
      var suffix = ""
      for index in runs.indices {
        runs[index].finished = Timestamp.now
        runs[index].outcome = isRefusal && index == position ? .refused : .failed
        runs[index].reason =
          index == position ? message : "nothing was written, since \(runs[position].entity) failed"
        // Who has waited in vain does not wait once more.
        do {
          try await store.record(runs[index], isPatient: (error as? StoreError)?.isBusy != true)
        } catch {
          suffix = " (and the run could not be recorded: \(redactor.redact("\(error)")))"
          break
        }
      }
      throw SyncError(
        kind: isRefusal ? .refused : .failed, entity: runs[position].entity, message: message + suffix,
        deletions: (error as? GuardRefusal)?.deleted, record: runs[position])
    }
  }

  /// The changes of each run from now on, as they are committed, until the sequence is no longer asked for.
  ///
  /// ```swift
  /// for await changes in engine.changes() { for change in changes { print(change.kind, change.key) } }
  /// ```
  public func changes() -> AsyncStream<[RowChange]> {
    AsyncStream { continuation in
      let id = observers.withLock { observers in
        let id = (observers.keys.max() ?? 0) + 1
        observers[id] = continuation
        return id
      }
      continuation.onTermination = { [weak self] _ in self?.observers.withLock { $0[id] = nil } }
    }
  }

  /// Twelve hexadecimal digits: enough to tell the runs of one store apart.
  static func newRunID() -> String {
    Digest.hex((0..<6).map { _ in UInt8.random(in: .min ... .max) })
  }
}
