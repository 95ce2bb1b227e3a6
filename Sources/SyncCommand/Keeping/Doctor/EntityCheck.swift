import SyncEngine

/// The entities: their declarations, their tables, and how their last runs went.
enum EntityCheck {
  static func declarations(_ all: [any Entity.Type], _ engine: Engine) -> [Finding] {
    do {
      try engine.prepare(all, needingSecrets: [])
      return [Finding(.ok, "declarations", "\(all.count) \(all.count == 1 ? "entity" : "entities")")]
    } catch {
      return [
        Finding(
          .failure, "declarations", "\(error)",
          advice: "correct the declaration and build the program anew: until then nothing runs")
      ]
    }
  }

  static func tables(of entities: [any Entity.Type], _ engine: Engine) async -> [Finding] {
    var findings: [Finding] = []
    for entity in entities {
      let subject = "tables of \(entity.name)"
      let rebuild = "\(programName) rebuild \(entity.name)"
      do {
        for schema in try engine.tables(of: entity) { try await engine.store.check(schema) }
        for (table, differences) in try await engine.differences(of: entity) {
          findings.append(
            Finding(
              .warning, subject,
              "\"\(table)\" differs from its declaration: \(differences.joined(separator: "; "))",
              advice: "when nothing needs the table as it is: \(rebuild)"))
        }
      } catch {
        findings.append(
          Finding(
            .failure, subject, "\(error)",
            advice: "\(rebuild), or correct the declaration: until then each of its runs fails"))
      }
    }
    if !findings.isEmpty { return findings }
    return [
      Finding(
        .ok, "tables",
        entities.count == 1 ? "as declared" : "those of \(entities.count) entities are as declared")
    ]
  }

  /// Runs that are looked through for the last good one.
  private static let runs = 1000

  static func runs(of entities: [any Entity.Type], _ store: any Store, _ configuration: Configuration) async
    -> [Finding]
  {
    let now = Timestamp.now
    var findings: [Finding] = []
    var fine: [String] = []
    for entity in entities {
      let name = entity.name
      let subject = "runs of \(name)"
      let interval = configuration.schedule(of: entity).schedule.every
      let records: [RunRecord]
      do { records = try await store.runs(of: name, limit: Self.runs) } catch {
        findings.append(
          Finding(
            .failure, subject, "the records of its runs cannot be read: \(error)",
            advice: "see what the checks of the store say"))
        continue
      }
      guard let last = records.first else {
        findings.append(
          Finding(.warning, subject, "it has never run here", advice: "\(programName) once \(name)"))
        continue
      }
      let good = records.first { $0.outcome != .failed && $0.outcome != .refused }
      let failures = records.prefix { $0.outcome == .failed || $0.outcome == .refused }.count
      let isLate = good.map { now - $0.finished > 3 * interval.components.seconds * 1000 } ?? true
      if failures == 0, !isLate {
        fine.append(name)
        continue
      }
      let since = good.map { "succeeded last \(readableAge(milliseconds: now - $0.finished)) ago" }
      if failures == 0 {
        findings.append(
          Finding(
            .warning, subject,
            "\(since ?? ""), and has not run since, though its interval is \(interval.inWords)",
            advice:
              "see whether '\(programName) watch' or its cron job still runs; a job that runs seldom says so by \"every\" in the configuration"
          ))
        continue
      }
      let reason = last.reason?.split(separator: "\n").first.map { "; the last: \($0)" } ?? ""
      let count =
        "\(grouped(failures))\(failures == Self.runs ? " or more" : "") \(failures == 1 ? "run" : "runs")"
      let refused = last.outcome == .refused
      findings.append(
        Finding(
          isLate ? .failure : .warning, subject,
          (since.map { "\($0); \(count) since failed" } ?? "has never succeeded, in \(count)") + reason,
          advice: refused
            ? "look at what would go: \(programName) plan \(name); if it is meant: \(programName) once \(name) --allow-deletes NUMBER"
            : "see what the source answers: \(programName) explain \(name)"))
    }
    if !fine.isEmpty {
      findings.insert(
        Finding(.ok, "runs", "\(fine.joined(separator: ", ")) succeeded within three intervals"), at: 0)
    }
    return findings
  }
}

extension Duration {
  /// `5 minutes`
  fileprivate var inWords: String { readableAge(milliseconds: components.seconds * 1000) }
}
