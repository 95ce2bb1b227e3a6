import FoundationEssentials
import SyncEngine

/// The effective configuration: the file, then `SYNCD_…` variables, then options.
///
/// ```
/// {
///   "store": "books.sqlite",              // a path, relative to the working directory, or scheme:…
///   "interval": "5m",                     // of watch
///   "wait": "60s",                        // for another run of the same entity
///   "busy": "60s",                        // for other programs' transactions in the store
///   "memory": "64MB",                     // for rows of a run; further ones wait in a file
///   "apis": { "library": { "url": "http://127.0.0.1:8099/", "rate": "10/s" } },   // or 100/min, or unlimited
///   "entities": { "book": { "every": "30s", "enabled": true } }
/// }
/// ```
struct Configuration {
  static let defaultPath = "Config/syncd.json"

  var store = "syncd.sqlite"
  var interval = Duration.seconds(300)
  var wait = Duration.seconds(60)
  var busy = StoreOptions().busyLimit
  /// Bytes.
  var memory = Engine.Options().memory
  var urls: [String: String] = [:]
  var rates: [String: API.Rate] = [:]
  var every: [String: Duration] = [:]
  var disabled: Set<String> = []
  var logFormat = LogFormat.text
  var isQuiet = false
  private(set) var warnings: [String] = []

  enum LogFormat: String { case text, json }

  /// - Parameters:
  ///   - entities: names that the file may speak of.
  ///   - apis: names that the file and the variables may speak of.
  /// - Throws: `UsageError` for everything that is not understood.
  init(
    _ invocation: Invocation, environment: [String: String], entities: [String], apis: [String],
    ownVariables: [String]
  ) throws {
    let path = invocation[.config] ?? environment["SYNCD_CONFIG"]
    if let content = try Self.read(path ?? Self.defaultPath, mustExist: path != nil) {
      try apply(content, file: path ?? Self.defaultPath, entities: entities, apis: apis)
    }
    try apply(environment, apis: apis, ownVariables: ownVariables)
    if let value = invocation[.store] { store = value }
    if let value = invocation[.interval] { interval = try Self.duration(value, of: "--interval") }
    if let value = invocation[.wait] { wait = try Self.duration(value, of: "--wait") }
    if invocation[.json] != nil { logFormat = .json }
    if let value = invocation[.logFormat] { logFormat = try Self.logFormat(value, of: "--log-format") }
    isQuiet = invocation[.quiet] != nil
  }

  // MARK: The file

  private static func read(_ path: String, mustExist: Bool) throws -> Data? {
    do { return try Data(contentsOf: URL(filePath: path)) } catch {
      if !mustExist, !FileManager.default.fileExists(atPath: path) { return nil }
      throw UsageError("the configuration file \(path) cannot be read")
    }
  }

  private mutating func apply(_ content: Data, file: String, entities: [String], apis: [String]) throws {
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    let root: ConfigurationValue
    do { root = try decoder.decode(ConfigurationValue.self, from: content) } catch {
      throw UsageError(
        "the configuration file \(file) is not JSON (comments are allowed): \(Self.reason(error))")
    }

    func object(_ value: ConfigurationValue, _ place: String, keys: [String]?) throws -> [String:
      ConfigurationValue]
    {
      guard case .object(let members) = value else {
        throw UsageError("\(file): \(place) has to be an object")
      }
      if let keys {
        for key in members.keys.sorted() where !keys.contains(key) {
          throw UsageError(
            "\(file): \(place) has an unknown key \"\(key)\"\(hint(key, among: keys)); there are \(keys.joined(separator: ", "))"
          )
        }
      }
      return members
    }
    func string(_ value: ConfigurationValue, _ place: String) throws -> String {
      guard case .string(let text) = value else { throw UsageError("\(file): \(place) has to be a text") }
      return text
    }

    let members = try object(
      root, "the file", keys: ["store", "interval", "wait", "busy", "memory", "apis", "entities"])
    if let value = members["store"] { store = try string(value, "\"store\"") }
    if let value = members["interval"] {
      interval = try Self.duration(try string(value, "\"interval\""), of: "\(file): \"interval\"")
    }
    if let value = members["wait"] {
      wait = try Self.duration(try string(value, "\"wait\""), of: "\(file): \"wait\"")
    }
    if let value = members["busy"] {
      busy = try Self.duration(try string(value, "\"busy\""), of: "\(file): \"busy\"")
    }
    if let value = members["memory"] {
      memory = try Self.size(try string(value, "\"memory\""), of: "\(file): \"memory\"")
    }
    if let value = members["apis"] {
      for (name, value) in try object(value, "\"apis\"", keys: apis) {
        let place = "\"apis\", \"\(name)\""
        let members = try object(value, place, keys: ["url", "rate"])
        if let url = members["url"] { urls[name] = try string(url, "\(place), \"url\"") }
        if let rate = members["rate"] {
          rates[name] = try Self.rate(
            try string(rate, "\(place), \"rate\""), of: "\(file): \(place), \"rate\"")
        }
      }
    }
    if let value = members["entities"] {
      for (name, value) in try object(value, "\"entities\"", keys: entities) {
        let place = "\"entities\", \"\(name)\""
        let members = try object(value, place, keys: ["every", "enabled"])
        if let value = members["every"] {
          every[name] = try Self.duration(
            try string(value, "\(place), \"every\""), of: "\(file): \(place), \"every\"")
        }
        if let value = members["enabled"] {
          guard case .bool(let isEnabled) = value else {
            throw UsageError("\(file): \(place), \"enabled\" has to be true or false")
          }
          if !isEnabled { disabled.insert(name) }
        }
      }
    }
  }

