import HTTP

/// What a run fetches before it writes.
extension Engine {
  /// What a run has fetched, ready to be written.
  struct Work {
    var commit: Commit
    var absentColumns: [String]
    var pagesNotModified: Int
    /// Why nothing is deleted; nil where something may be.
    var withheld: String?
    /// The rows that a deletion judges.
    var scope: DeletionScope?
  }

  /// Fetches everything that runs write, and writes it in one transaction. Where rows of pages that were not sent again
  /// turn out to be gone, it fetches once more, those pages in full.
  ///
  /// A rehearsal whose deletion the guard refuses goes on without it.
  ///
  /// - Parameters:
  ///   - entities: parents before their children.
  ///   - position: set to the entity that an error is about.
  func fetchAndCommit(
    _ entities: [Prepared], _ runs: inout [RunRecord], at position: inout Int, isRehearsal: Bool = false,
    tellsChanges: Bool, _ onProgress: @escaping @Sendable (SyncProgress) -> Void
  ) async throws -> [(work: Work, done: Committed)] {
    let begun = runs
    var trust = entities.map { _ in Trust(asksInFull: options.asksInFull) }
    while true {
      var journals: [any PageJournal] = []
      var works: [Work] = []
      let spool = RowSpool(limit: options.memory)
      do {
        for (index, prepared) in entities.enumerated() {
          position = index
          var journal: (any PageJournal)?
          defer { if let journal { journals.append(journal) } }
          var work = try await work(
            prepared, &runs[index], isRehearsal: isRehearsal, trust[index],
            isAlone: entities.count == 1, spool, after: works.map(\.commit), &journal, onProgress)
          (work.commit.isRehearsal, work.commit.tellsChanges) = (isRehearsal, tellsChanges)
          works.append(work)
        }
        RunStep.next()
        let done = try await store.commit(works.map(\.commit))
        for journal in journals { journal.clear() }
        return Array(zip(works, done))
      } catch {
        let failure = error as? FailedCommit
        position = failure?.position ?? position
        let error = failure?.error ?? error
        // A run that failed is done anew: its pages may be what it failed for, and the source goes on meanwhile.
        for journal in journals { error is CancellationError ? journal.finish() : journal.clear() }
        if let missing = error as? KeptRowsMissing, trust[position].loses(missing.pages) {
          runs = begun
        } else if error is RowsDropped, trust[position].mayDrop {
          trust[position].mayDrop = false
          runs = begun
        } else if error is GuardRefusal, isRehearsal, works.indices.contains(position),
          works[position].commit.deletion != nil
        {
          works[position].withheld = redactor.redact("\(error)")
          works[position].commit.deletion = nil
          do { return Array(zip(works, try await store.commit(works.map(\.commit)))) } catch let failure
            as FailedCommit
          {
            throw failure.error
          }
        } else {
          throw error
        }
      }
    }
  }

  /// What is asked for in full.
  struct Trust {
    var asksInFull: Bool
    /// Whether rows that the table has need not be held.
    var mayDrop = true
    /// Pages that are, by their names.
    private(set) var distrusted: Set<String> = []

    init(asksInFull: Bool) { self.asksInFull = asksInFull }

    /// Asks for more in full than before; false where that is not possible.
    mutating func loses(_ pages: Set<String>) -> Bool {
      if asksInFull { return false }
      asksInFull = !distrusted.isEmpty || pages.isEmpty
      distrusted = pages
      return true
    }
  }

