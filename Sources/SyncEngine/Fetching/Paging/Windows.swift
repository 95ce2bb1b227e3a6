import FoundationEssentials

extension Paging {
  /// Time is asked for in windows: `?from=…&to=…`, each of them paged in its own way, until the run's start is reached.
  ///
  /// Each window has to be proven complete for the whole to be.
  ///
  /// - Parameters:
  ///   - from: the parameter for a window's beginning, and for its end.
  ///   - since: where the first window begins.
  ///   - step: the length of a window.
  ///   - format: how instants are written; RFC 3339 by default.
  ///   - paging: how the pages of one window lead to each other.
  public static func windows(
    from: String, to: String, since: Date, step: Duration, _ format: Format<Date> = .iso8601,
    paging: Paging = .none
  ) -> Paging {
    let writing = (format.reading ?? Date.reading).writing
    var fault = paging.fault ?? format.reading?.fault
    if step < .milliseconds(1) { fault = fault ?? "windows of no length lead nowhere" }
    let begin: Int64 = if case .integer(let instant) = since.stored { instant } else { 0 }
    return Paging(
      makePager: { context in
        Windows(
          from: from, to: to,
          step: max(
            1, Int64(step.components.seconds) * 1000 + step.components.attoseconds / 1_000_000_000_000_000),
          end: context.startedAt, begin: begin, text: { writing(.integer($0)) ?? "" },
          makeInner: { paging.makePager(context) })
      },
      paths: paging.paths, fault: fault,
      description: "windows \(from) \(to) \(begin) \(step) of \(paging.description)")
  }
}

struct Windows: Pager {
  let from: String
  let to: String
  /// Milliseconds.
  let step: Int64
  /// Where the last window reaches to.
  let end: Int64
  private var begin: Int64
  private let text: @Sendable (Int64) -> String
  private let makeInner: @Sendable () -> any Pager
  private var inner: any Pager
  private var pages = 0
  private var doubts: [String] = []

  init(
    from: String, to: String, step: Int64, end: Int64, begin: Int64,
    text: @escaping @Sendable (Int64) -> String, makeInner: @escaping @Sendable () -> any Pager
  ) {
    (self.from, self.to, self.step, self.end, self.begin) = (from, to, step, end, begin)
    (self.text, self.makeInner, inner) = (text, makeInner, makeInner())
  }

  var needsRecords: Bool { inner.needsRecords }
  var mayShift: Bool { inner.mayShift }
  var repeatsBoundary: Bool { inner.repeatsBoundary }
  func isPage(status: Int) -> Bool { inner.isPage(status: status) }
  func isEnd(status: Int) -> Bool { pages > 0 && inner.isEnd(status: status) }
  func firstRequest() -> PageRequest { windowed(inner.firstRequest()) }

  /// The inner request within the window; an address that the server gave names the window itself.
  private func windowed(_ request: PageRequest) -> PageRequest {
    guard case .items(let items) = request else { return request }
    return .items([.init(from, text(begin)), .init(to, text(min(begin + step, end)))] + items)
  }

  mutating func decide(after page: Page) throws -> PageDecision {
    var page = page
    pages += 1
    page.number = pages
    switch try inner.decide(after: page) {
    case .next(let request): return .next(windowed(request))
    case .end(let how):
      if case .unproven(let reason) = how { doubts.append(reason) }
      begin += step
      guard begin < end else {
        return .end(doubts.isEmpty ? .proven : .unproven(doubts.joined(separator: "; ")))
      }
      (inner, pages) = (makeInner(), 0)
      return .next(windowed(inner.firstRequest()))
    }
  }
}
