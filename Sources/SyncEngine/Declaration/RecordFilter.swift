import JSON

/// Which records of an answer are an entity's: where one endpoint lists several kinds, each entity takes its own.
///
/// ```swift
/// Source(.shop, "events", paging: .next("next"), where: .value("type", in: "order", "refund"))
/// ```
public struct RecordFilter: Sendable {
  let passes: @Sendable (JSONValue) throws -> Bool
  /// Distinguishes declarations for the fingerprint of a scope.
  let description: String
  let paths: [JSONPath]

  /// Records whose value at the path is one of these texts, numbers as they are written, or `true` and `false`.
  public static func value(_ path: JSONPath, in values: String...) -> RecordFilter {
    RecordFilter(
      passes: { record in
        let found: JSONValue?
        do { found = try path.value(in: record) } catch JSONPath.Obstacle.wrongKind(at: "", let kind) {
          throw NoObject(kind: kind)
        }
        guard let text = found?.scalarText else { return false }
        return values.contains { $0.utf8.elementsEqual(text.utf8) }
      }, description: "\(path) in \(values)", paths: [path])
  }

  /// Records for which the closure returns true. What it throws makes the record bad.
  ///
  /// - Parameter name: changes where the closure changes, so that a run over other records than the last one's does
  ///   not delete those.
  public static func matching(
    _ name: String, _ passes: @escaping @Sendable (JSONValue) throws -> Bool
  ) -> RecordFilter {
    RecordFilter(passes: passes, description: name, paths: [])
  }

  private struct NoObject: Error, CustomStringConvertible {
    let kind: JSONKind
    var description: String { "the record is \(kind.name), not an object" }
  }
}

/// Makes a record of a record before it is mapped.
///
/// ```swift
/// prepare: .setting { record in
///   ["full_name": .text("\(record["first"]?.string ?? "") \(record["last"]?.string ?? "")")]
/// }
/// ```
public struct Preparation: Sendable {
  let members: @Sendable (JSONValue) throws -> [String: PreparedValue]

  /// Sets members of the record; those that are there are replaced, and all others stay as they were sent. What the
  /// closure throws makes the record bad.
  public static func setting(
    _ members: @escaping @Sendable (JSONValue) throws -> [String: PreparedValue]
  ) -> Preparation {
    Preparation(members: members)
  }

  /// The record with its new members, as JSON text.
  func prepared(_ record: JSONValue) throws -> [UInt8] {
    let new = try members(record)
    // Members are told apart by their keys' bytes, not as Swift compares strings.
    let replaced = Set(new.keys.map { Array($0.utf8) })
    var parts = record.entries.filter { entry in
      entry.key.string.map { !replaced.contains(Array($0.utf8)) } ?? true
    }.map { "\($0.key.text):\($0.value.text)" }
    parts += new.sorted { $0.key < $1.key }.map { "\(quotedJSON($0.key)):\($0.value.json)" }
    return Array("{\(parts.joined(separator: ","))}".utf8)
  }
}

/// A member that a ``Preparation`` sets.
public struct PreparedValue: Sendable {
  let json: String

  public static let null = PreparedValue(json: "null")
  public static func text(_ value: String) -> PreparedValue { PreparedValue(json: quotedJSON(value)) }
  public static func integer(_ value: Int) -> PreparedValue { PreparedValue(json: String(value)) }
  public static func boolean(_ value: Bool) -> PreparedValue { PreparedValue(json: value ? "true" : "false") }
  /// A value of the record, or of another place in it.
  public static func value(_ value: JSONValue) -> PreparedValue { PreparedValue(json: value.text) }
  public static func list(_ values: [PreparedValue]) -> PreparedValue {
    PreparedValue(json: "[\(values.map(\.json).joined(separator: ","))]")
  }
}

/// A text as JSON writes it (RFC 8259 §7).
func quotedJSON(_ text: String) -> String {
  var out = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": out += "\\\""
    case "\\": out += "\\\\"
    case "\u{0}"..."\u{1F}":
      let digits = String(scalar.value, radix: 16)
      out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    default: out.unicodeScalars.append(scalar)
    }
  }
  return out + "\""
}