  /// Fetches everything that a run writes.
  ///
  /// - Parameters:
  ///   - staged: what is going to be written in the same transaction, before it.
  ///   - journal: set to where its pages are kept until they are committed.
  private func work(
    _ prepared: Prepared, _ run: inout RunRecord, isRehearsal: Bool, _ trust: Trust, isAlone: Bool,
    _ spool: RowSpool, after staged: [Commit],
    _ journal: inout (any PageJournal)?,
    _ onProgress: @escaping @Sendable (SyncProgress) -> Void
  ) async throws -> Work {
    let plan = prepared.plan
    for schema in plan.tables { try await store.check(schema) }
    // What only looks makes no store.
    let exists = try await store.exists
    let hashKey = exists || !isRehearsal ? try await store.installationKey() : Self.newRunID()
    let principal = prepared.authorizer.principal
    let scope = Digest.hmacSHA256(plan.scope(principal: principal), key: hashKey)
    let pageScope = Digest.hmacSHA256(plan.pageScope(principal: principal), key: hashKey)
    let state = exists ? try await store.state(of: plan.name) : [:]
    let parents = try await readParents(plan, after: staged)

    var walker = walker(prepared, onProgress)
    let parentsNow = plan.incremental == nil ? "" : Digest.hmacSHA256("\(parents)", key: hashKey)
    let lastFull = state["full"].flatMap { Int64($0) }
    // All slices of a generation ask for everything, or none: only then can it be proven.
    let begun = plan.slice == nil ? run.started : plan.claim?.generationBegan ?? run.started
    let isDue =
      plan.incremental?.full.interval.map { interval in
        // Slices that came later meet the others in the first generation of each period.
        plan.slice == nil
          ? begun >= (lastFull ?? 0) + interval
          : begun / max(1, interval) != (lastFull ?? 0) / max(1, interval)
      } ?? false
    // Of a parent that is new everything is news.
    let isOther = state["scope"] != scope || plan.parent != nil && state["parents"] != parentsNow
    var increment = try Increment(
      plan, kept: state["watermark"], isFull: trust.asksInFull || isDue || isOther || lastFull == nil)
    walker.increment = increment
    walker.context.window = plan.window
    walker.hashKey = hashKey
    walker.textRule = try await store.textRule()
    if !isRehearsal {
      journal = await self.journal(
        of: plan, key: Digest.hmacSHA256(pageScope + (state["run"] ?? ""), key: hashKey), run.started,
        isVoid: trust.asksInFull)
    }
    walker.journal = journal
    walker.journalsFrom = .now + plan.source.resume.after
    if let begun = journal?.begun { walker.context.startedAt = begun }
    if plan.isConditional, increment.isFull {
      walker.kept = KeptPages()
      if !trust.asksInFull, state["pages"] == pageScope {
        walker.kept = KeptPages(
          try await store.pages(of: plan.name), besides: trust.distrusted)
      }
      // Validators are worth more: a run over kept pages would be proof, and one with old pages would end them.
      if walker.kept?.isEmpty == false {
        journal?.clear()
        (journal, walker.journal) = (nil, nil)
        walker.context.startedAt = Timestamp.now
      }
    }
    let rows = deletionScope(plan, parents)
    let survey = plan.slice == nil ? survey(plan, walker, state, increment, rows) : nil
    (walker.survey, walker.spool) = (survey, spool)
    // Nobody asks for the rows again but the commit, which sees the table as the survey did.
    walker.mayDrop =
      isAlone && trust.mayDrop && plan.decoding.nested.isEmpty && plan.incremental == nil
      && plan.recordSource.tombstone == nil
    var isSurveyOfUse = false
    defer { if !isSurveyOfUse { survey?.end() } }
    var seen = SeenKeys()
    var walk = Walk()
    do { try await walker.walk(&walk, parents: parents, seen: &seen, number: 1) } catch is IncrementExpired {
      increment = try Increment(plan, kept: nil, isFull: true)
      walker.increment = increment
      walker.restartJournal()
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
      switch try await arm(first, prepared, &walker, &walk, &seen, parents: parents, scope: rows) {
      // What a slice did not see is judged when all of them are walked.
      case .armed(let armed, let confirmed): (deletion, proof) = (plan.slice == nil ? armed : nil, confirmed)
      case .nothingMissing(let confirmed): proof = confirmed
      case .doubtful(let found): (doubts, proof) = (found, nil)
      }
    }

    spool.hold(seen.index.memory)
    run.add(walk)
    run.finished = Timestamp.now
    run.outcome = !doubts.isEmpty ? .unproven : increment.isFull ? .proven : .incremental
    if !doubts.isEmpty {
      run.reason = redactor.redact(doubts.map(\.description).joined(separator: "; "))
    }
    var kept = ["scope": scope, "run": run.run]
    if increment.isFull { kept.merge(["pages": pageScope, "records": String(run.records)]) { $1 } }
    // What was kept for other records is of no use for these, which nothing has proven yet.
    if plan.incremental != nil, isOther, proof == nil { kept.merge(["full": "", "watermark": ""]) { $1 } }
    if plan.incremental != nil, let proof {
      let before = state["scope"] == scope ? state["watermark"] : nil
      if let watermark = try Watermark(proof: proof, walk, plan, kept: before) {
        kept["watermark"] = watermark.text
      }
      if increment.isFull { kept.merge(["full": String(begun), "parents": parentsNow]) { $1 } }
    }
    run.unchanged = seen.keptRows
    run.scope = scope
    let nested = try NestedGathering(plan.decoding).rows(
      of: walk.rows, superseded: walk.superseded, keys: plan.decoding.keyColumns)
    let gone = try statedKeys(walk, plan)
    isSurveyOfUse = walker.kept?.isEmpty != false || seen.keptRows > 0
    var commit = Commit(
      rows: TableRows(
        schema: plan.schema, batches: walk.rows.map(\.batch),
        superseded: walk.superseded.union(walk.tombstones)),
      nested: nested, referenced: plan.referenced, deletion: deletion,
      // In pages of another time they may be out of date; they come again, since no watermark moves.
      tombstones: walk.resumed > 0
        ? nil
        : gone.map {
          StatedDeletion(
            keys: $0, bound: plan.deletion.bound, mark: plan.mark, allowed: options.allowedDeletions)
        },
      gone: gone, seen: seen,
      keptNested: plan.decoding.allNested.enumerated().compactMap { position, nested in
        seen.keptNested[position].map { (nested.schema, $0) }
      }, mark: plan.mark,
      rejects: walk.rejects, run: run, state: kept,
      pages: walker.kept == nil ? nil : proof.map { ProvenPages(walk.states, proof: $0) },
      isIncrement: !increment.isFull)
    commit.survey = isSurveyOfUse ? survey : nil
    commit.settlement = plan.claim.map { claim in
      Settlement(
        claim: claim, isAlone: plan.mayMoveBetweenSlices, isDisjoint: !plan.mayMoveBetweenSlices,
        slice: plan.slice.map { _ in
          SliceRecord(
            isProven: run.outcome == .proven,
            keys: plan.deletion.isByAbsence && run.outcome == .proven
              ? SliceKeys.bytes(rows: seen.index, owners: rows?.keys) : nil)
        })
    }
    let withheld =
      !plan.deletion.isByAbsence
      ? "no deletion is declared"
      : increment.isFull ? run.reason : "only what changed was asked for"
    return Work(
      commit: commit, absentColumns: walk.absentColumns, pagesNotModified: walk.notModified,
      withheld: deletion == nil ? withheld : nil, scope: rows)
  }

