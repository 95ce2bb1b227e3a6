/// The query parameters of a source: a literal, or a typed ``QueryModel``.
public struct Query: Sendable, ExpressibleByDictionaryLiteral {
  let items: [(name: String, value: Template)]
  /// Why a parameter cannot be written; the start of the program refuses it.
  let fault: String?

  /// Values may hold `{parent.column}`.
  public init(dictionaryLiteral elements: (String, String)...) {
    items = elements.map { ($0.0, Template($0.1)) }
    fault = nil
  }

  /// Values are sent as they are, braces too.
  public static func model<Model: QueryModel>(_ model: Model) -> Query {
    Query(
      items: Model.parameters.flatMap { parameter in parameter.items(model) },
      fault: Model.parameters.lazy.compactMap(\.fault).first)
  }

  private init(items: [(name: String, value: String)], fault: String?) {
    self.items = items.map { ($0.name, Template(literal: $0.value)) }
    self.fault = fault
  }
}

/// A typed request: properties become query parameters. Nil is left out.
///
/// ```swift
/// struct ArticleQuery: QueryModel {
///   var query = "swift"
///   var from: Date?
///   static var parameters: [Parameter<ArticleQuery>] {
///     Parameter(\.query, "q")
///     Parameter(\.from, "begin_date", .pattern("yyyyMMdd"))
///   }
/// }
/// // ?q=swift&begin_date=20260101
/// ```
public protocol QueryModel: Sendable {
  @ParametersBuilder<Self> static var parameters: [Parameter<Self>] { get }
}

/// One query parameter of a ``QueryModel``.
public struct Parameter<Model>: Sendable {
  let items: @Sendable (Model) -> [(name: String, value: String)]
  let fault: String?

  /// - Parameters:
  ///   - name: the parameter's name; the property's name in snake case by default.
  ///   - format: how the value is written: for a date RFC 3339 by default.
  public init<V: ColumnValue>(
    _ keyPath: any KeyPath<Model, V> & Sendable, _ name: String? = nil, _ format: Format<V.Base> = .natural
  ) {
    let name = name ?? propertyName(of: keyPath).map(snakeCased) ?? ""
    let reading = format.reading ?? V.reading
    fault = reading.fault.map { "parameter \"\(name)\": \($0)" }
    let writing = reading.writing
    items = { model in writing(model[keyPath: keyPath].stored).map { [(name, $0)] } ?? [] }
  }

  /// A parameter that comes once for each element: `?tag=a&tag=b`, or with the name `"tag[]"` as `?tag%5B%5D=a&…`.
  public init<V: ColumnValue>(
    repeating keyPath: any KeyPath<Model, [V]> & Sendable, _ name: String? = nil,
    _ format: Format<V.Base> = .natural
  ) {
    let name = name ?? propertyName(of: keyPath).map(snakeCased) ?? ""
    let reading = format.reading ?? V.reading
    fault = reading.fault.map { "parameter \"\(name)\": \($0)" }
    let writing = reading.writing
    items = { model in model[keyPath: keyPath].compactMap { writing($0.stored) }.map { (name, $0) } }
  }
}

@resultBuilder
public enum ParametersBuilder<Model> {
  public static func buildExpression(_ parameter: Parameter<Model>) -> Parameter<Model> { parameter }
  public static func buildBlock(_ parameters: Parameter<Model>...) -> [Parameter<Model>] { parameters }
}
