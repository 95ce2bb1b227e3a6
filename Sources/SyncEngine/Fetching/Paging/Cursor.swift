import JSON

extension Paging {
  /// The body hands out a token that goes into a query parameter of the next request. Absent, null or `""` ends the
  /// walk, and proves that it is complete.
  ///
  /// - Parameter more: a flag in the body; where it is false the walk ends whatever the token says.
  public static func cursor(_ path: JSONPath, parameter: String, more: JSONPath? = nil) -> Paging {
    Paging(
      makePager: { _ in Cursor(path: path, parameter: parameter, more: more) },
      paths: [path] + (more.map { [$0] } ?? []),
      description: "cursor \(path) \(parameter) \(more?.description ?? "")")
  }
}

struct Cursor: Pager {
  let path: JSONPath
  let parameter: String
  let more: JSONPath?
  private var seen: Set<String> = []

  init(path: JSONPath, parameter: String, more: JSONPath?) {
    (self.path, self.parameter, self.more) = (path, parameter, more)
  }

  func firstRequest() -> PageRequest { .items([]) }

  mutating func decide(after page: Page) throws -> PageDecision {
    var hasMore: Bool?
    if let more, let flag = try page.value(at: more), !flag.isNull {
      guard let value = flag.bool else {
        throw PagingError("the flag at \"\(more)\" is \(flag.kind.name), not a boolean")
      }
      hasMore = value
    }
    if hasMore == false { return .end(.proven) }
    let value = try page.value(at: path)
    // A number is a token too: its digits are sent as they came.
    let token = value?.string ?? value?.token
    if let value, !value.isNull, token == nil {
      throw PagingError("the cursor at \"\(path)\" is \(value.kind.name), not a text or a number")
    }
    guard let token, !token.isEmpty else {
      if hasMore == true {
        throw PagingError(
          "\"\(more?.description ?? "")\" says that there is more, but there is no cursor at \"\(path)\"")
      }
      return .end(.proven)
    }
    guard seen.insert(token).inserted else {
      throw PagingError("the cursor \"\(token)\" repeats: the pages go round in a loop")
    }
    return .next(.items([.init(parameter, token)]))
  }
}
