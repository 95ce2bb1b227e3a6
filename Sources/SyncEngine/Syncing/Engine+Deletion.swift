import HTTP

/// What a run deletes, and why it may.
extension Engine {
  /// Walks over pages that shift, in one run.
  private static let mostWalks: UInt8 = 4

  enum Arming {
    case armed(ArmedDeletion, ProofOfCompleteness)
    case nothingMissing(ProofOfCompleteness)
    /// The rows that are missing may be there after all.
    case doubtful([Doubt])
  }

  /// Makes sure that the rows which a proven walk did not see are gone.
  ///
  /// Pages that shift may have hidden a row that is there. Only where a walk found something to delete does another one
  /// have to agree. Where rows have gone between the two, others may have moved up unseen in both of them, so that the
  /// later one needs one more to agree with it.
  ///
  /// - Parameters:
  ///   - walk: what the proven walk brought; later ones are added.
  ///   - scope: the rows that are judged.
  func arm(
    _ first: ProofOfCompleteness, _ prepared: Prepared, _ walker: inout Walker, _ walk: inout Walk,
    _ seen: inout SeenKeys, parents: [[StoredValue]], scope: DeletionScope?
  ) async throws -> Arming {
    let plan = prepared.plan
    func armed(_ proof: ProofOfCompleteness) -> ArmedDeletion? {
      ArmedDeletion(
        proof: proof, seen: seen.index, scope: scope, policy: plan.deletion, mark: plan.mark,
        allowed: options.allowedDeletions)
    }
    var (proof, deletion) = (first, armed(first))
    var number: UInt8 = 1
    while deletion == nil {
      // Which rows a slice without parents answers for is not known.
      if plan.slice == nil || plan.parent != nil {
        let unseen = try await store.countUnseen(seen.index, scope: scope, in: plan.schema).unseen
        guard unseen > 0 else { break }
      }
      number += 1
      try await walker.walk(&walk, parents: parents, seen: &seen, number: number, confirming: proof)
      let vanished = seen.index.count(lastSeenIn: number - 1)
      switch walk.outcome {
      case .unproven(let reasons): return .doubtful(reasons)
      case .proven where vanished > 0 && number == Self.mostWalks:
        return .doubtful([
          Doubt("the pages shift: in each of \(number) walks records of the one before were gone")
        ])
      case .proven(let confirmed):
        proof = confirmed
        if vanished == 0 { deletion = armed(confirmed) }
      }
    }
    guard let deletion else { return .nothingMissing(proof) }
    if plan.slice == nil, let doubt = try await verify(prepared, seen.index, scope) {
      return .doubtful([doubt])
    }
    return .armed(deletion, proof)
  }

  /// The declared rows, and with parents those of the parents that were walked.
  func deletionScope(_ plan: EntityPlan, _ parents: [[StoredValue]]) -> DeletionScope? {
    var owners = KeyIndex()
    if let parent = plan.parent {
      var bytes = KeyBytes()
      for row in parents {
        bytes.removeAll()
        for owner in parent.owner { bytes.append(row[owner.position]) }
        _ = bytes.withBytes { owners.insert($0, ordinal: 0, walk: 0) }
      }
    }
    return deletionScope(plan, owners: owners)
  }

  /// - Parameter owners: the keys of the parents.
  func deletionScope(_ plan: EntityPlan, owners: KeyIndex) -> DeletionScope? {
    var scope = DeletionScope(conditions: plan.conditions)
    if let mark = plan.mark { scope.conditions.append(.isNull(column: mark)) }
    if let parent = plan.parent { (scope.columns, scope.keys) = (parent.owner.map(\.column), owners) }
    return scope.columns.isEmpty && scope.conditions.isEmpty ? nil : scope
  }

  /// The keys of rows that the source says are gone, by what it says last; nil where there is none.
  ///
  /// - Throws: ``SpoolError``
  func statedKeys(_ walk: Walk, _ plan: EntityPlan) throws -> KeyIndex? {
    let last = walk.tombstones.subtracting(walk.superseded)
    guard !last.isEmpty else { return nil }
    var keys = KeyIndex()
    var key = KeyBytes()
    for batch in walk.rows.map(\.batch) {
      let rows = (0..<batch.rowCount).filter { last.contains(batch.firstOrdinal + $0) }
      if rows.isEmpty { continue }
      let memory = try batch.memory()
      for row in rows {
        key.set(plan.decoding.keyColumns, of: memory, row)
        _ = key.withBytes { keys.insert($0, ordinal: 0) }
      }
    }
    return keys
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
