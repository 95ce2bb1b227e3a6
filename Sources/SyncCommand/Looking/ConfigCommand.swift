import SyncEngine

/// `config`: what holds, and why. It opens nothing and asks nothing, so that it tells of a configuration that does not work.
struct ConfigCommand {
  private let configuration: Configuration
  private let entities: [any Entity.Type]
  private let console: Console

  init(
    _ entities: [any Entity.Type], _ invocation: Invocation, ownVariables: [String], _ console: Console
  ) throws {
    (self.entities, self.console) = (entities, console)
    configuration = try Configuration(
      invocation, environment: Program.environment(),
      names: Configuration.Names(entities: entities, ownVariables: ownVariables))
  }

  private struct Line: Encodable {
    var key: String
    var value: String
    var from: String
  }

  func run() -> ExitStatus {
    for warning in configuration.warnings { console.complain("warning: \(warning)") }
    let lines = general + apis + schedules
    if configuration.logFormat == .json {
      for line in lines { console.write(jsonLine(line)) }
    } else {
      console.write(
        TextTable.text(
          ["KEY", "VALUE", "FROM"], lines.map { [$0.key, $0.value, $0.from] }, numbers: []))
    }
    return .done
  }

  // MARK: Lines

  private var general: [Line] {
    var lines: [Line] = []
    if let profile = configuration.profile {
      lines.append(Line(key: "profile", value: profile, from: configuration.file ?? ""))
    }
    for key in ConfigurationKey.all where !key.path.contains("*") {
      let setting = configuration.settings[key.path]
      var value = setting.map { key.shown($0.value) } ?? key.standard ?? ""
      if let event = AlertEvent.allCases.first(where: { $0.key == key.name }) {
        value = configuration.alerts[event].map { "\($0)" }.joined(separator: ", ")
      }
      lines.append(Line(key: key.name, value: value, from: Self.text(setting?.origin ?? .standard)))
    }
    return lines
  }

  private var apis: [Line] {
    var lines: [Line] = []
    var seen: Set<String> = []
    for api in entities.map({ $0.source.api }) where seen.insert(api.name).inserted {
      let url = configuration.settings[["apis", api.name, "url"]]
      lines.append(
        Line(
          key: "apis.\(api.name).url", value: Self.withoutSecrets(configuration.urls[api.name] ?? api.url),
          from: Self.text(url?.origin ?? .declaration)))
      if let rate = configuration.settings[["apis", api.name, "rate"]], case .string(let text) = rate.value {
        lines.append(Line(key: "apis.\(api.name).rate", value: text, from: Self.text(rate.origin)))
      } else {
        let text = api.rate.map { "every \($0.interval.short)" } ?? "unlimited"
        lines.append(Line(key: "apis.\(api.name).rate", value: text, from: Self.text(.declaration)))
      }
      for secret in api.secrets {
        lines.append(
          Line(
            key: "apis.\(api.name) secret",
            value: "\(secret)\(secret.runsCommand || secret.fault == nil ? "" : " (is not there)")",
            from: Self.text(.declaration)))
      }
    }
    return lines
  }

  private var schedules: [Line] {
    entities.flatMap { entity -> [Line] in
      let (schedule, origin) = configuration.schedule(of: entity)
      let name = "entities.\(entity.name)"
      func line(_ key: String, _ value: String, _ other: Setting.Origin) -> Line {
        Line(
          key: "\(name).\(key)", value: value,
          from: Self.text(configuration.settings[["entities", entity.name, key]]?.origin ?? other))
      }
      let rest: Setting.Origin = entity.schedule == nil ? .standard : .declaration
      var lines = [line("every", schedule.every.short, origin)]
      if schedule.jitter > .zero { lines.append(line("jitter", schedule.jitter.short, rest)) }
      if schedule.isAligned { lines.append(line("aligned", "true", rest)) }
      let isEnabled = !configuration.disabled.contains(entity.name)
      lines.append(line("enabled", "\(isEnabled)", .standard))
      return lines
    }
  }

  private static func text(_ origin: Setting.Origin) -> String {
    switch origin {
    case .standard: "default"
    case .declaration: "declaration"
    case .file(let file): file
    case .profile(let profile, let file): "\(file), profile \(profile)"
    case .variable(let name), .option(let name): name
    }
  }

  /// An address as it may be shown: without the name and password in it, and what could be a password among the parameters.
  static func withoutSecrets(_ location: String) -> String {
    var text = location
    if let scheme = text.firstRange(of: "://") {
      let slash = text[scheme.upperBound...].firstIndex { "/?#".contains($0) } ?? text.endIndex
      // What was not written as %XX may have slashes in it: the last @ counts.
      if let at = text[scheme.upperBound...].lastIndex(of: "@") {
        let user = text[scheme.upperBound..<at].prefix { $0 != ":" }
        let shown = at < slash && user.endIndex < at ? "\(user):***" : at < slash ? "\(user)" : "***"
        text.replaceSubrange(scheme.upperBound..<at, with: shown)
      }
    }
    return text.replacing(/((?:password|passwd|secret|token|key)\s*=\s*)('[^']*'|[^&\s]+)/.ignoresCase()) {
      "\($0.1)***"
    }
  }
}

extension ConfigurationKey {
  /// The value without what is secret.
  func shown(_ value: ConfigurationValue) -> String {
    switch value {
    case .string(let text): name == "store" ? ConfigCommand.withoutSecrets(text) : text
    case .bool(let value): "\(value)"
    case .number(let number): Int(exactly: number).map(String.init) ?? "\(number)"
    case .null: "null"
    case .list(let values): "[\(values.map { shown($0) }.joined(separator: ", "))]"
    case .object(let members):
      "{\(members.sorted { $0.key < $1.key }.map { "\($0.key): \(shown($0.value))" }.joined(separator: ", "))}"
    }
  }
}
