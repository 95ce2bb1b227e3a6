import FoundationEssentials
import SyncEngine

/// The effective configuration: the file, the profile in it, then `SYNCD_…` variables, then options. What there is stands
/// in ``ConfigurationKey``.
///
/// ```
/// {
///   "store": "books.sqlite",
///   "interval": "5m",
///   "apis": { "library": { "url": "http://127.0.0.1:8099/", "rate": "10/s" } },
///   "entities": { "book": { "every": "30s" } },
///   "profiles": { "staging": { "store": "staging.sqlite" } }     // syncd --profile staging
/// }
/// ```
struct Configuration: Sendable {
  static let defaultPaths = ["Config/syncd.json", "/etc/syncd/syncd.json"]

  var store = "syncd.sqlite"
  var interval = Duration.seconds(300)
  var jitter = Duration.zero
  var isAligned = false
  var parallel = 4
  /// Whether all programs on the store share the work.
  var isShared = false
  /// This program's name among them; that of the machine where it is empty.
  var worker = ""
  var lease = Duration.seconds(30)
  var wait = Duration.seconds(60)
  var busy = StoreOptions().busyLimit
  /// Bytes.
  var memory = Engine.Options().memory
  var retention = RetentionPolicy()
  var urls: [String: String] = [:]
  var rates: [String: API.Rate] = [:]
  var every: [String: Duration] = [:]
  var jitters: [String: Duration] = [:]
  var alignments: [String: Bool] = [:]
  var disabled: Set<String> = []
  var logFormat = LogFormat.text
  var logLevel = LogLevel.info
  /// Whether pages have their lines, whatever the level.
  var tracesPages = false
  var http = ""
  var httpToken: Secret?
  var alerts = AlertPlan()
  var alertAfter = 1
  private(set) var warnings: [String] = []
  /// The file that was read; nil where there is none.
  private(set) var file: String?
  private(set) var profile: String?
  /// What was given for each key, from the last place that says it.
  private(set) var settings: [[String]: Setting] = [:]

  enum LogFormat: String, CaseIterable { case text, json, journal }

  /// What the file and the variables may speak of.
  struct Names: Sendable {
    var entities: [String]
    var apis: [String]
    /// Variables of the program's own.
    var ownVariables: [String]

    init(entities: [any Entity.Type], ownVariables: [String]) {
      self.entities = entities.map { $0.name }
      apis = entities.reduce(into: []) {
        if !$0.contains($1.source.api.name) { $0.append($1.source.api.name) }
      }
      self.ownVariables = ownVariables
    }
  }

  /// What is usual, where nothing can be read.
  init() {}

  /// - Throws: `UsageError` for everything that is not understood.
  init(_ invocation: Invocation, environment: [String: String], names: Names) throws {
    // An empty variable says nothing.
    func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    let given = invocation[.config] ?? variable("SYNCD_CONFIG")
    profile = invocation[.profile] ?? variable("SYNCD_PROFILE")
    for path in given.map({ [$0] }) ?? Self.defaultPaths {
      if try read(path, mustExist: given != nil, names) { break }
    }
    if let profile, file == nil {
      throw UsageError("there is no configuration file that could have a profile \"\(profile)\"")
    }
    try apply(environment, names)
    try apply(invocation)
  }

  /// Takes a value over from the place that says it.
  private mutating func set(_ key: ConfigurationKey, _ setting: Setting) throws {
    try key.apply(&self, setting)
    settings[setting.path] = setting
  }

  private static func key(_ path: String...) -> ConfigurationKey? {
    ConfigurationKey.all.first { $0.path == path }
  }

  // MARK: The file

  private mutating func read(_ path: String, mustExist: Bool, _ names: Names) throws -> Bool {
    do {
      let (content, distrust) = try TrustedFile.read(path)
      file = path
      try apply(Data(content), file: path, names)
      let runsCommands = alerts.runsCommands || httpToken?.runsCommand == true
      if let distrust, runsCommands {
        throw UsageError(
          "the configuration names a command, and commands are run only where nobody else can have put them there: \(distrust)"
        )
      }
      return true
    } catch let error as TrustedFile.Unreadable {
      if !mustExist && error.isAbsent { return false }
      throw UsageError("the configuration file \(path) \(error.reason)")
    }
  }

  private mutating func apply(_ content: Data, file: String, _ names: Names) throws {
    if content.allSatisfy({ $0 <= 0x20 }) {
      throw UsageError("the configuration file \(file) is empty; write {}")
    }
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    let root: ConfigurationValue
    do { root = try decoder.decode(ConfigurationValue.self, from: content) } catch {
      throw UsageError(
        "the configuration file \(file) is not JSON (comments are allowed): \(Self.reason(error))")
    }
    if let repeated = RepeatedKey.find(in: Array(content)) {
      throw UsageError(
        "\(file), line \(repeated.line): the key \"\(repeated.key)\" is there twice in one object")
    }
    guard case .object(var members) = root else { throw UsageError("\(file): the file has to be an object") }
    let profiles = members.removeValue(forKey: "profiles")
    try apply(members, at: [], file: file, profile: nil, names)

    // All of them are read, so that a mistake is found before the day when it is needed.
    var known: [String: ConfigurationValue] = [:]
    if let profiles {
      guard case .object(let members) = profiles else {
        throw UsageError("\(file): \"profiles\" has to be an object")
      }
      known = members
    }
    for (name, value) in known.sorted(by: { $0.key < $1.key }) {
      guard case .object(let members) = value else {
        throw UsageError("\(file): \"profiles\", \"\(name)\" has to be an object")
      }
      var other = self
      try other.apply(members, at: [], file: file, profile: name, names)
      if name == profile { self = other }
    }
    if let profile, known[profile] == nil {
      let names = known.keys.sorted()
      throw UsageError(
        "\(file) has no profile \"\(profile)\"\(hint(profile, among: names)); \(names.isEmpty ? "there is none" : "there are \(names.joined(separator: ", "))")"
      )
    }
  }

