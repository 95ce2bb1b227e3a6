import JSON

extension Paging {
  /// The address of the next page stands in the body: absolute, relative or only a query. Absent, null or `""`
  /// ends the walk, and proves that it is complete.
  public static func next(_ path: JSONPath) -> Paging {
    Paging(
      makePager: { _ in NextLink(place: .body(path)) }, paths: [path], description: "next \(path)",
      reads: PageReads(body: [path]))
  }

  /// The address of the next page stands in a header field of its own, such as Kinto's `Next-Page`. Its absence ends
  /// the walk, and proves that it is complete.
  public static func next(header name: String) -> Paging {
    Paging(
      makePager: { _ in NextLink(place: .header(name)) }, paths: [], description: "next header \(name)",
      reads: PageReads(headers: [name]))
  }
}

/// Where an answer carries what leads to the next page.
enum TokenPlace: Sendable {
  case body(JSONPath)
  case header(String)

  /// The token, and whether it is JSON of another kind than text; nil where it is absent, null or empty.
  ///
  /// - Parameter place: where it is going to stand.
  /// - Throws: ``PagingError`` for a value that cannot stand there.
  func token(
    in page: Page, _ name: String, for place: ParameterPlace = .query
  ) throws(PagingError) -> (text: String, isJSON: Bool)? {
    switch self {
    case .header(let name): return page.headers[name].flatMap { $0.isEmpty ? nil : ($0, false) }
    case .body(let path):
      guard let value = try page.value(at: path), !value.isNull else { return nil }
      guard let token = value.token(for: place) else {
        throw PagingError("the \(name) at \"\(path)\" is \(value.kind.name), not a text or a number")
      }
      return token.text.isEmpty ? nil : token
    }
  }

  var description: String {
    switch self {
    case .body(let path): "\"\(path)\""
    case .header(let name): "the header field \(name)"
    }
  }
}

struct NextLink: Pager {
  let place: TokenPlace

  func firstRequest() -> PageRequest { .items([]) }

  func decide(after page: Page) throws -> PageDecision {
    if case .body(let path) = place, let value = try page.value(at: path), !value.isNull, value.string == nil
    {
      throw PagingError("the next link at \"\(path)\" is \(value.kind.name), not an address")
    }
    return try place.token(in: page, "next link").map { .next(.address($0.text)) } ?? .end(.proven)
  }
}

extension JSONValue {
  /// What leads to the next page: a text, or a number with its digits as they came. A body takes a list or an object
  /// too, such as the sort values that a search goes on after.
  func token(for place: ParameterPlace) -> (text: String, isJSON: Bool)? {
    switch kind {
    case .string: string.map { ($0, false) }
    case .integer, .decimal: (text, true)
    case .array, .object: place == .body ? (text, true) : nil
    case .null, .true, .false: nil
    }
  }
}

extension Page {
  /// The value of a paging field; nil if it is missing.
  func value(at path: JSONPath) throws(PagingError) -> JSONValue? {
    guard let root else { return nil }
    // A root array has no envelope for the field to stand in: a declaration that does not fit the answer.
    do { return try path.value(in: root) } catch {
      throw PagingError("the paging field \"\(path)\": \(error)")
    }
  }

  /// A count of records in the body; nil if it is missing or null.
  func count(at path: JSONPath) throws(PagingError) -> Int? {
    guard let value = try value(at: path), !value.isNull else { return nil }
    let number = value.int64 ?? value.string.flatMap { Int64($0) }
    guard let number, number >= 0 else {
      throw PagingError("the total at \"\(path)\" is \(value.text), not a count")
    }
    return Int(number)
  }

  /// A has-more flag; nil if it is missing or null.
  func flag(at path: JSONPath?) throws(PagingError) -> Bool? {
    guard let path, let value = try value(at: path), !value.isNull else { return nil }
    guard let flag = value.bool else {
      throw PagingError("the flag at \"\(path)\" is \(value.kind.name), not a boolean")
    }
    return flag
  }
}
