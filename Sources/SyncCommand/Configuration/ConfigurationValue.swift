import FoundationEssentials

/// A value of the configuration file: any JSON, so that what is wrong can be named.
enum ConfigurationValue: Sendable, Hashable, Decodable {
  case object([String: ConfigurationValue])
  case list([ConfigurationValue])
  case string(String)
  case bool(Bool)
  case number(Double)
  case null

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([String: ConfigurationValue].self) {
      self = .object(value)
    } else if let value = try? container.decode([ConfigurationValue].self) {
      self = .list(value)
    } else if container.decodeNil() {
      self = .null
    } else {
      // What is beyond all numbers is none that any key takes.
      self = .number((try? container.decode(Double.self)) ?? .nan)
    }
  }
}
