/// The kind of a JSON value. Numbers are told apart by their token, not by their value: `12` is an integer
/// token, `12.0` and `1.2e1` are decimal ones.
public enum JSONKind: UInt8, Sendable {
  case object, array, string, integer, decimal, `true`, `false`, null

  /// The name that error messages use.
  public var name: String {
    switch self {
    case .object: "an object"
    case .array: "an array"
    case .string: "a string"
    case .integer, .decimal: "a number"
    case .true, .false: "a boolean"
    case .null: "null"
    }
  }
}