  /// - Parameter path: of the object, with the names of APIs and entities.
  private mutating func apply(
    _ members: [String: ConfigurationValue], at path: [String], file: String, profile: String?, _ names: Names
  ) throws {
    let general = path.indices.map {
      $0 == 1 && path.count > 1 && ["apis", "entities"].contains(path[0]) ? "*" : path[$0]
    }
    var allowed = ConfigurationKey.names(under: general)
    if allowed == ["*"] { allowed = path == ["apis"] ? names.apis : names.entities }
    if path.isEmpty && profile == nil { allowed.append("profiles") }
    let origin: Setting.Origin = profile.map { .profile($0, file: file) } ?? .file(file)
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      guard allowed.contains(name) else {
        let here = path.isEmpty ? profile.map { "\"profiles\", \"\($0)\"" } ?? "the file" : path.quoted
        throw UsageError(
          "\(file): \(here) has an unknown key \"\(name)\"\(hint(name, among: allowed)); there are \(allowed.joined(separator: ", "))"
        )
      }
      let isName = path.count == 1 && ["apis", "entities"].contains(path[0])
      let setting = Setting(path: path + [name], value: value, origin: origin)
      if let key = ConfigurationKey.all.first(where: { $0.path == general + [isName ? "*" : name] }) {
        try set(key, setting)
      } else {
        guard case .object(let members) = value else {
          throw UsageError("\(setting.place) has to be an object")
        }
        try apply(members, at: setting.path, file: file, profile: profile, names)
      }
    }
  }

  private static func reason(_ error: any Error) -> String {
    guard case DecodingError.dataCorrupted(let context) = error else { return "\(error)" }
    return context.underlyingError.map { "\($0)" } ?? context.debugDescription
  }

  // MARK: Variables and options

  private mutating func apply(_ environment: [String: String], _ names: Names) throws {
    let urlNames = Dictionary(
      names.apis.map { ("SYNCD_API_\(Self.variable($0))_URL", $0) }, uniquingKeysWith: { first, _ in first })
    let keys = ConfigurationKey.all.filter { !$0.path.contains("*") }
    let known = ConfigurationKey.fileVariables + keys.compactMap(\.variable) + urlNames.keys.sorted()
    for (name, value) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix("SYNCD_") {
      let origin = Setting.Origin.variable(name)
      if let key = keys.first(where: { $0.variable == name }) {
        try set(key, Setting(path: key.path, value: .string(value), origin: origin))
      } else if let api = urlNames[name], let key = Self.key("apis", "*", "url") {
        try set(key, Setting(path: ["apis", api, "url"], value: .string(value), origin: origin))
      } else if !ConfigurationKey.fileVariables.contains(name), !names.ownVariables.contains(name) {
        warnings.append("the variable \(name) is not known\(hint(name, among: known))")
      }
    }
  }

  /// `open-library` → `OPEN_LIBRARY`
  private static func variable(_ name: String) -> String {
    String(name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
  }

  private mutating func apply(_ invocation: Invocation) throws {
    /// Flags stand for a value of another key; what is said in full comes last.
    let flags: [(CommandOption, String, String)] = [
      (.json, "log_format", "json"), (.shared, "shared", "true"), (.verbose, "log_level", "debug"),
      (.quiet, "log_level", "warning"),
    ]
    tracesPages = invocation[.trace] != nil
    for (option, name, value) in flags where invocation[option] != nil {
      guard let key = Self.key(name) else { continue }
      try set(key, Setting(path: [name], value: .string(value), origin: .option(option.rawValue)))
    }
    for key in ConfigurationKey.all {
      guard let option = key.option, let value = invocation[option] else { continue }
      try set(key, Setting(path: key.path, value: .string(value), origin: .option(option.rawValue)))
    }
  }

  // MARK: Schedules

  /// When an entity runs: what the configuration says of it, then options and variables, then the declaration, then what
  /// the file says for all.
  func schedule(of entity: any Entity.Type) -> (schedule: Schedule, origin: Setting.Origin) {
    let (name, declared) = (entity.name, entity.schedule)
    var schedule = declared ?? Schedule(every: interval, jitter: jitter, aligned: isAligned)
    var origin = declared == nil ? settings[["interval"]]?.origin ?? .standard : .declaration
    switch settings[["interval"]]?.origin {
    case .option(let place): (schedule.every, origin) = (interval, .option(place))
    case .variable(let place): (schedule.every, origin) = (interval, .variable(place))
    default: break
    }
    if let every = every[name], let setting = settings[["entities", name, "every"]] {
      (schedule.every, origin) = (every, setting.origin)
    }
    if let jitter = jitters[name] { schedule.jitter = jitter }
    if let isAligned = alignments[name] { schedule.isAligned = isAligned }
    schedule.jitter = min(schedule.jitter, schedule.every)
    return (schedule, origin)
  }
}

extension [String] {
  /// `"apis", "shop"`
  fileprivate var quoted: String { map { "\"\($0)\"" }.joined(separator: ", ") }
}
