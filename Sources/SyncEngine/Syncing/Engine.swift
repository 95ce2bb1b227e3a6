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

    public init(
      urls: [String: String] = [:], rates: [String: API.Rate] = [:], wait: Duration = .seconds(60),
      asksInFull: Bool = false, allowedDeletions: Int? = nil
    ) {
      (self.urls, self.rates, self.wait, self.asksInFull) = (urls, rates, wait, asksInFull)
      self.allowedDeletions = allowedDeletions
    }
  }

  public let store: any Store
  public let options: Options
  /// Knows the secrets of all entities that were prepared.
  public let redactor = Redactor()
  private let transport: any Transport
  private let prepared = Mutex<[ObjectIdentifier: Prepared]>([:])
  private let credentials: Credentials
  private let limiters = Mutex<[String: RateLimiter]>([:])
  private let breakers = Mutex<[String: CircuitBreaker]>([:])
  private let observers = Mutex<[Int: AsyncStream<[RowChange]>.Continuation]>([:])

  private struct Prepared: Sendable {
    var plan: EntityPlan
    var authorizer: Authorizer
    var client: HTTPClient
  }

  public init(store: any Store, options: Options = Options(), transport: any Transport = CurlTransport()) {
    (self.store, self.options, self.transport) = (store, options, transport)
    credentials = Credentials(redactor: redactor, store: store, wait: options.wait)
  }

  // MARK: Checking declarations

  /// Checks the declarations of a whole program and reads its secrets. Nothing is asked or written.
  ///
  /// - Parameter needingSecrets: the entities whose secrets have to be there; all by default.
  /// - Throws: ``DeclarationError`` for the first one that cannot work.
  public func prepare(_ entities: [any Entity.Type], needingSecrets running: [any Entity.Type]? = nil) throws
  {
    var plans: [EntityPlan] = []
    for entity in entities { plans.append(try EntityPlan.erased(entity, urls: options.urls)) }
    try EntityListValidator.validate(plans)
    for entity in running ?? entities { _ = try prepared(entity) }
  }

  /// The entities in an order in which parents come before their children, and what is referred to before what refers.
  public static func parentsFirst(_ entities: [any Entity.Type]) -> [any Entity.Type] {
    var ordered: [any Entity.Type] = []
    var visited: Set<ObjectIdentifier> = []
    func visit(_ entity: any Entity.Type) {
      guard visited.insert(ObjectIdentifier(entity)).inserted else { return }
      let parents = entity.source.parents.map { [ObjectIdentifier($0.entity)] } ?? []
      let first = Set(parents + entity.references.map { ObjectIdentifier($0) })
      for other in entities where first.contains(ObjectIdentifier(other)) { visit(other) }
      ordered.append(entity)
    }
    for entity in entities { visit(entity) }
    return ordered
  }

  /// The statements that create the entity's tables, those of nested records among them.
  public func definitions(of entity: any Entity.Type) throws -> [String] {
    try EntityPlan.erased(entity, urls: options.urls).tables.map { store.definition(of: $0) }
  }

  /// How the entity's tables differ from its declaration; empty where they are not there yet.
  public func differences(of entity: any Entity.Type) async throws -> [(table: String, differences: [String])]
  {
    var found: [(String, [String])] = []
    for schema in try EntityPlan.erased(entity, urls: options.urls).tables {
      let differences = try await store.differences(from: schema)
      if !differences.isEmpty { found.append((schema.name, differences)) }
    }
    return found
  }

  /// Makes the entity's tables what its declaration asks for, as ``Store/rebuild(_:droppingColumns:)`` does, while no
  /// run works on them.
  public func rebuild(_ entity: any Entity.Type, droppingColumns: Bool = false) async throws -> [Rebuild] {
    let plan = try EntityPlan.erased(entity, urls: options.urls)
    let leases = try await lease(plan)
    defer { for lease in leases { lease.end() } }
    do { return try await store.rebuild(plan.tables, droppingColumns: droppingColumns) } catch let error
      as StoreError
    {
      throw SyncError(kind: .failed, entity: plan.name, message: redactor.redact(error.description))
    }
  }

  /// The right to run on the entity's tables.
  private func lease(_ plan: EntityPlan) async throws -> [any Lease] {
    var leases: [any Lease] = []
    do {
      for table in plan.leasedTables {
        leases.append(try await store.lease(table: table, wait: options.wait))
      }
      return leases
    } catch {
      for lease in leases { lease.end() }
      switch error {
      case let error as LeaseTimeout:
        throw SyncError(kind: .busy, entity: plan.name, message: error.description)
      case let error as StoreError:
        throw SyncError(kind: .failed, entity: plan.name, message: redactor.redact(error.description))
      default: throw error
      }
    }
  }

  private func prepared(_ entity: any Entity.Type) throws -> Prepared {
    let id = ObjectIdentifier(entity)
    if let known = prepared.withLock({ $0[id] }) { return known }
    let plan = try EntityPlan.erased(entity, urls: options.urls)
    let api = plan.source.api
    var origins: Set<HTTPURL.Origin> = []
    for text in api.foreignOrigins {
      do { origins.insert(try HTTPURL(text).origin) } catch {
        throw DeclarationError("API \"\(api.name)\": \(error)")
      }
    }
    let interval = (options.rates[api.name] ?? api.rate)?.interval ?? .zero
    let limiter = limiters.withLock { limiters in
      let limiter = limiters[api.name] ?? RateLimiter(interval: interval, concurrency: api.concurrency)
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
    let prepared = try prepared(entity)
    let plan = prepared.plan
    let clock = ContinuousClock.now
    var run = RunRecord(
      run: Self.newRunID(), entity: plan.name, started: Timestamp.now, finished: 0, outcome: .failed)
    let leases = try await lease(plan)
    defer { for lease in leases { lease.end() } }
    do {
      let isWatched = observers.withLock { !$0.isEmpty }
      var work = try await work(prepared, &run, onProgress)
      work.commit.tellsChanges = tellingChanges || isWatched
      let done = try await store.commit(work.commit)
      if isWatched, let changes = done.changes, !changes.isEmpty {
        for observer in observers.withLock({ Array($0.values) }) { observer.yield(changes) }
      }
      var report = SyncReport(
        record: done.run, duration: .zero, absentColumns: work.absentColumns,
        changes: tellingChanges ? done.changes : nil, pagesNotModified: work.pagesNotModified)
      report.assets = await fetchAssets(prepared)
      report.duration = clock.duration(to: .now)
      return report
    } catch let error where error is CancellationError || Task.isCancelled {
      throw CancellationError()
    } catch {
      let isRefusal = error is GuardRefusal
      let message = redactor.redact("\(error)")
      run.finished = Timestamp.now
      run.outcome = isRefusal ? .refused : .failed
      run.reason = message
      // The failure itself is what matters: that it could not be kept as well is said beside it.
      var suffix = ""
      // Who has waited in vain does not wait once more.
      do { try await store.record(run, isPatient: (error as? StoreError)?.isBusy != true) } catch {
        suffix = " (and the run could not be recorded: \(redactor.redact("\(error)")))"
      }
      throw SyncError(
        kind: isRefusal ? .refused : .failed, entity: plan.name, message: message + suffix,
        deletions: (error as? GuardRefusal)?.deleted)
    }
  }

  /// What a run has fetched, ready to be written.
  private struct Work {
    var commit: Commit
    var absentColumns: [String]
    var pagesNotModified: Int
    /// Why nothing is deleted; nil where something may be.
    var withheld: String?
  }

  /// Fetches everything that a run writes.
  private func work(
    _ prepared: Prepared, _ run: inout RunRecord, isRehearsal: Bool = false,
    _ onProgress: @escaping @Sendable (SyncProgress) -> Void
  ) async throws -> Work {
    let plan = prepared.plan
    for schema in plan.tables { try await store.check(schema) }
    // What only looks makes no store.
    let hashKey = store.exists || !isRehearsal ? try await store.installationKey() : Self.newRunID()
    let principal = prepared.authorizer.principal
    let scope = Digest.hmacSHA256(plan.scope(principal: principal), key: hashKey)
    let pageScope = Digest.hmacSHA256(plan.pageScope(principal: principal), key: hashKey)
    let state = store.exists ? try await store.state(of: plan.name) : [:]
    let parents = try readParents(plan)

    var walker = walker(prepared, onProgress)
    let parentsNow = Digest.hmacSHA256("\(parents)", key: hashKey)
    let lastFull = state["full"].flatMap { Int64($0) }
    let isDue = plan.incremental?.full.interval.map { run.started >= (lastFull ?? 0) + $0 } ?? false
    // Of a parent that is new everything is news.
    let isOther = state["scope"] != scope || plan.parent != nil && state["parents"] != parentsNow
    var increment = try Increment(
      plan, kept: state["watermark"], isFull: options.asksInFull || isDue || isOther || lastFull == nil)
    walker.increment = increment
    if plan.isConditional, increment.isFull {
      walker.kept = KeptPages(hashKey: hashKey)
      if !options.asksInFull, state["pages"] == pageScope {
        walker.kept = try await KeptPages(
          store.pages(of: plan.name), hashKey: hashKey, tables: plan.tables, in: store)
      }
    }
    var seen = SeenKeys()
    var walk = Walk()
    do { try await walker.walk(&walk, parents: parents, seen: &seen, number: 1) } catch is IncrementExpired {
      increment = try Increment(plan, kept: nil, isFull: true)
      walker.increment = increment
      (walk, seen) = (Walk(), SeenKeys())
      try await walker.walk(&walk, parents: parents, seen: &seen, number: 1)
    }

    var doubts = walk.outcome.doubts
    if let scopeBefore = state["scope"], scopeBefore != scope {
      doubts.append(Doubt("the declaration asks for other records than at the last run"))
    }
    var deletion: ArmedDeletion?
    var proof: ProofOfCompleteness?
    if doubts.isEmpty, case .proven(let first) = walk.outcome { proof = first }
    if plan.deletion.isByAbsence, increment.isFull, let first = proof {
      let scope = deletionScope(plan, parents)
      func arm(_ proof: ProofOfCompleteness) -> ArmedDeletion? {
        ArmedDeletion(
          proof: proof, seen: seen.index, scope: scope, policy: plan.deletion, mark: plan.mark,
          allowed: options.allowedDeletions)
      }
      deletion = arm(first)
      // Pages that shift may have hidden a row that is there. Only where one walk found something to delete does a
      // second one have to agree.
      if deletion == nil,
        try await store.countUnseen(seen.index, scope: scope, in: plan.schema).unseen > 0
      {
        try await walker.walk(&walk, parents: parents, seen: &seen, number: 2, confirming: first)
        switch walk.outcome {
        case .proven(let confirmed):
          // Where rows have gone between the walks, others may have moved up unseen in both of them.
          let vanished = seen.index.count(lastSeenIn: 1)
          if vanished == 0 {
            (proof, deletion) = (confirmed, arm(confirmed))
          } else {
            doubts.append(
              Doubt("\(vanished) of the first walk's records were gone in the second one: the pages shift"))
            proof = nil
          }
        case .unproven(let reasons):
          doubts += reasons
          proof = nil
        }
      }
      if deletion != nil, let doubt = try await verify(prepared, seen.index, scope) {
        doubts.append(doubt)
        (proof, deletion) = (nil, nil)
      }
    }

    run.add(walk)
    run.finished = Timestamp.now
    run.outcome = !doubts.isEmpty ? .unproven : increment.isFull ? .proven : .incremental
    if !doubts.isEmpty {
      run.reason = redactor.redact(doubts.map(\.description).joined(separator: "; "))
    }
    var kept = ["scope": scope]
    if increment.isFull { kept["pages"] = pageScope }
    // What was kept for other records is of no use for these, which nothing has proven yet.
    if plan.incremental != nil, isOther, proof == nil { kept.merge(["full": "", "watermark": ""]) { $1 } }
    if plan.incremental != nil, let proof {
      let before = state["scope"] == scope ? state["watermark"] : nil
      if let watermark = Watermark(proof: proof, walk, plan, kept: before) {
        kept["watermark"] = watermark.text
      }
      if increment.isFull { kept.merge(["full": String(run.started), "parents": parentsNow]) { $1 } }
    }
    run.unchanged = seen.keptRows
    run.scope = scope
    let nested = NestedGathering(plan.decoding).rows(
      of: walk.rows, superseded: walk.superseded, keys: plan.decoding.keyColumns)
    let commit = Commit(
      rows: TableRows(
        schema: plan.schema, batches: walk.rows.map(\.batch),
        superseded: walk.superseded.union(walk.tombstones)),
      nested: nested, referenced: plan.referenced, deletion: deletion,
      tombstones: stated(walk, plan), seen: seen.index, mark: plan.mark,
      rejects: walk.rejects, run: run, state: kept,
      pages: walker.kept == nil ? nil : proof.map { ProvenPages(walk.states, proof: $0) },
      isIncrement: !increment.isFull)
    let withheld =
      !plan.deletion.isByAbsence
      ? "no deletion is declared"
      : increment.isFull ? run.reason : "only what changed was asked for"
    return Work(
      commit: commit, absentColumns: walk.absentColumns, pagesNotModified: walk.notModified,
      withheld: deletion == nil ? withheld : nil)
  }

  /// Fetches and compares as a run does, and writes nothing: what a run would do now.
  ///
  /// - Throws: ``DeclarationError``, ``SyncError``.
  public func plan(
    _ entity: any Entity.Type, onProgress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
  ) async throws -> SyncPlan {
    let prepared = try prepared(entity)
    let plan = prepared.plan
    var run = RunRecord(
      run: Self.newRunID(), entity: plan.name, started: Timestamp.now, finished: 0, outcome: .failed)
    do {
      var work = try await work(prepared, &run, isRehearsal: true, onProgress)
      (work.commit.isRehearsal, work.commit.tellsChanges) = (true, true)
      var withheld = work.withheld
      let done: Committed
      do { done = try await store.commit(work.commit) } catch let refusal as GuardRefusal {
        withheld = redactor.redact("\(refusal)")
        work.commit.deletion = nil
        done = try await store.commit(work.commit)
      }
      var planned = SyncPlan(record: done.run, changes: done.changes ?? [])
      if let withheld, plan.deletion.isByAbsence, work.commit.isIncrement == false {
        let scope = deletionScope(plan, try readParents(plan))
        let keys = try await store.unseen(work.commit.seen, scope: scope, in: plan.schema)
        if !keys.isEmpty {
          planned.withheld = (
            keys.map { key in zip(plan.schema.keys, key).map { .init(column: $0.name, old: $1, new: nil) } },
            withheld
          )
        }
      }
      return planned
    } catch let error as CancellationError {
      throw error
    } catch {
      throw SyncError(kind: .failed, entity: plan.name, message: redactor.redact("\(error)"))
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

  /// Downloads what the committed rows' addresses lead to; nil where nothing is declared. The rows stay whatever
  /// becomes of it: what is missing is told, and tried again by the next run.
  private func fetchAssets(_ prepared: Prepared) async -> AssetReport? {
    let declared = prepared.plan.tables.flatMap { schema in schema.assets.map { (schema, $0) } }
    guard !declared.isEmpty else { return nil }
    let fetcher = AssetFetcher(
      client: prepared.client, home: prepared.plan.requests.origin,
      concurrency: prepared.plan.source.api.concurrency, redactor: redactor)
    var total = AssetReport()
    for (schema, asset) in declared {
      do {
        let pending = try await store.pendingAssets(asset, in: schema)
        let report = await fetcher.fetch(pending, asset) { try await store.save($0, asset, in: schema) }
        total.fetched += report.fetched
        total.unchanged += report.unchanged
        total.failed += report.failed
        total.failure = total.failure ?? report.failure
      } catch {
        total.failed += 1
        total.failure =
          total.failure ?? (error is CancellationError ? "the run was stopped" : redactor.redact("\(error)"))
      }
    }
    return total
  }

  private func walker(_ prepared: Prepared, _ onProgress: @escaping @Sendable (SyncProgress) -> Void)
    -> Walker
  {
    var client = prepared.client
    let (name, redactor) = (prepared.plan.name, redactor)
    client.onRetry = { reason, wait in
      onProgress(
        SyncProgress(
          entity: name, retry: redactor.redact("\(reason); next attempt in \(wait.milliseconds) ms")))
    }
    return Walker(
      plan: prepared.plan, client: client, authorizer: prepared.authorizer, redactor: redactor,
      context: PagingContext(
        asksForEnd: prepared.plan.asksForEnd, startedAt: Timestamp.now, keyPath: prepared.plan.keyPath),
      onProgress: onProgress)
  }

  /// The rows that requests are made for; one without values where the source has no parents.
  private func readParents(_ plan: EntityPlan) throws -> [[StoredValue]] {
    guard let parent = plan.parent else { return [[]] }
    var rows: [[StoredValue]] = []
    do {
      try store.rows(of: parent.schema, columns: parent.columns, key: nil) { rows.append($0) }
    } catch let error as StoreError {
      throw StoreError("the parents cannot be read (sync \(parent.schema.name) first?): \(error)")
    }
    return try plan.source.parents?.groups(of: rows, parent.columns, sent: plan.requests.parentColumns.count)
      ?? rows
  }

  /// The declared rows, and with parents those of the parents that were walked.
  private func deletionScope(_ plan: EntityPlan, _ parents: [[StoredValue]]) -> DeletionScope? {
    var scope = DeletionScope(conditions: plan.conditions)
    if let mark = plan.mark { scope.conditions.append(.isNull(column: mark)) }
    if let parent = plan.parent {
      var bytes = KeyBytes()
      for row in parents {
        bytes.removeAll()
        for owner in parent.owner { bytes.append(row[owner.position]) }
        _ = bytes.withBytes { scope.keys.insert($0, ordinal: 0, walk: 0) }
      }
      scope.columns = parent.owner.map(\.column)
    }
    return scope.columns.isEmpty && scope.conditions.isEmpty ? nil : scope
  }

  /// The rows that the source says are gone, by what it says last.
  private func stated(_ walk: Walk, _ plan: EntityPlan) -> StatedDeletion? {
    let last = walk.tombstones.subtracting(walk.superseded)
    guard !last.isEmpty else { return nil }
    var keys = KeyIndex()
    var key = KeyBytes()
    for batch in walk.rows.map(\.batch) {
      for row in 0..<batch.rowCount where last.contains(batch.firstOrdinal + row) {
        key.set(plan.decoding.keyColumns, of: batch, row)
        _ = key.withBytes { keys.insert($0, ordinal: 0) }
      }
    }
    return StatedDeletion(
      keys: keys, bound: plan.deletion.bound, mark: plan.mark, allowed: options.allowedDeletions)
  }

  /// Asks for the rows that were not seen, one by one, where that is declared.
  ///
  /// - Returns: why they cannot go; nil if all of them are gone.
  private func verify(
    _ prepared: Prepared, _ seen: KeyIndex, _ scope: DeletionScope?
  ) async throws -> Doubt? {
    let plan = prepared.plan
    guard let requests = plan.verification else { return nil }
    let (unseen, rows) = try await store.countUnseen(seen, scope: scope, in: plan.schema)
    // What the guard refuses need not be asked for.
    try plan.deletion.bound.check(
      deleting: unseen, of: rows, isAnswerEmpty: seen.count == 0, allowed: options.allowedDeletions)
    var keys = try await store.unseen(seen, scope: scope, in: plan.schema)[...]
    let (client, authorizer) = (prepared.client, prepared.authorizer)
    return try await withThrowingTaskGroup(of: (key: [StoredValue], answer: String)?.self) { group in
      func askNext() throws {
        guard let key = keys.popFirst() else { return }
        let request = try requests.request(parent: key)
        group.addTask {
          do {
            let response = try await client.send(
              request, home: requests.origin, authorize: authorizer.authorize, renew: authorizer.renew)
            return [404, 410].contains(response.status) ? nil : (key, "HTTP \(response.status)")
          } catch let error as HTTPError { return (key, "\(error)") }
        }
      }
      for _ in 0..<plan.source.api.concurrency { try askNext() }
      while let found = try await group.next() {
        if let (key, answer) = found {
          let name = zip(plan.schema.keys, key).map { "\($0.name) \($1.text(as: $0.type) ?? "")" }
          return Doubt(
            "\(name.joined(separator: ", ")) is missing from the list, but asked for by itself it is not gone (\(answer))"
          )
        }
        try askNext()
      }
      return nil
    }
  }

  // MARK: Checking

  /// Asks for one page of the source and decodes it. Nothing is written.
  ///
  /// - Returns: the number of records on the page, and the columns that none of them had a value for.
  /// - Throws: ``DeclarationError``, ``SyncError``.
  public func check(_ entity: any Entity.Type) async throws -> (records: Int, absentColumns: [String]) {
    let prepared = try prepared(entity)
    let plan = prepared.plan
    do {
      for schema in plan.tables { try await store.check(schema) }
      let parents = try readParents(plan)
      guard let parent = parents.first else { return (0, []) }
      var seen = SeenKeys()
      let walk = try await walker(prepared, { _ in }).walk(
        parents: [parent], seen: &seen, number: 1, extent: .records(0))
      return (walk.records, walk.absentColumns)
    } catch let error as CancellationError {
      throw error
    } catch {
      throw SyncError(kind: .failed, entity: plan.name, message: redactor.redact("\(error)"))
    }
  }

  // MARK: Looking

  /// Walks over all pages as a run does, and writes nothing.
  ///
  /// - Parameter onProgress: told of each page, with what was asked, answered and decided.
  /// - Returns: the records seen, and why the walk proves nothing (empty if it does).
  /// - Throws: ``DeclarationError``, ``SyncError``.
  public func explain(
    _ entity: any Entity.Type, onProgress: @escaping @Sendable (SyncProgress) -> Void
  ) async throws -> (records: Int, doubts: [String]) {
    let walk = try await look(entity, .all, onProgress)
    return (walk.records, walk.outcome.doubts.map { redactor.redact($0.description) })
  }

  /// The first rows of the source as they would be stored; nothing is written.
  ///
  /// - Throws: ``DeclarationError``, ``SyncError``.
  public func rows(of entity: any Entity.Type, limit: Int) async throws -> SampleRows {
    let plan = try prepared(entity).plan
    let columns = plan.schema.synced
    let walk = try await look(entity, .records(limit), { _ in })
    let rows = walk.rows.map(\.batch).flatMap { batch in
      // Of a key that comes twice the last record counts.
      (0..<batch.rowCount).filter { !walk.superseded.contains(batch.firstOrdinal + $0) }
        .map { row in columns.indices.map { batch.value(row: row, column: $0) } }
    }
    return SampleRows(
      columns: columns, rows: Array(rows.prefix(limit)), badRecords: walk.rejects.count,
      tablesLeftOut: plan.decoding.allNested.map(\.schema.name))
  }

  private func look(
    _ entity: any Entity.Type, _ extent: WalkExtent, _ onProgress: @escaping @Sendable (SyncProgress) -> Void
  ) async throws -> Walk {
    let prepared = try prepared(entity)
    do {
      var seen = SeenKeys()
      return try await walker(prepared, onProgress).walk(
        parents: try readParents(prepared.plan), seen: &seen, number: 1, extent: extent)
    } catch let error as CancellationError {
      throw error
    } catch {
      throw SyncError(kind: .failed, entity: prepared.plan.name, message: redactor.redact("\(error)"))
    }
  }

  /// Twelve hexadecimal digits: enough to tell the runs of one store apart.
  private static func newRunID() -> String {
    Digest.hex((0..<6).map { _ in UInt8.random(in: .min ... .max) })
  }
}

extension RunRecord {
  fileprivate mutating func add(_ walk: Walk) {
    pages += walk.pages
    records += walk.records
    bytes += walk.bytes
    duplicates += walk.duplicates
    rejected += walk.rejects.count
  }
}
