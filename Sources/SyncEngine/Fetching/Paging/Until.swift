extension Paging {
  /// The same pages, of which one for which the closure returns true is the last: the source says so in a way of its
  /// own. They are always asked for in full.
  ///
  /// - Parameter name: changes where the closure changes.
  public func until(_ name: String, _ isLast: @escaping @Sendable (Page) -> Bool) -> Paging {
    let makeInner = makePager
    return Paging(
      makePager: { Until(inner: makeInner($0), isLast: isLast) }, paths: paths, fault: fault,
      description: "\(description) until \(name)", reads: nil)
  }
}

struct Until: Pager {
  private var inner: any Pager
  private let isLast: @Sendable (Page) -> Bool

  init(inner: any Pager, isLast: @escaping @Sendable (Page) -> Bool) {
    (self.inner, self.isLast) = (inner, isLast)
  }

  /// The closure may look at the records.
  var needsRecords: Bool { true }
  var mayShift: Bool { inner.mayShift }
  var repeatsBoundary: Bool { inner.repeatsBoundary }
  var total: Int? { inner.total }
  var mayBeEmptyMidway: Bool { inner.mayBeEmptyMidway }
  func isPage(status: Int) -> Bool { inner.isPage(status: status) }
  func isEnd(status: Int, page: Int) -> Bool { inner.isEnd(status: status, page: page) }
  func firstRequest() -> PageRequest { inner.firstRequest() }
  func upcoming(_ count: Int) -> [PageRequest] { inner.upcoming(count) }

  mutating func decide(after page: Page) throws -> PageDecision {
    isLast(page) ? .end(.proven) : try inner.decide(after: page)
  }
}
