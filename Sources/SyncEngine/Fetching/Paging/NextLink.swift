import JSON

extension Paging {
  /// The address of the next page stands in the body: absolute, relative or only a query. Absent, null or `""`
  /// ends the walk, and proves that it is complete.
  public static func next(_ path: JSONPath) -> Paging {
    Paging(makePager: { _ in NextLink(place: .body(path)) }, paths: [path], description: "next \(path)")
  }

  /// The address of the next page stands in a header field of its own, such as Kinto's `Next-Page`. Its absence ends
  /// the walk, and proves that it is complete.
  public static func next(header name: String) -> Paging {
    Paging(makePager: { _ in NextLink(place: .header(name)) }, paths: [], description: "next header \(name)")
  }
}

/// Where an answer carries what leads to the next page.
enum TokenPlace: Sendable {
  case body(JSONPath)
  case header(String)

  /// The token, and whether it is a number; nil where it is absent, null or empty.
  ///
  /// - Throws: ``PagingError`` for a value that is neither text nor number.
  func token(in page: Page, _ name: String) throws(PagingError) -> (text: String, isNumber: Bool)? {
    switch self {
    case .header(let name): return page.headers[name].flatMap { $0.isEmpty ? nil : ($0, false) }
    case .body(let path):
      guard let value = try page.value(at: path), !value.isNull else { return nil }
      // A number is a token too: its digits are sent as they came.
      guard let token = value.string ?? value.token else {
        throw PagingError("the \(name) at \"\(path)\" is \(value.kind.name), not a text or a number")
      }
      return token.isEmpty ? nil : (token, value.token != nil)
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
