import HTTP

/// What a run fetches before it writes.
extension Engine {
  /// Walks over pages that shift, in one run.
  private static let mostWalks: UInt8 = 4

  /// What a run has fetched, ready to be written.
  struct Work {
    var commit: Commit
    var absentColumns: [String]
    var pagesNotModified: Int
    /// Why nothing is deleted; nil where something may be.
    var withheld: String?
  }

  /// Fetches everything that a run writes.
  func work(
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
    let parentsNow = plan.incremental == nil ? "" : Digest.hmacSHA256("\(parents)", key: hashKey)
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
      // Pages that shift may have hidden a row that is there. Only where a walk found something to delete does another
      // one have to agree. Where rows have gone between the two, others may have moved up unseen in both of them, so
      // that the later one needs one more to agree with it.
      var number: UInt8 = 1
      while deletion == nil, let earlier = proof,
        try await store.countUnseen(seen.index, scope: scope, in: plan.schema).unseen > 0
      {
        number += 1
        try await walker.walk(&walk, parents: parents, seen: &seen, number: number, confirming: earlier)
        let vanished = seen.index.count(lastSeenIn: number - 1)
        switch walk.outcome {
        case .unproven(let reasons): doubts += reasons
        case .proven where vanished > 0 && number == Self.mostWalks:
          doubts.append(
            Doubt("the pages shift: in each of \(number) walks records of the one before were gone"))
        case .proven(let confirmed):
          proof = confirmed
          if vanished == 0 { deletion = arm(confirmed) }
        }
        if !doubts.isEmpty { proof = nil }
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

  func walker(_ prepared: Prepared, _ onProgress: @escaping @Sendable (SyncProgress) -> Void)
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
  func readParents(_ plan: EntityPlan) throws -> [[StoredValue]] {
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
  func deletionScope(_ plan: EntityPlan, _ parents: [[StoredValue]]) -> DeletionScope? {
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
  func stated(_ walk: Walk, _ plan: EntityPlan) -> StatedDeletion? {
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
  func verify(
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
