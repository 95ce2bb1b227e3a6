import FoundationEssentials
import PostgresStore
import SyncEngine

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// What a measurement has cost the server.
struct Load {
  /// The server's counters at one moment.
  struct Moment {
    var time = ContinuousClock.now
    var claimed: Int
    var settled: Int
    var transactions: Int
    var logBytes: Int
    var serverSeconds: Double
    var ownSeconds: Double
    var deadRows: Int
    var vacuums: Int
    /// Bytes of the table of units and of its indexes.
    var sizes: [(name: String, bytes: Int)]

    init(_ connection: Connection, _ counts: Simulation.Counts) throws {
      (claimed, settled) = (counts.claimed, counts.settled)
      // Sessions tell the counters now and then (postgresql.org/docs/15/monitoring-stats.html).
      let row = try connection.run(
        """
        SELECT xact_commit + xact_rollback, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint,
          (SELECT n_dead_tup FROM pg_stat_all_tables WHERE relid = 'syncd_units'::regclass),
          (SELECT autovacuum_count FROM pg_stat_all_tables WHERE relid = 'syncd_units'::regclass),
          (SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer')
        FROM pg_stat_database WHERE datname = current_database()
        """)
      func integer(_ column: Int) -> Int { row.text(0, column).flatMap { Int($0) } ?? 0 }
      (transactions, logBytes, deadRows, vacuums) = (integer(0), integer(1), integer(2), integer(3))
      serverSeconds = Processes.secondsOfServer(checkpointer: integer(4))
      ownSeconds = Double(clock()) / Double(CLOCKS_PER_SEC)
      let found = try connection.run(
        """
        SELECT relname, pg_relation_size(oid) FROM pg_class WHERE oid = 'syncd_units'::regclass
          OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'syncd_units'::regclass) ORDER BY relname
        """)
      sizes = (0..<found.count).map { row in
        (found.text(row, 0) ?? "", found.text(row, 1).flatMap { Int($0) } ?? 0)
      }
    }
  }

  var from: Moment
  var to: Moment
  var times: [Operation: (count: Int, own: [Double], withWait: [Double])]

  init(from: Moment, to: Moment, _ timings: Timings) {
    (self.from, self.to) = (from, to)
    times = Dictionary(uniqueKeysWithValues: Operation.allCases.map { ($0, timings.quantiles($0)) })
  }

  var seconds: Double { (to.time - from.time).inSeconds }
  private func rate(_ count: Int) -> Double { Double(count) / seconds }
  var settledPerSecond: Double { rate(to.settled - from.settled) }
  var serverCores: Double { (to.serverSeconds - from.serverSeconds) / seconds }
  var ownCores: Double { (to.ownSeconds - from.ownSeconds) / seconds }
  var transactionsPerSecond: Double { rate(to.transactions - from.transactions) }

  var lines: [String] {
    var lines = [
      "  \(number(rate(to.claimed - from.claimed))) claims/s, \(number(settledPerSecond)) settled/s, \(number(transactionsPerSecond)) transactions/s",
      "  processors: server \(number(serverCores)), simulation \(number(ownCores)); WAL \(number(Double(to.logBytes - from.logBytes) / Double(max(1, to.settled - from.settled)))) bytes a run",
      "  " + pad("ms", 8) + pad("count", 9)
        + ["p50", "p95", "p99", "max"].map { pad($0, 9) }.joined() + "  with the wait for a connection:",
    ]
    for operation in Operation.allCases {
      guard let time = times[operation], time.count > 0 else { continue }
      lines.append(
        "  " + pad(operation.rawValue, 8) + pad("\(time.count)", 9)
          + (time.own + time.withWait).map { pad(number($0), 9) }.joined())
    }
    let grown = zip(from.sizes, to.sizes).map {
      "\($0.name) \(number(Double($0.bytes) / 1e6)) → \(number(Double($1.bytes) / 1e6)) MB"
    }
    lines.append("  " + grown.joined(separator: ", "))
    lines.append(
      "  dead rows \(from.deadRows) → \(to.deadRows), autovacuum \(to.vacuums - from.vacuums) times")
    return lines
  }
}

/// A number with three digits or more.
func number(_ value: Double) -> String {
  let digits = value < 10 ? 2 : value < 100 ? 1 : 0
  let factor = [1.0, 10, 100][digits]
  let rounded = (value * factor).rounded() / factor
  return digits == 0 ? "\(Int(rounded))" : "\(rounded)"
}

func pad(_ text: String, _ width: Int) -> String {
  String(repeating: " ", count: max(1, width - text.count)) + text
}

/// What the server's processes have used, where the server is on this machine and it is Linux.
enum Processes {
  /// User and system time of all of them, those that have ended too (proc_pid_stat(5)).
  static func secondsOfServer(checkpointer: Int) -> Double {
    guard let parent = fields(checkpointer).flatMap({ Int($0[1]) }),
      let all = try? FileManager.default.contentsOfDirectory(atPath: "/proc")
    else { return 0 }
    var ticks = 0
    for case let (process?) in all.map({ Int($0) }) {
      guard let fields = fields(process), fields.count > 14 else { continue }
      if process == parent {
        ticks += fields[11...14].compactMap { Int($0) }.reduce(0, +)
      } else if fields[1] == "\(parent)" {
        ticks += fields[11...12].compactMap { Int($0) }.reduce(0, +)
      }
    }
    return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// From the third one, the state: the name before it may have blanks.
  private static func fields(_ process: Int) -> [Substring]? {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
      let end = text.lastIndex(of: ")")
    else { return nil }
    return text[text.index(after: end)...].split(separator: " ")
  }
}
