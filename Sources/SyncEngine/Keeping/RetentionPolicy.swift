/// How long a store keeps what runs leave behind. Rows of entities are no part of it.
public struct RetentionPolicy: Sendable, Hashable {
  /// Records of runs that began earlier go, after two days at the earliest, since the guard of deletions looks at them. An entity's last run and its last one that was committed stay, and so do
  /// runs whose rejected records are still there.
  public var runs: Duration
  /// Of more runs of one entity the oldest go, whatever their age. Those of the last two days that the guard of
  /// deletions looks at stay.
  public var runsPerEntity: Int
  /// Rejected records of runs that began earlier go; those of the last run of an entity that had some stay.
  public var rejects: Duration
  /// Pages of runs that were ended go when they are older, or older than any entity declares them to be of use.
  public var journals: Duration

  public init(
    runs: Duration = .seconds(90 * 86_400), runsPerEntity: Int = 10_000,
    rejects: Duration = .seconds(90 * 86_400), journals: Duration = .seconds(7 * 86_400)
  ) {
    (self.runs, self.runsPerEntity, self.rejects, self.journals) = (runs, runsPerEntity, rejects, journals)
  }
}

/// What a store is asked to forget.
public struct PruneRequest: Sendable {
  public var policy: RetentionPolicy
  /// In milliseconds since 1970.
  public var now: Int64
  /// Entities that the program declares: what is kept of their pages stays.
  public var declared: Set<String>

  public init(_ policy: RetentionPolicy, now: Int64, declared: Set<String>) {
    (self.policy, self.now, self.declared) = (policy, now, declared)
  }

  /// When something has to have begun to be kept for this long, in milliseconds since 1970.
  package func earliest(_ age: Duration) -> Int64 {
    let milliseconds = age.components.seconds.multipliedReportingOverflow(by: 1000)
    return milliseconds.overflow
      ? .min : now.subtractingReportingOverflow(milliseconds.partialValue).partialValue
  }
}

/// What a store has forgotten.
public struct Pruned: Sendable, Hashable {
  public var runs = 0
  public var rejects = 0
  /// What was kept of pages, and notes of absent rows, of entities that nobody runs any more.
  public var abandoned = 0
  /// Pages of runs that were ended, or files of them.
  public var journals = 0
  /// Whether all is done: another program that wrote for long may have been in the way.
  public var isComplete = false

  public init() {}
}
