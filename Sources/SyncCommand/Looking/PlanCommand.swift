import SyncEngine

/// `plan`: what a run would do.
struct PlanCommand {
  private let program: Program
  private let reporter: RunReporter

  init(_ program: Program) {
    self.program = program
    reporter = RunReporter(program, isTimed: false)
  }

  func run() async -> ExitStatus {
    var statuses: [ExitStatus] = []
    for entity in program.entities {
      do {
        let plan = try await program.engine.plan(entity, onProgress: reporter.progress)
        reporter.dismiss(entity.name)
        let isJSON = program.configuration.logFormat == .json
        for line in isJSON ? jsonLines(plan, entity.name) : lines(plan, entity.name) {
          program.console.write(line)
        }
        statuses.append(plan.isEmpty ? .done : .differences)
      } catch is CancellationError {
        break
      } catch {
        reporter.dismiss(entity.name)
        program.console.complain("\(error)")
        statuses.append(.failed)
      }
    }
    return .of(statuses)
  }

  private func lines(_ plan: SyncPlan, _ name: String) -> [String] {
    var lines = plan.changes.sorted { $0.table == $1.table ? $0.sortKey < $1.sortKey : $0.table < $1.table }
      .map(\.line)
    if let (keys, reason) = plan.withheld {
      lines += keys.map { "? \(name) \($0.keyText)" }
      lines.append("\(name): \(keys.count) missing \(keys.count == 1 ? "row stays" : "rows stay"): \(reason)")
    }
    let run = plan.record
    lines.append(
      "\(name): a run would insert \(run.inserted), update \(run.updated), delete \(run.deleted); \(run.unchanged) unchanged"
    )
    return lines
  }

  private func jsonLines(_ plan: SyncPlan, _ name: String) -> [String] {
    plan.changes.map { $0.json(of: name) }
      + (plan.withheld.map { keys, reason in
        keys.map {
          "{\"entity\":\(jsonText(name)),\"kind\":\"withheld\",\"key\":\($0.jsonObject(\.old)),\"reason\":\(jsonText(reason))}"
        }
      } ?? [])
  }
}

extension RowChange {
  /// `~ book id 3: title "a" → "b"`
  var line: String {
    switch kind {
    case .inserted: "+ \(table) \(key.keyText)"
    case .deleted: "- \(table) \(key.keyText)"
    case .updated:
      "~ \(table) \(key.keyText): "
        + values.map { "\($0.column) \($0.old?.shown ?? "?") → \($0.new?.shown ?? "?")" }.joined(
          separator: ", ")
    }
  }

  /// Kind by kind, whole numbers by value.
  var sortKey: String {
    let parts = key.map { value in
      guard case .integer(let number)? = value.old ?? value.new, number >= 0 else { return [value].keyText }
      return String(repeating: "0", count: 20 - String(number).count) + String(number)
    }
    return "\(kind == .inserted ? 0 : kind == .updated ? 1 : 2) \(parts.joined(separator: ", "))"
  }

  /// `{"entity":"book","table":"book","kind":"updated","key":{"id":3},"old":{…},"new":{…}}`
  func json(of entity: String) -> String {
    var text =
      "{\"entity\":\(jsonText(entity)),\"table\":\(jsonText(table)),\"kind\":\"\(kind.rawValue)\",\"key\":\(key.jsonObject { $0.old ?? $0.new })"
    if kind != .inserted { text += ",\"old\":\(values.jsonObject(\.old))" }
    if kind != .deleted { text += ",\"new\":\(values.jsonObject(\.new))" }
    return text + "}"
  }
}

extension [RowChange.Value] {
  /// `id 3, part 4`
  var keyText: String {
    map { value in "\(value.column) \((value.old ?? value.new)?.plain ?? "")" }.joined(separator: ", ")
  }

  func jsonObject(_ value: (RowChange.Value) -> StoredValue?) -> String {
    "{\(compactMap { item in value(item).map { "\(jsonText(item.column)):\($0.plainJSON)" } }.joined(separator: ","))}"
  }
}

extension StoredValue {
  fileprivate var plain: String {
    switch self {
    case .null: "null"
    case .integer(let value): String(value)
    case .real(let value): String(value)
    case .text(let value): value
    case .blob(let bytes): "\(bytes.count) bytes"
    }
  }

  /// For a line: texts in quotes, cut where they are long.
  fileprivate var shown: String {
    guard case .text(let text) = self else { return plain }
    return jsonText(text.count > 60 ? "\(text.prefix(60))…" : text)
  }

  fileprivate var plainJSON: String { json(as: { if case .integer = self { .integer } else { .text } }()) }
}
