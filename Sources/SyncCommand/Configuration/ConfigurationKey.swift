import SyncEngine

/// What can be configured: where it is said, and what it means. Reading, `syncd config`, the manual and the messages all
/// come from this table.
struct ConfigurationKey: Sendable {
  /// Names from the root of the file; `*` stands for the name of an API or an entity.
  let path: [String]
  let variable: String?
  let option: CommandOption?
  /// What is written there.
  let form: String
  /// What holds where nothing is said; nil where that depends on the declaration.
  let standard: String?
  let meaning: String
  let apply: @Sendable (inout Configuration, Setting) throws -> Void

  /// `apis.NAME.url`
  var name: String { path.map { $0 == "*" ? "NAME" : $0 }.joined(separator: ".") }

  private init(
    _ name: String, _ variable: String? = nil, _ option: CommandOption? = nil, _ form: String,
    _ standard: String?,
    _ meaning: String, _ apply: @escaping @Sendable (inout Configuration, Setting) throws -> Void
  ) {
    path = name.split(separator: ".").map(String.init)
    (self.variable, self.option, self.form, self.standard) = (variable, option, form, standard)
    (self.meaning, self.apply) = (meaning, apply)
  }

  static let all: [ConfigurationKey] = [
    .init(
      "store", "SYNCD_STORE", .store, "LOCATION", "syncd.sqlite",
      "where the rows are kept: a path, relative to the working directory, scheme:… of a linked store, or env:NAME or credential:NAME where that stands"
    ) { $0.store = try $1.location() },
    .init(
      "interval", "SYNCD_INTERVAL", .interval, "DURATION", "5m",
      "of watch: from one run's start to the next one's, for entities without an interval of their own"
    ) { $0.interval = try $1.duration() },
    .init(
      "jitter", "SYNCD_JITTER", nil, "DURATION", "0s",
      "each run of watch starts later by a random part of this, for entities that declare no schedule"
    ) { $0.jitter = try $1.durationOrZero() },
    .init(
      "aligned", "SYNCD_ALIGNED", nil, "true|false", "false",
      "whether intervals are counted from full hours and days in UTC, for entities that declare no schedule"
    ) { $0.isAligned = try $1.bool() },
    .init(
      "parallel", "SYNCD_PARALLEL", .parallel, "NUMBER", "4", "entities that watch syncs at a time, 1 to 64"
    ) { $0.parallel = try $1.count(in: 1...64) },
    .init(
      "shared", "SYNCD_SHARED", nil, "true|false", "false",
      "whether all programs that watch with the same store share the work and the rates of APIs; the store has to be on a server"
    ) { $0.isShared = try $1.bool() },
    .init(
      "worker", "SYNCD_WORKER", .worker, "NAME", nil,
      "the name of this program among those that share the work: that of the machine by default"
    ) { $0.worker = try $1.text() },
    .init(
      "lease", "SYNCD_LEASE", nil, "DURATION", "30s",
      "how long a worker that says nothing keeps what it has claimed, 1s to 1h"
    ) { $0.lease = try $1.duration(in: .seconds(1) ... .seconds(3600)) },
    .init(
      "wait", "SYNCD_WAIT", .wait, "DURATION", "60s",
      "how long a run waits for another one of the same entity"
    ) { $0.wait = try $1.duration() },
    .init(
      "busy", "SYNCD_BUSY", nil, "DURATION", "60s",
      "how long a commit waits for other programs' transactions in the store"
    ) { $0.busy = try $1.duration() },
    .init(
      "memory", "SYNCD_MEMORY", nil, "SIZE", "64MB",
      "rows of a run that are held in memory: 512kB, 64MB, 1GB; further ones wait in a file without a name"
    ) { $0.memory = try $1.size() },
    .init(
      "log_format", "SYNCD_LOG_FORMAT", .logFormat, "text|json|journal", "text",
      "how a line of the log is written: for people, as a JSON object, or with its fields to the systemd journal"
    ) { $0.logFormat = try $1.word() },
    .init(
      "log_level", "SYNCD_LOG_LEVEL", .logLevel, "error|warning|info|debug|trace", "info",
      "what is logged: info has a line for each run, trace one for each page"
    ) { $0.logLevel = try $1.word() },
    .init(
      "http", "SYNCD_HTTP", .http, "ADDRESS:PORT", "",
      "where watch serves its status page, /metrics, /healthz and /readyz; nowhere by default"
    ) { $0.http = try $1.text() },
    .init(
      "http_token", nil, nil, "REFERENCE", "",
      "who asks has to have it: a Bearer token, or the password in a browser; needed for other than loopback addresses"
    ) { $0.httpToken = try $1.secret() },
    .init(
      "on_failure", nil, nil, "TARGETS", "",
      "what is told when an entity begins to fail: a command or a webhook"
    ) { try $0.alerts.set("on_failure", to: $1.value, at: $1.place) },
    .init(
      "on_recovery", nil, nil, "TARGETS", "", "the same when it is synced again"
    ) { try $0.alerts.set("on_recovery", to: $1.value, at: $1.place) },
    .init(
      "on_guard", nil, nil, "TARGETS", "", "the same when a deletion guard refuses"
    ) { try $0.alerts.set("on_guard", to: $1.value, at: $1.place) },
    .init(
      "alert_after", "SYNCD_ALERT_AFTER", nil, "NUMBER", "1",
      "failures in a row before on_failure is told, 1 to 1000"
    ) { $0.alertAfter = try $1.count(in: 1...1000) },
    .init(
      "retention.runs", nil, nil, "DURATION", "90d",
      "how long records of runs are kept: each entity's last one stays"
    ) { $0.retention.runs = try $1.duration() },
    .init(
      "retention.runs_per_entity", nil, nil, "NUMBER", "10000",
      "of more runs of one entity the oldest are forgotten"
    ) { $0.retention.runsPerEntity = try $1.count(in: 1...10_000_000) },
    .init(
      "retention.rejects", nil, nil, "DURATION", "90d",
      "how long records that were left out as bad are kept: those of the last run that had some stay"
    ) { $0.retention.rejects = try $1.duration() },
    .init(
      "apis.*.url", "SYNCD_API_NAME_URL", nil, "URL", nil,
      "another address of an API, such as a test server's"
    ) { $0.urls[$1.path[1]] = try $1.text() },
    .init("apis.*.rate", nil, nil, "RATE", nil, "another rate of an API: 10/s, 100/min or unlimited") {
      $0.rates[$1.path[1]] = try $1.rate()
    },
    .init("entities.*.every", nil, nil, "DURATION", nil, "an entity's own interval") {
      $0.every[$1.path[1]] = try $1.duration()
    },
    .init("entities.*.jitter", nil, nil, "DURATION", nil, "an entity's own jitter, at most its interval") {
      $0.jitters[$1.path[1]] = try $1.durationOrZero()
    },
    .init(
      "entities.*.aligned", nil, nil, "true|false", nil,
      "whether an entity's runs are at full multiples of its interval in UTC"
    ) { $0.alignments[$1.path[1]] = try $1.bool() },
    .init(
      "entities.*.enabled", nil, nil, "true|false", "true",
      "a disabled entity is synced only when it is named"
    ) { if try $1.bool() { $0.disabled.remove($1.path[1]) } else { $0.disabled.insert($1.path[1]) } },
  ]

  /// Variables that choose the file and what holds of it.
  static let fileVariables = ["SYNCD_CONFIG", "SYNCD_PROFILE"]

  /// The names that may follow others in the file, in the order of the table.
  ///
  /// - Parameter path: with `*` for the name of an API or an entity.
  static func names(under path: [String]) -> [String] {
    var names: [String] = []
    for key in all where key.path.count > path.count && Array(key.path.prefix(path.count)) == path {
      let name = key.path[path.count]
      if !names.contains(name) { names.append(name) }
    }
    return names
  }
}
