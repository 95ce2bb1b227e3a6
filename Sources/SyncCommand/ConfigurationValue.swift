/// Any JSON value of a configuration, so that what is wrong can be named.
enum ConfigurationValue: Decodable, Sendable, Hashable {
  case object([String: ConfigurationValue])
  case list([ConfigurationValue])
  case string(String)
  case bool(Bool)
  case integer(Int)
  case number(Double)
  case null

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([String: ConfigurationValue].self) {
      self = .object(value)
    } else if let value = try? container.decode([ConfigurationValue].self) {
      self = .list(value)
    } else if let value = try? container.decode(Int.self) {
      self = .integer(value)
    } else {
      self = .number(try container.decode(Double.self))
    }
  }
}
