import JSON

extension Paging {
  /// The body hands out a token that goes into a parameter of the next request. Absent, null or `""` ends the walk,
  /// and proves that it is complete.
  ///
  /// - Parameters:
  ///   - parameter: its name, or in a JSON body its path.
  ///   - more: a flag in the body; where it is false the walk ends whatever the token says.
  public static func cursor(
    _ path: JSONPath, parameter: String, in place: ParameterPlace = .query, more: JSONPath? = nil
  ) -> Paging {
    Paging(
      makePager: { _ in Cursor(token: .body(path), parameter: parameter, place: place, more: more) },
      paths: [path] + (more.map { [$0] } ?? []),
      description: "cursor \(path) \(parameter) \(place) \(more?.description ?? "")",
      reads: PageReads(body: [path] + (more.map { [$0] } ?? [])))
  }

  /// A header field hands out the token.
  public static func cursor(
    header name: String, parameter: String, in place: ParameterPlace = .query
  ) -> Paging {
    Paging(
      makePager: { _ in Cursor(token: .header(name), parameter: parameter, place: place, more: nil) },
      paths: [], description: "cursor header \(name) \(parameter) \(place)",
      reads: PageReads(headers: [name]))
  }
}

struct Cursor: Pager {
  let token: TokenPlace
  let parameter: String
  let place: ParameterPlace
  let more: JSONPath?
  private var trail = TokenTrail()

  init(token: TokenPlace, parameter: String, place: ParameterPlace, more: JSONPath?) {
    (self.token, self.parameter, self.place, self.more) = (token, parameter, place, more)
  }

  func firstRequest() -> PageRequest { .items([]) }

  mutating func decide(after page: Page) throws -> PageDecision {
    let hasMore = try page.flag(at: more)
    if hasMore == false { return .end(.proven) }
    guard let next = try token.token(in: page, "cursor", for: place) else {
      if hasMore == true {
        throw PagingError(
          "\"\(more?.description ?? "")\" says that there is more, but there is no cursor at \(token.description)"
        )
      }
      return .end(.proven)
    }
    try trail.follow(next.text, "cursor")
    return .next(.items([.init(parameter, next.text, in: place, isJSON: next.isJSON)]))
  }
}
