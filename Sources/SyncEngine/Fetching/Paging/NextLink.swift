import JSON

extension Paging {
  /// The address of the next page stands in the body: absolute, relative or only a query. Absent, null or `""`
  /// ends the walk, and proves that it is complete.
  public static func next(_ path: JSONPath) -> Paging {
    Paging(makePager: { _ in NextLink(path: path) }, paths: [path], description: "next \(path)")
  }
}

struct NextLink: Pager {
  let path: JSONPath

  func firstRequest() -> PageRequest { .items([]) }

  func decide(after page: Page) throws -> PageDecision {
    guard let value = try page.value(at: path), !value.isNull else { return .end(.proven) }
    guard let address = value.string else {
      throw PagingError("the next link at \"\(path)\" is \(value.kind.name), not an address")
    }
    return address.isEmpty ? .end(.proven) : .next(.address(address))
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
}