  /// Begins to read the table beside the requests, where the commit can do with it.
  private func survey(
    _ plan: EntityPlan, _ walker: Walker, _ state: [String: String], _ increment: Increment,
    _ scope: DeletionScope?
  ) -> (any TableSurvey)? {
    let rows = state["records"].flatMap { Int($0) }
    // Rows of pages that are not sent again have to be there.
    if walker.kept?.isEmpty == false {
      return scope == nil ? store.survey(plan.schema, for: .keys, rows: rows) : nil
    }
    // Where only what changed is asked for, most of the table would be read in vain.
    return increment.isFull && state["run"] != nil ? store.survey(plan.schema, for: .rows, rows: rows) : nil
  }

  /// What an earlier run of the entity has read, where this one may go on from there.
  private func journal(of plan: EntityPlan, key: String, _ now: Int64, isVoid: Bool) async -> (
    any PageJournal
  )? {
    // One request has nothing to go on with.
    guard let age = plan.source.resume.age, plan.source.paging.description != "none" || plan.parent != nil
    else { return nil }
    let journal = await store.journal(
      PageJournalRequest(
        entity: plan.name, key: key, now: now, notBefore: isVoid || !options.resumes ? now : now - age,
        limit: plan.source.resume.bytes))
    return options.resumes ? journal : nil
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
