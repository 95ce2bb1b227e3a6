import HTTP
import Synchronization

/// What a worker has done with a claim.
public enum UnitResult: Sendable {
  /// It was committed, and the unit's next time was set with it.
  case committed(SyncReport)
  /// The entity was cut into slices, each of which runs by itself.
  case cut(slices: Int, added: Int, removed: Int)
}

extension Engine {
  /// So many slices of one entity can be listed in reasonable time.
  private static let mostSlices = 1_000_000

  /// Runs a unit of work. Its claim ends with the commit; where this throws, the caller releases it.
  ///
  /// An entity that is cut into slices is not fetched itself: its run ends the generation whose slices were all walked,
  /// with the deletions that follow from that, or sets the slices that there are.
  ///
  /// - Throws: as ``sync(_:tellingChanges:onProgress:)``
  public func run(
    _ claim: Claim, of entity: any Entity.Type, in queue: any WorkQueue,
    onProgress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
  ) async throws -> UnitResult {
    var prepared = try prepared(entity)
    prepared.plan = prepared.plan.claimed(claim)
    let unit = prepared
    if unit.plan.slice != nil, unit.plan.source.slices == nil {
      // A program before this one has cut it; that goes with the next run of the whole.
      throw SyncError(
        kind: .failed, entity: unit.plan.name, message: "the entity is not cut into slices any more")
    }
    guard unit.plan.source.slices != nil, unit.plan.slice == nil else {
      return .committed(try await run([unit], tellingChanges: false, onProgress)[0])
    }
    do {
      let generation = try await queue.generation(of: entity.name)
      // While a person has to decide whether the rows go, new slices are not kept waiting.
      let isHeldUp = generation.isComplete && claim.failures < 0
      var (slices, added, removed) = (0, 0, 0)
      if !generation.isComplete || isHeldUp {
        let names = try await self.slices(of: unit.plan)
        slices = names.count
        (added, removed) = try await queue.cut(claim, into: names, isOnlyIfNew: isHeldUp)
      }
      if generation.isComplete, added == 0 {
        let reports = try await run([unit], tellingChanges: false, onProgress) { runs in
          [try await self.close(generation, unit, &runs[0], in: queue)]
        }
        return .committed(reports[0])
      }
      return .cut(slices: slices, added: added, removed: removed)
    } catch let error where error is SyncError || error is CancellationError || Task.isCancelled {
      throw error is SyncError ? error : CancellationError()
    } catch {
      throw SyncError(kind: .failed, entity: entity.name, message: redactor.redact("\(error)"))
    }
  }

  /// The names of the slices that an entity has now.
  private func slices(of plan: EntityPlan) async throws -> [String] {
    let names: [String] =
      switch plan.source.slices?.kind {
      case .parents: Array(Set(try await chosenParents(plan).map { $0.name(in: plan) }))
      case .buckets(let count): (0..<count).map(String.init)
      case .windows: (plan.source.paging.windows?(Self.mostSlices + 1) ?? []).map(Timestamp.text)
      case nil: []
      }
    guard names.count <= Self.mostSlices else {
      throw WalkFailure("\(names.count) slices are more than the \(Self.mostSlices) that an entity can have")
    }
    return names
  }

  /// Ends a generation of slices, all of which were walked and committed since it began: rows that none of them saw are
  /// gone.
  ///
  /// A row that may go from one slice to another could be where a slice is not looking any more; it has to be missing in two
  /// generations.
  private func close(
    _ generation: SliceGeneration, _ prepared: Prepared, _ run: inout RunRecord, in queue: any WorkQueue
  ) async throws -> (work: Work, done: Committed) {
    let plan = prepared.plan
    let proof = ProofOfCompleteness(generation)
    run.add(generation.sums)
    run.started = generation.began
    run.outcome = proof == nil ? .unproven : .proven
    if proof == nil {
      let count = generation.slices - generation.proven
      run.reason = redactor.redact(
        "\(count) of \(generation.slices) slices \(count == 1 ? "is" : "are") not proven complete: \(generation.firstDoubt ?? "")"
      )
    }
    var seen = SeenKeys()
    var deletion: ArmedDeletion?
    var scope: DeletionScope?
    if let proof, plan.deletion.isByAbsence {
      let found = try await sliceKeys(of: plan.name, in: queue)
      seen.index = found.rows
      scope = deletionScope(plan, owners: found.owners)
      var policy = plan.deletion
      if plan.mayMoveBetweenSlices { policy.runs = max(policy.runs, 2) }
      deletion = ArmedDeletion(
        proof: proof, seen: seen.index, scope: scope, policy: policy, mark: plan.mark,
        allowed: options.allowedDeletions)
      let doubt =
        found.isWhole
        ? try await verify(prepared, seen.index, scope)?.description
        : "what its slices have seen is not known: they ran before a deletion was declared"
      if let doubt { (deletion, run.outcome, run.reason) = (nil, .unproven, redactor.redact(doubt)) }
    }
    run.finished = Timestamp.now
    func nothing(_ schema: TableSchema) -> TableRows {
      TableRows(schema: schema, batches: [], superseded: [])
    }
    var commit = Commit(
      rows: nothing(plan.schema),
      // Rows without an owner are looked for, whoever's they were.
      nested: plan.decoding.allNested.map { nested in
        NestedRows(
          rows: nothing(nested.schema),
          replacement: nested.schema.references.first(where: \.isOwner).map {
            NestedRows.Replacement(seen: KeyIndex(), scope: DeletionScope(columns: $0.columns))
          })
      },
      referenced: plan.referenced, deletion: deletion, tombstones: nil, gone: nil, seen: seen,
      keptNested: [], mark: nil, rejects: [], run: run, state: ["run": run.run], pages: nil,
      isIncrement: false)
    commit.settlement = plan.claim.map {
      var settlement = Settlement(claim: $0, isAlone: true, isDisjoint: true, slice: nil)
      settlement.closesGeneration = true
      settlement.claim.generation = generation.number
      return settlement
    }
    let work = Work(commit: commit, absentColumns: [], pagesNotModified: 0, withheld: nil, scope: scope)
    do { return (work, try await store.commit([commit])[0]) } catch let failure as FailedCommit {
      throw failure.error
    }
  }

  /// What all slices of an entity have seen.
  private func sliceKeys(
    of entity: String, in queue: any WorkQueue
  ) async throws -> (rows: KeyIndex, owners: KeyIndex, isWhole: Bool) {
    let gathered = Mutex((rows: KeyIndex(), owners: KeyIndex(), isWhole: true))
    try await queue.slices(of: entity) { slice in
      gathered.withLock { gathered in
        let isRead = SliceKeys.read(slice.keys ?? [], rows: &gathered.rows, owners: &gathered.owners)
        gathered.isWhole = gathered.isWhole && slice.keys != nil && isRead
      }
    }
    return gathered.withLock { $0 }
  }
}

extension RunRecord {
  /// Adds what runs of slices have counted.
  fileprivate mutating func add(_ sums: RunRecord) {
    (pages, records, bytes) = (pages + sums.pages, records + sums.records, bytes + sums.bytes)
    (inserted, updated) = (inserted + sums.inserted, updated + sums.updated)
    (unchanged, deleted) = (unchanged + sums.unchanged, deleted + sums.deleted)
    (duplicates, rejected) = (duplicates + sums.duplicates, rejected + sums.rejected)
  }
}
