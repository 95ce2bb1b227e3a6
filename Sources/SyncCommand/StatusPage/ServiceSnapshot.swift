import SyncEngine

/// What the service is doing, at one moment: what the status page, the metrics and the health answers are made of.
///
/// Times are milliseconds since 1970. Texts are without secrets.
struct ServiceSnapshot: Sendable {
  var program: String
  var version: String
  /// Without secrets.
  var store: String
  var now: Int64
  var started: Int64
  /// How long ago the scheduler's loop turned last.
  var heartbeatAge: Duration
  var entities: [EntitySnapshot]
  var alerts = AlertCounts()

  struct AlertCounts: Sendable, Hashable {
    var sent = 0
    var failed = 0
    var dropped = 0
  }
}

struct EntitySnapshot: Sendable {
  var name: String
  var table: String
  var api: String
  var interval: Duration
  /// Nil where the table was not counted yet or is not there.
  var rows: Int?
  var nextRun: Int64?
  var running: Running?
  /// When the last run ended that was committed.
  var lastSuccess: Int64?
  /// Runs in a row that came to nothing.
  var failures = 0
  /// What the last of them said.
  var lastError: String?
  /// The last runs, the oldest first; 60 at most. Those of earlier processes are among them.
  var runs: [RunRecord] = []
  var totals = Totals()

  struct Running: Sendable {
    var started: Int64
    var pages = 0
    var records = 0
    /// Records of the whole walk, where the source names a total.
    var total: Int?
    var bytes = 0
  }

  /// Since the process started.
  struct Totals: Sendable {
    /// By the outcome's name: those of `RunRecord.Outcome`, and `busy`.
    var runs: [String: Int] = [:]
    var pages = 0
    var bytes = 0
    var records = 0
    var inserted = 0
    var updated = 0
    var unchanged = 0
    var deleted = 0
    var duplicates = 0
    var rejected = 0
    var seconds = 0.0
    /// Runs that took at most so long, by the bounds of `durationBounds`; not cumulative.
    var durations = [Int](repeating: 0, count: EntitySnapshot.durationBounds.count + 1)
  }
  /// Seconds.
  static let durationBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800]
}
