/// What a command's exit status tells a script.
enum ExitStatus: Equatable {
  /// 0
  case done
  /// 1: a sync failed.
  case failed
  /// 2: usage, configuration or declaration; nothing was asked or written.
  case usage
  /// 3: a guard refused; nothing was lost, a person decides.
  case refused
  /// 4: another run holds the entity.
  case busy
  /// 5: `plan` found something to do.
  case differences
  /// 128 + the signal's number.
  case signal(Int32)

  var rawValue: Int32 {
    switch self {
    case .done: 0
    case .failed: 1
    case .usage: 2
    case .refused: 3
    case .busy: 4
    case .differences: 5
    case .signal(let number): 128 + number
    }
  }

  /// For people: the help and the manual.
  static let meanings: [(status: String, meaning: String)] = [
    ("0", "done"), ("1", "a sync failed"), ("2", "usage, configuration or declaration"),
    ("3", "a deletion guard refused"), ("4", "another run holds the entity"),
    ("5", "plan found something to do"), ("128 + n", "ended by signal n (watch ends with 0)"),
  ]

  /// The status of several runs: the first of 1, 3, 4 and 5 that any ended with.
  static func of(_ statuses: [ExitStatus]) -> ExitStatus {
    [.failed, .refused, .busy, .differences].first { statuses.contains($0) } ?? .done
  }
}
