import SyncEngine

/// Decides of one entity's runs, one after the other, whether a person is told: once of each trouble, and once of its end.
///
/// ```
/// failed  failed  committed  refused  refused  failed  refused  committed
/// failure         recovery   guard             failure          recovery
/// ```
struct AlertState: Sendable, Hashable {
  /// How a run ended.
  enum End: Sendable, Hashable {
    case committed, failed, refused
    /// Another run held the table: that run tells how things are.
    case busy
  }

  /// Failures in a row before a person is told.
  private let failuresNeeded: Int
  private var failures = 0
  private var hasTold: Set<AlertEvent> = []

  init(alertAfter failuresNeeded: Int = 1) { self.failuresNeeded = max(1, failuresNeeded) }

  /// Takes the end of the next run.
  mutating func event(after end: End) -> AlertEvent? {
    switch end {
    case .busy: return nil
    case .committed:
      let hadTold = !hasTold.isEmpty
      (failures, hasTold) = (0, [])
      return hadTold ? .recovery : nil
    case .failed:
      failures = min(failures + 1, failuresNeeded)
      return failures == failuresNeeded && hasTold.insert(.failure).inserted ? .failure : nil
    case .refused:
      // The source answered: failures that follow are another row.
      failures = 0
      return hasTold.insert(.guard).inserted ? .guard : nil
    }
  }

  /// The same for a unit of shared work: how the runs before went, which others may have done, is known by ``Claim/failures``
  /// alone. A trouble between two of another kind is told anew.
  static func event(after end: End, failuresBefore: Int, alertAfter failuresNeeded: Int) -> AlertEvent? {
    switch end {
    case .busy: nil
    case .committed: failuresBefore < 0 || failuresBefore >= max(1, failuresNeeded) ? .recovery : nil
    case .failed: max(0, failuresBefore) + 1 == max(1, failuresNeeded) ? .failure : nil
    case .refused: failuresBefore < 0 ? nil : .guard
    }
  }
}

extension AlertState.End {
  init(_ kind: SyncError.Kind) {
    switch kind {
    case .failed: self = .failed
    case .refused: self = .refused
    case .busy: self = .busy
    }
  }
}
