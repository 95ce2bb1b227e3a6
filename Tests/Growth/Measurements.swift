import HTTP
import PostgresStore
import SyncEngine

/// What can be measured.
struct Measurements {
  let options: Main.Options

  private func simulation(isChecking: Bool = false, lease: Duration = .seconds(30)) throws -> Simulation {
    try Simulation(options.postgres, pool: options.pool, lease: lease, isChecking: isChecking)
  }

  private func report(_ title: String, _ load: Load, _ simulation: Simulation) {
    say(title)
    for line in load.lines { say(line) }
    let failures = simulation.counts.withLock { $0.failures }
    if let first = failures.first { say("  \(failures.count) failures: \(first)") }
  }

  // MARK: Sharing

  func share() async throws {
    let simulation = try simulation()
    let slices = max(1, options.units / options.entities)
    var schedules = Simulation.schedules(options.entities, every: .seconds(86_400))
    let time = Duration.seconds(options.seconds)
    let cut = try simulation.add(schedules, slices: slices)
    say(
      "\(options.workers) workers, \(options.units) units of \(options.entities) entities, \(options.pool) connections"
    )
    say("cut into slices: \(number(cut.inSeconds)) s")
    try looks(at: simulation)

    let full = try await simulation.run(
      workers: options.workers, schedules: schedules, for: time, warmUp: .seconds(8))
    report("all units are due, for \(options.seconds) s", full, simulation)

    // Each unit at a time of its own, as after some intervals.
    let rate = options.rate > 0 ? Double(options.rate) : max(1, (full.settledPerSecond / 2).rounded())
    let every = Duration.seconds(Double(options.units) / rate)
    try simulation.desk.execute(
      """
      UPDATE syncd_units SET every_ms = \(every.milliseconds),
        ready_at = now() + interval '1 minute' + random() * \(every.milliseconds) * interval '1 millisecond';
      UPDATE syncd_units SET cadence_at = ready_at
      """)
    try simulation.desk.execute("VACUUM FULL syncd_units")
    try simulation.desk.execute("VACUUM ANALYZE syncd_units")
    schedules = Simulation.schedules(options.entities, every: every)
    let steady = try await simulation.run(
      workers: options.workers, schedules: schedules, for: time, warmUp: .seconds(8))
    report("\(number(rate)) units a second are due, for \(options.seconds) s", steady, simulation)

    // What nobody else would hold: a transaction that sees the rows as they were.
    let holder = try simulation.connection()
    try holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM syncd_units LIMIT 1")
    let held = try await simulation.run(
      workers: options.workers, schedules: schedules, for: time, warmUp: .seconds(8))
    report("the same, and a transaction stays open", held, simulation)
    try holder.execute("ROLLBACK")
    let after = try await simulation.run(
      workers: options.workers, schedules: schedules, for: .seconds(15), warmUp: .seconds(8))
    report("15 s after it has ended", after, simulation)
    try looks(at: simulation)
    try simulation.end()
  }

  private func looks(at simulation: Simulation) throws {
    let clock = ContinuousClock()
    let status = try clock.measure { _ = try WorkTables.look(leases: 20, in: simulation.desk) }
    let generation = try clock.measure {
      _ = try WorkTables.generation(of: "entity_0", in: simulation.desk)
    }
    say(
      "status: \(number(status.inMilliseconds)) ms; generation of one entity: \(number(generation.inMilliseconds)) ms"
    )
  }

  func idle() async throws {
    let simulation = try simulation()
    let schedules = Simulation.schedules(options.entities, every: .seconds(86_400))
    _ = try simulation.add(schedules, slices: max(1, options.units / options.entities))
    try simulation.desk.execute("UPDATE syncd_units SET ready_at = now() + interval '1 day'")
    try simulation.desk.execute("VACUUM ANALYZE syncd_units")
    let load = try await simulation.run(
      workers: options.workers, schedules: schedules, for: .seconds(options.seconds), warmUp: .seconds(8))
    report(
      "\(options.workers) workers, \(options.units) units of \(options.entities) entities, none due", load,
      simulation)
    try simulation.end()
  }

