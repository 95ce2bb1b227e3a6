import HTTP

/// What a search endpoint is asked by POST. Texts may hold `{parent.column}`.
///
/// ```swift
/// .json(["filter": ["state": "open", "project": "{parent.id}"], "page": ["size": 50]])
/// .form(["q": "swift"])
/// .graphQL("query($after: String) { repositories(first: 100, after: $after) { … } }")
/// ```
///
/// Paging parameters with `in: .body` are set in it: in JSON by their path (`"page.number"`), in GraphQL among the
/// variables (`"after"`).
public struct RequestBody: Sendable {
  enum Form: Sendable {
    case json(RequestValue)
    case form([(name: String, value: Template)])
    case graphQL(String, variables: RequestValue)
  }

  let form: Form

  public static func json(_ value: RequestValue) -> RequestBody { RequestBody(form: .json(value)) }

  /// `application/x-www-form-urlencoded`.
  public static func form(_ fields: KeyValuePairs<String, String>) -> RequestBody {
    RequestBody(form: .form(fields.map { ($0.key, Template($0.value)) }))
  }

  public static func graphQL(_ query: String, variables: RequestValue = [:]) -> RequestBody {
    RequestBody(form: .graphQL(query, variables: variables))
  }

  var templates: [Template] {
    switch form {
    case .json(let value), .graphQL(_, let value): value.templates
    case .form(let fields): fields.map(\.value)
    }
  }

  /// Distinguishes declarations for the fingerprint of a scope.
  var description: String { "\(form)" }

  var contentType: String {
    if case .form = form { "application/x-www-form-urlencoded" } else { "application/json" }
  }

  /// The body's bytes, with paging parameters set.
  func bytes(_ items: [PageRequest.Item], fill: (Template) -> String) -> [UInt8] {
    switch form {
    case .json(let value): return Array(value.setting(items).json(fill).utf8)
    case .graphQL(let query, let variables):
      return Array(
        "{\"query\":\(quotedJSON(query)),\"variables\":\(variables.setting(items).json(fill))}".utf8)
    case .form(let fields):
      let own = fields.filter { field in !items.contains { $0.name == field.name } }.map {
        ($0.name, fill($0.value))
      }
      let all = own + items.map { ($0.name, $0.value) }
      return Array(all.map { "\(percentEncoded($0.0))=\(percentEncoded($0.1))" }.joined(separator: "&").utf8)
    }
  }
}

/// A JSON value of a request, written as a literal.
public struct RequestValue: Sendable, ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral,
  ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
  private enum Content: Sendable {
    case object([(key: String, value: RequestValue)])
    case array([RequestValue])
    case text(Template)
    /// A number, a boolean or null as it is written.
    case token(String)
  }

  private let content: Content

  private init(_ content: Content) { self.content = content }
  public init(dictionaryLiteral elements: (String, RequestValue)...) {
    self.init(.object(elements.map { ($0.0, $0.1) }))
  }
  public init(arrayLiteral elements: RequestValue...) { self.init(.array(elements)) }
  public init(stringLiteral value: String) { self.init(.text(Template(value))) }
  public init(integerLiteral value: Int) { self.init(.token(String(value))) }
  public init(floatLiteral value: Double) { self.init(.token(String(value))) }
  public init(booleanLiteral value: Bool) { self.init(.token(value ? "true" : "false")) }
  public init(nilLiteral: ()) { self.init(.token("null")) }

  var templates: [Template] {
    switch content {
    case .object(let members): members.flatMap(\.value.templates)
    case .array(let elements): elements.flatMap(\.templates)
    case .text(let template): [template]
    case .token: []
    }
  }

  func json(_ fill: (Template) -> String) -> String {
    switch content {
    case .object(let members):
      "{\(members.map { "\(quotedJSON($0.key)):\($0.value.json(fill))" }.joined(separator: ","))}"
    case .array(let elements): "[\(elements.map { $0.json(fill) }.joined(separator: ","))]"
    case .text(let template): quotedJSON(fill(template))
    case .token(let text): text
    }
  }

  /// The value with parameters at their paths; objects on the way are made.
  func setting(_ items: [PageRequest.Item]) -> RequestValue {
    items.reduce(self) { value, item in
      let path = item.name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      return value.setting(
        path[...], to: RequestValue(item.isJSON ? .token(item.value) : .text(Template(literal: item.value)))
      )
    }
  }

  private func setting(_ path: ArraySlice<String>, to new: RequestValue) -> RequestValue {
    guard let key = path.first else { return new }
    var members: [(key: String, value: RequestValue)] = []
    if case .object(let there) = content { members = there }
    let old = members.first { $0.key == key }?.value ?? [:]
    members.removeAll { $0.key == key }
    members.append((key, old.setting(path.dropFirst(), to: new)))
    return RequestValue(.object(members))
  }
}
