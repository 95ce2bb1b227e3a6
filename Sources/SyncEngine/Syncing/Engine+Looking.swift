// What asks the source and writes nothing.
extension Engine {
  /// Fetches and compares as a run does, and writes nothing: what a run would do now.
  ///
  /// - Throws: ``DeclarationError``, ``SyncError``.
  public func plan(
    _ entity: any Entity.Type, onProgress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
  ) async throws -> SyncPlan {
    let prepared = try prepared(entity)
    let plan = prepared.plan
    var runs = [
      RunRecord(
        run: Self.newRunID(), entity: plan.name, started: Timestamp.now, finished: 0, outcome: .failed)
    ]
    var position = 0
    do {
      let (work, done) = try await fetchAndCommit(
        [prepared], &runs, at: &position, isRehearsal: true, tellsChanges: true, onProgress)[0]
      var planned = SyncPlan(record: done.run, changes: done.changes ?? [])
      if let withheld = work.withheld, plan.deletion.isByAbsence, work.commit.isIncrement == false {
        let keys = try await store.unseen(work.commit.seen.index, scope: work.scope, in: plan.schema)
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
      let parents = try await readParents(plan)
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
    let rows = try walk.rows.map(\.batch).flatMap { batch in
      let memory = try batch.memory()
      // Of a key that comes twice the last record counts.
      return (0..<batch.rowCount).filter { !walk.superseded.contains(batch.firstOrdinal + $0) }
        .map { row in columns.indices.map { memory.value(row: row, column: $0) } }
    }
    return SampleRows(
      columns: columns, rows: Array(rows.prefix(limit)), badRecords: walk.rejects.count,
      tablesLeftOut: plan.decoding.allNested.map(\.schema.name))
  }

  func look(
    _ entity: any Entity.Type, _ extent: WalkExtent, _ onProgress: @escaping @Sendable (SyncProgress) -> Void
  ) async throws -> Walk {
    let prepared = try prepared(entity)
    do {
      var seen = SeenKeys()
      return try await walker(prepared, onProgress).walk(
        parents: try await readParents(prepared.plan), seen: &seen, number: 1, extent: extent)
    } catch let error as CancellationError {
      throw error
    } catch {
      throw SyncError(kind: .failed, entity: prepared.plan.name, message: redactor.redact("\(error)"))
    }
  }
}