  // MARK: Growth

  func entities() async throws {
    say("entities, 1 worker: ms for each unit, and of a claim and a commit (median)")
    say(pad("entities", 9) + ["unit", "claim", "settle"].map { pad($0, 9) }.joined())
    for count in [1, 10, 100, 1000] {
      let simulation = try simulation()
      let schedules = Simulation.schedules(count, every: .seconds(86_400))
      _ = try simulation.add(schedules, slices: 0)
      let load = try await simulation.run(workers: 1, schedules: schedules, for: .seconds(120)) {
        $0.settled == count
      }
      say(
        pad("\(count)", 9) + pad(number(load.seconds * 1000 / Double(count)), 9)
          + [Operation.claim, .settle].map { pad(number(load.times[$0]?.own.first ?? 0), 9) }.joined())
      try simulation.end()
    }
  }

  func workers() async throws {
    say("workers, \(options.pool) connections, 100,000 units that are due: 15 s each")
    say(
      pad("workers", 8)
        + ["settled/s", "server", "sim.", "claim p50", "p99", "with wait", "p99", "settle p50", "p99"].map {
          pad($0, 11)
        }.joined())
    for count in [1, 4, 16, 64, 256, 1000] {
      let simulation = try simulation()
      let schedules = Simulation.schedules(options.entities, every: .seconds(86_400))
      _ = try simulation.add(schedules, slices: 100_000 / options.entities)
      try simulation.desk.execute("ANALYZE syncd_units")
      let load = try await simulation.run(
        workers: count, schedules: schedules, for: .seconds(15), warmUp: .seconds(6))
      let (claim, settle) = (load.times[.claim], load.times[.settle])
      let values =
        [load.settledPerSecond, load.serverCores, load.ownCores]
        + [claim?.own, claim?.withWait, settle?.own].flatMap { times -> [Double] in
          guard let times, times.count > 2 else { return [0, 0] }
          return [times[0], times[2]]
        }
      say(pad("\(count)", 8) + values.map { pad(number($0), 11) }.joined())
      try simulation.end()
    }
  }

  func slices() async throws {
    say(
      "slices of one entity: seconds to cut, ms to claim (1 unit), ms to see how far the generation is,")
    say(
      "ms to see its end and add up its runs, ms to read the keys (10 of each slice), ms to cut again")
    say(
      pad("slices", 9)
        + ["cut s", "claim ms", "look ms", "end ms", "keys ms", "again ms"].map { pad($0, 10) }.joined())
    for count in [100, 10_000, 1_000_000] {
      let simulation = try simulation()
      let desk = simulation.desk
      let clock = ContinuousClock()
      let schedules = Simulation.schedules(1, every: .seconds(86_400))
      let cut = try simulation.add(schedules, slices: count)
      let worker = try desk.transaction { try WorkTables.join(as: "one", lease: .seconds(3600), in: desk) }
      var claims: [Double] = []
      for _ in 0..<50 {
        claims.append(
          try clock.measure {
            _ = try WorkTables.claim(
              schedules, WorkTables.readiness(of: schedules.keys.sorted(), in: desk), blockers: [:], limit: 1,
              for: worker, in: desk)
          }.inMilliseconds)
      }
      let look = try clock.measure { _ = try WorkTables.generation(of: "entity_0", in: desk) }
      // As if all had run.
      try desk.execute(
        """
        UPDATE syncd_units SET holder = NULL, generation = 1, is_proven = true;
        INSERT INTO syncd_runs (run, entity, started_at, finished_at, outcome, pages, records, bytes, inserted, updated, unchanged,
          deleted, duplicates, rejected) SELECT 'r', 'entity_0[' || s || ']', now(), now(), 'proven', 1, 10, 100, 10, 0, 0, 0, 0, 0
          FROM generate_series(1, \(count)) s;
        INSERT INTO syncd_slices SELECT entity, slice, 1, sha256(slice::bytea) || sha256(slice::bytea) || sha256(slice::bytea)
          FROM syncd_units WHERE slice <> ''
        """)
      for table in ["syncd_units", "syncd_runs", "syncd_slices"] {
        try desk.execute("VACUUM ANALYZE \(table)")
      }
      let end = try clock.measure { _ = try WorkTables.generation(of: "entity_0", in: desk) }
      let keys = try clock.measure {
        var bytes = 0
        try WorkTables.slices(of: "entity_0", in: desk) { bytes += $0.keys?.count ?? 0 }
      }
      try desk.execute(
        "UPDATE syncd_units SET ready_at = CASE slice WHEN '' THEN now() ELSE now() + interval '1 day' END")
      try desk.execute("VACUUM ANALYZE syncd_units")
      let again = try simulation.add(schedules, slices: count)
      let values =
        [cut.inSeconds, claims.sorted()[25]] + [look, end, keys, again].map(\.inMilliseconds)
      say(pad("\(count)", 9) + values.map { pad(number($0), 10) }.joined())
      try simulation.end()
    }
  }

