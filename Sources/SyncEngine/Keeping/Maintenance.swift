/// What keeping a store well has done.
public struct Maintenance: Sendable, Hashable {
  public var pruned: Pruned
  /// The store's log after it was moved into the file; nil where it has none.
  public var log: StoreLog?
}

/// What a store has written ahead of its file.
public struct StoreLog: Sendable, Hashable {
  /// Bytes of the log's file, before and after.
  public var before: Int64
  public var after: Int64
  public init(before: Int64, after: Int64) { (self.before, self.after) = (before, after) }
}

/// A copy of a store.
public struct Backup: Sendable, Hashable {
  public var file: String
  public var bytes: Int64
  public init(file: String, bytes: Int64) { (self.file, self.bytes) = (file, bytes) }
}

extension Engine {
  /// Forgets old records of runs, and moves what the store has written ahead into its file. It may be called while runs
  /// go on, and holds none of them up for longer than a small commit.
  ///
  /// ```swift
  /// try await engine.maintain()                           // once a day, however often it is called
  /// try await engine.maintain(every: .seconds(3600))      // a service
  /// ```
  ///
  /// When it was done last is kept in the store, so that the programs that use it share the work. Where nothing is due, it
  /// costs one short read.
  ///
  /// - Returns: nil where it was done less than `interval` ago.
  /// - Throws: ``StoreError``; what was forgotten by then stays so.
  @discardableResult
  public func maintain(
    _ policy: RetentionPolicy = RetentionPolicy(), every interval: Duration = .seconds(86_400)
  ) async throws -> Maintenance? {
    let now = Timestamp.now
    guard try await store.exists else { return nil }
    if let last = try await store.state(of: "")[Self.maintained].flatMap({ Int64($0) }),
      // A mark of the future is of a clock that was wrong.
      last <= now, now - last < interval.components.seconds * 1000
    {
      return nil
    }
    var policy = policy
    let longest = declaredPlans.compactMap(\.source.resume.age).max() ?? 0
    policy.journals = max(policy.journals, .milliseconds(longest))
    let pruned = try await store.prune(
      PruneRequest(policy, now: now, declared: Set(declaredPlans.map(\.name))))
    return Maintenance(pruned: pruned, log: try await store.checkpoint())
  }

  /// The state's name for when a store was pruned last, in milliseconds since 1970.
  package static let maintained = "maintained"
}
