/// How much a line matters, in the order of swift-log's levels.
enum LogLevel: String, CaseIterable, Sendable, Comparable {
  case error, warning, info, debug, trace

  static func < (a: LogLevel, b: LogLevel) -> Bool { a.rank < b.rank }

  private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

  /// syslog's number (RFC 5424 §6.2.1).
  var priority: Int {
    switch self {
    case .error: 3
    case .warning: 4
    case .info: 6
    case .debug, .trace: 7
    }
  }
}
