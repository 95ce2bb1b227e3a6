import SyncEngine

/// What a run came to.
enum RunResult: Sendable {
  case committed(SyncReport)
  case failed(SyncError)

  var entity: String {
    switch self {
    case .committed(let report): report.entity
    case .failed(let error): error.entity
    }
  }

  /// Nil for a run that did not come to have a name.
  var record: RunRecord? {
    switch self {
    case .committed(let report): report.record
    case .failed(let error): error.record
    }
  }

  /// `proven`, `unproven`, `incremental`, `failed`, `refused` or `busy`.
  var outcome: String {
    switch self {
    case .committed(let report): report.record.outcome.rawValue
    case .failed(let error):
      switch error.kind {
      case .failed: "failed"
      case .refused: "refused"
      case .busy: "busy"
      }
    }
  }

  /// Why it came to nothing, or is not proven.
  var message: String? {
    switch self {
    case .committed(let report): report.record.reason
    case .failed(let error): error.message
    }
  }

  var status: ExitStatus {
    guard case .failed(let error) = self else { return .done }
    switch error.kind {
    case .failed: return .failed
    case .refused: return .refused
    case .busy: return .busy
    }
  }
}
