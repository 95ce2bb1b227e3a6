/// What one worker does at a time: an entity, or a slice of one.
public struct WorkUnit: Sendable, Hashable {
  public var entity: String
  /// The slice's name: a parent's key, the number of a bucket, the beginning of a window; `""` for the entity itself.
  public var slice: String

  public init(entity: String, slice: String = "") { (self.entity, self.slice) = (entity, slice) }

  public var isSlice: Bool { !slice.isEmpty }

  /// `book`, `order_line[42]`
  public var name: String { isSlice ? "\(entity)[\(slice)]" : entity }
}

/// The right to one run of a unit. It ends with the worker's lease.
public struct Claim: Sendable, Hashable {
  public var unit: WorkUnit
  /// The worker's number in the store.
  public var worker: Int64
  /// Grows with each claim of the unit and with each that was taken away: a commit with an older one is refused.
  public var fence: Int64
  /// The generation of the entity's slices in which the run begins.
  public var generation: Int64
  /// When that began, in milliseconds since 1970.
  public var generationBegan: Int64
  /// Runs of the unit that failed in a row before this one.
  ///
  /// Less than none where that one was refused by a guard.
  public var failures: Int
  /// When the unit runs.
  public var schedule: Schedule

  package init(
    unit: WorkUnit, worker: Int64, fence: Int64, generation: Int64, generationBegan: Int64, failures: Int,
    schedule: Schedule
  ) {
    (self.unit, self.worker, self.fence, self.generation) = (unit, worker, fence, generation)
    self.generationBegan = generationBegan
    (self.failures, self.schedule) = (failures, schedule)
  }
}

/// The claim that a run was made for is not its worker's any more. Nothing was written.
public struct ClaimLost: Error, Sendable, CustomStringConvertible {
  public let description: String

  package init(_ unit: WorkUnit) {
    description =
      "the lease of \(unit.name) ended before the run did, and another worker may have it; nothing was written"
  }
}

/// What a commit says of the unit that it is made for, in the same transaction as the rows.
public struct Settlement: Sendable {
  package var claim: Claim
  /// Whether no other slice may commit at the same time.
  package var isAlone: Bool
  /// Whether other slices of the entity have no rows in common with it.
  package var isDisjoint: Bool
  /// What a slice has seen; nil for an entity.
  package var slice: SliceRecord?
  /// Whether it ends the generation of the entity's slices.
  package var closesGeneration = false

  package init(claim: Claim, isAlone: Bool, isDisjoint: Bool, slice: SliceRecord?) {
    (self.claim, self.isAlone, self.isDisjoint, self.slice) = (claim, isAlone, isDisjoint, slice)
  }
}

/// What a slice's last run has seen.
public struct SliceRecord: Sendable {
  /// Whether it was proven complete.
  package var isProven: Bool
  /// Keys of rows, and of the owners whose rows it judged, as ``SliceKeys`` writes them; nil where no deletion by absence is
  /// declared.
  package var keys: [UInt8]?

  package init(isProven: Bool, keys: [UInt8]?) { (self.isProven, self.keys) = (isProven, keys) }
}