  // MARK: Rules

  /// Whether the rules of sharing hold: as tests say it, `N passed, M failed`.
  func check() async throws -> Bool {
    let simulation = try simulation(isChecking: true, lease: .seconds(3))
    let every = Duration.seconds(4)
    let schedules = Simulation.schedules(options.entities, every: every)
    _ = try simulation.add(schedules, slices: options.units / options.entities)
    let ending = Task {
      // Locks of workers that go without a word: their units are others' soon.
      for _ in 0..<max(1, options.workers / 10) {
        try? await Task.sleep(for: .seconds(1))
        try await simulation.endOneWorker()
      }
    }
    let load = try await simulation.run(
      workers: options.workers, schedules: schedules, for: .seconds(options.seconds))
    ending.cancel()
    let counts = simulation.counts.withLock { $0 }
    let units = options.units / options.entities * options.entities
    var passed = 0
    var failed = 0
    func expect(_ isTrue: Bool, _ rule: String) {
      if isTrue { passed += 1 } else { failed += 1 }
      if !isTrue { say("not so: \(rule)") }
    }
    let slices = counts.runs.filter { $0.key.isSlice }
    expect(slices.count == units, "every unit has run: \(slices.count) of \(units)")
    expect(
      counts.runs.values.allSatisfy { runs in zip(runs, runs.dropFirst()).allSatisfy { $0.fence < $1.fence }
      },
      "fences only grow")
    expect(
      slices.values.allSatisfy { runs in
        zip(runs, runs.dropFirst()).allSatisfy {
          $0.cadence < $1.cadence && ($1.cadence - $0.cadence) % 4_000_000 == 0
        }
      }, "each unit runs once in its interval, when it is due")
    expect(!slices.values.joined().contains { $0.cadence < 0 }, "no unit is claimed before its time")
    let rows = try simulation.desk.integer("SELECT count(*) FROM syncd_runs") ?? 0
    expect(rows == counts.settled, "each run has one record: \(rows) of \(counts.settled)")
    let held = try simulation.desk.integer("SELECT count(*) FROM syncd_units WHERE holder IS NOT NULL") ?? -1
    expect(held == 0, "nothing is held at the end: \(held)")
    // Who was ended has lost its lease, and nobody else.
    let strange = counts.failures.filter { !$0.contains("lease") }
    expect(strange.isEmpty, "no failure but that of a lease: \(strange.first ?? "")")
    say(
      "\(counts.settled) runs of \(units) units by \(options.workers) workers, \(counts.lost) refused: \(number(load.settledPerSecond)) a second"
    )
    say("\(passed) passed, \(failed) failed")
    try simulation.end()
    return failed == 0
  }
}
