import SyncEngine

/// How an entity is, in a word.
enum EntityState: String {
  case ok
  case running
  case failing
  case refused
  case notYet = "not yet"

  init(_ entity: EntitySnapshot) {
    if entity.failures > 0 {
      self = entity.runs.last?.outcome == .refused ? .refused : .failing
    } else if entity.running != nil {
      self = .running
    } else {
      self = entity.lastSuccess == nil ? .notYet : .ok
    }
  }

  /// Whether a person is needed.
  var isBad: Bool { self == .failing || self == .refused }

  var style: StaticString {
    switch self {
    case .ok: "ok"
    case .running: "running"
    case .failing: "failing"
    case .refused: "refused"
    case .notYet: "waiting"
    }
  }
}