  private static func reason(_ error: any Error) -> String {
    guard case DecodingError.dataCorrupted(let context) = error else { return "\(error)" }
    return context.underlyingError.map { "\($0)" } ?? context.debugDescription
  }

  // MARK: Variables

  private mutating func apply(_ environment: [String: String], apis: [String], ownVariables: [String]) throws
  {
    let urlNames = Dictionary(
      apis.map { ("SYNCD_API_\(Self.variable($0))_URL", $0) }, uniquingKeysWith: { first, _ in first })
    let known =
      [
        "SYNCD_CONFIG", "SYNCD_STORE", "SYNCD_INTERVAL", "SYNCD_WAIT", "SYNCD_BUSY", "SYNCD_MEMORY",
        "SYNCD_LOG_FORMAT",
      ]
      + urlNames.keys.sorted()
    for (name, value) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix("SYNCD_") {
      switch name {
      case "SYNCD_CONFIG": break
      case "SYNCD_STORE": store = value
      case "SYNCD_INTERVAL": interval = try Self.duration(value, of: name)
      case "SYNCD_WAIT": wait = try Self.duration(value, of: name)
      case "SYNCD_BUSY": busy = try Self.duration(value, of: name)
      case "SYNCD_MEMORY": memory = try Self.size(value, of: name)
      case "SYNCD_LOG_FORMAT": logFormat = try Self.logFormat(value, of: name)
      default:
        if let api = urlNames[name] {
          urls[api] = value
        } else if !ownVariables.contains(name) {
          warnings.append("the variable \(name) is not known\(hint(name, among: known))")
        }
      }
    }
  }

  /// `open-library` → `OPEN_LIBRARY`
  private static func variable(_ name: String) -> String {
    String(name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
  }

  private static func duration(_ text: String, of place: String) throws -> Duration {
    guard let duration = Duration(text: text) else {
      throw UsageError("\(place) is \"\(text)\", which is no duration; write 200ms, 30s, 5m, 1h or 1d")
    }
    return duration
  }

  /// Bytes, by units of 1024.
  private static func size(_ text: String, of place: String) throws -> Int {
    for (unit, bytes) in [("kB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30)] where text.hasSuffix(unit) {
      let number = text.dropLast(2)
      let count = Int(number.last == " " ? number.dropLast() : number)
      if let count, count > 0, count <= Int.max / bytes { return count * bytes }
    }
    throw UsageError("\(place) is \"\(text)\", which is no amount of memory; write 512kB, 64MB or 1GB")
  }

  private static func rate(_ text: String, of place: String) throws -> API.Rate {
    if text == "unlimited" { return .unlimited }
    let parts = text.split(separator: "/")
    if parts.count == 2, let count = Int(parts[0]), count > 0 {
      if parts[1] == "s" { return .perSecond(count) }
      if parts[1] == "min" { return .perMinute(count) }
    }
    throw UsageError("\(place) is \"\(text)\", which is no rate; write 10/s, 100/min or unlimited")
  }

  private static func logFormat(_ text: String, of place: String) throws -> LogFormat {
    guard let format = LogFormat(rawValue: text) else {
      throw UsageError("\(place) is \"\(text)\"; it has to be text or json")
    }
    return format
  }
}
