import SyncEngine

/// What `/metrics` says of a snapshot.
enum Metrics {
  static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  /// Runs that no record is kept of are among them.
  private static let outcomes: [String] =
    [RunRecord.Outcome.proven, .unproven, .incremental, .failed, .refused].map(\.rawValue) + ["busy"]

  static func text(_ snapshot: ServiceSnapshot, process: ProcessUse = ProcessUse()) -> String {
    var out = MetricsText()
    out.add(
      "syncd_build_info", .gauge, "The program; always 1.",
      [([("program", snapshot.program), ("version", snapshot.version)], 1)])
    out.add(
      "syncd_scheduler_heartbeat_age_seconds", .gauge, "How long ago the scheduler turned last.",
      snapshot.heartbeatAge.inSeconds)
    let alerts = snapshot.alerts
    out.add(
      "syncd_alerts_total", .counter, "Alerts since the start, by what became of them.",
      [("sent", alerts.sent), ("failed", alerts.failed), ("dropped", alerts.dropped)]
        .map { ([("result", $0.0)], Double($0.1)) })
    add(snapshot.entities, to: &out)
    add(process, started: snapshot.started, to: &out)
    return out.text
  }

  private static func add(_ entities: [EntitySnapshot], to out: inout MetricsText) {
    func each(
      _ name: String, _ kind: MetricsText.Kind, _ help: String, _ value: (EntitySnapshot) -> Double?
    ) {
      out.add(name, kind, help, entities.map { ([("entity", $0.name)], value($0)) })
    }
    func total(_ name: String, _ help: String, _ value: (EntitySnapshot.Totals) -> Int) {
      each(name, .counter, help) { Double(value($0.totals)) }
    }
    func instant(_ milliseconds: Int64?) -> Double? { milliseconds.map { Double($0) / 1000 } }

    out.add(
      "syncd_entity_info", .gauge, "The entity's table and API; always 1.",
      entities.map { ([("entity", $0.name), ("table", $0.table), ("api", $0.api)], 1) })
    each("syncd_interval_seconds", .gauge, "The interval that the entity is synced on.") {
      $0.interval.inSeconds
    }
    each("syncd_rows", .gauge, "Rows of the entity's table.") { $0.rows.map(Double.init) }
    each("syncd_running", .gauge, "1 while a run goes on, else 0.") { $0.running == nil ? 0 : 1 }
    each("syncd_consecutive_failures", .gauge, "Runs in a row that came to nothing.") { Double($0.failures) }
    each("syncd_last_run_timestamp_seconds", .gauge, "When the last run ended, whatever came of it.") {
      instant($0.runs.last?.finished)
    }
    each("syncd_last_success_timestamp_seconds", .gauge, "When the last run ended that was committed.") {
      instant($0.lastSuccess)
    }
    each("syncd_next_run_timestamp_seconds", .gauge, "When the next run is due.") { instant($0.nextRun) }
    out.add(
      "syncd_runs_total", .counter, "Runs that ended, by their outcome.",
      entities.flatMap { entity in
        outcomes.map {
          ([("entity", entity.name), ("outcome", $0)], Double(entity.totals.runs[$0] ?? 0))
        }
      })
    out.addHistogram(
      "syncd_run_duration_seconds", "How long runs took.", bounds: EntitySnapshot.durationBounds,
      entities.map { ([("entity", $0.name)], $0.totals.durations, $0.totals.seconds) })
    total("syncd_pages_total", "Pages that were read.") { $0.pages }
    total("syncd_received_bytes_total", "Bytes of bodies that were received.") { $0.bytes }
    total("syncd_records_total", "Records that were read.") { $0.records }
    total("syncd_duplicate_records_total", "Records whose key came twice in a run.") { $0.duplicates }
    total("syncd_rejected_records_total", "Records that were left out as bad.") { $0.rejected }
    total("syncd_inserted_rows_total", "Rows that were inserted.") { $0.inserted }
    total("syncd_updated_rows_total", "Rows that were updated.") { $0.updated }
    total("syncd_unchanged_rows_total", "Rows that came as they were in the table.") { $0.unchanged }
    total("syncd_deleted_rows_total", "Rows that were deleted.") { $0.deleted }
  }

  /// Names as Prometheus' client libraries have them.
  private static func add(_ process: ProcessUse, started: Int64, to out: inout MetricsText) {
    out.add(
      "process_start_time_seconds", .gauge, "When the process started, since 1970.", Double(started) / 1000)
    out.add(
      "process_cpu_seconds_total", .counter, "Processor time of the process.", process.processorTime)
    out.add(
      "process_resident_memory_bytes", .gauge, "Memory of the process that is held.", process.residentMemory)
    out.add(
      "process_virtual_memory_bytes", .gauge, "Addresses of the process that are mapped.",
      process.virtualMemory)
    out.add("process_threads", .gauge, "Threads of the process.", process.threads)
    out.add("process_open_fds", .gauge, "Descriptors that are open.", process.openFiles)
    out.add("process_max_fds", .gauge, "Descriptors that may be open.", process.openFilesLimit)
  }
}
