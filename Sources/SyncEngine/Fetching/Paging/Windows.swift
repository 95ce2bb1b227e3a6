import FoundationEssentials

extension Paging {
  /// Time is asked for in windows: `?from=…&to=…`, each of them paged in its own way, until one reaches past the
  /// present. It is not cut off there: a record that changes during the walk moves into it and is seen.
  ///
  /// Each window has to be proven complete for the whole to be. Records at the bound between two windows may come in
  /// both, if the later one lists them first.
  ///
  /// - Parameters:
  ///   - from: the parameter for a window's beginning, and for its end.
  ///   - since: where the first window begins.
  ///   - step: the length of a window.
  ///   - format: how instants are written; RFC 3339 by default.
  ///   - paging: how the pages of one window lead to each other.
  public static func windows(
    from: String, to: String, since: Date, step: Duration, _ format: Format<Date> = .iso8601,
    in place: ParameterPlace = .query, paging: Paging = .none
  ) -> Paging {
    let reading = format.reading ?? Date.reading
    let writing = reading.writing
    let isJSON = if case .timestamp(.unix) = reading.operation { true } else { false }
    var fault = paging.fault ?? format.reading?.fault
    let (seconds, attoseconds) = step.components
    let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
    if milliseconds < 1 { fault = fault ?? "windows of no length lead nowhere" }
    let begin: Int64 = if case .integer(let instant) = since.stored { instant } else { 0 }
    let length = max(1, milliseconds)
    let text: @Sendable (Int64) -> String = { writing(.integer($0)) ?? "" }
    var made = Paging(
      makePager: { context in
        Windows(
          step: length, begin: context.window ?? begin, isOnlyOne: context.window != nil, text: text,
          bounds: { zip([from, to], $0).map { .init($0, $1, in: place, isJSON: isJSON) } },
          makeInner: { paging.makePager(context) })
      },
      paths: paging.paths, fault: fault,
      description: "windows \(from) \(to) \(begin) \(step) \(place) of \(paging.description)",
      reads: paging.reads)
    made.windows = { limit in
      var beginnings = [begin]
      while beginnings.count < limit, Windows.isDue(beginnings[beginnings.count - 1] + length, text) {
        beginnings.append(beginnings[beginnings.count - 1] + length)
      }
      return beginnings
    }
    return made
  }
}

struct Windows: Pager {
  /// Milliseconds.
  private let step: Int64
  private var begin: Int64
  /// Whether no window follows.
  private let isOnlyOne: Bool
  private let text: @Sendable (Int64) -> String
  private let bounds: @Sendable ([String]) -> [PageRequest.Item]
  private let makeInner: @Sendable () -> any Pager
  private var inner: any Pager
  /// Pages of the window so far.
  private var pages = 0
  private var doubts: [String] = []

  init(
    step: Int64, begin: Int64, isOnlyOne: Bool, text: @escaping @Sendable (Int64) -> String,
    bounds: @escaping @Sendable ([String]) -> [PageRequest.Item],
    makeInner: @escaping @Sendable () -> any Pager
  ) {
    (self.step, self.begin, self.text, self.bounds) = (step, begin, text, bounds)
    self.isOnlyOne = isOnlyOne
    (self.makeInner, inner) = (makeInner, makeInner())
  }

  var needsRecords: Bool { inner.needsRecords }
  /// A record whose instant is set back goes to a window that was read already.
  var mayShift: Bool { !isOnlyOne || inner.mayShift }
  var mayBeEmptyMidway: Bool { true }
  var repeatsBoundary: Bool { pages == 0 || inner.repeatsBoundary }
  func isPage(status: Int) -> Bool { inner.isPage(status: status) }
  func isEnd(status: Int, page: Int) -> Bool { inner.isEnd(status: status, page: pages + 1) }
  func firstRequest() -> PageRequest { windowed(inner.firstRequest(), begin) }

  /// The inner request within a window; an address that the server gave names the window itself.
  private func windowed(_ request: PageRequest, _ begin: Int64) -> PageRequest {
    guard case .items(let items) = request else { return request }
    return .items(bounds([text(begin), text(begin + step)]) + items)
  }

  /// Whether a window that begins then is wanted: the one before does not reach past the present, as it is written.
  private func isDue(_ begin: Int64) -> Bool { !isOnlyOne && Self.isDue(begin, text) }

  fileprivate static func isDue(_ begin: Int64, _ text: (Int64) -> String) -> Bool {
    let now = Timestamp.now
    return begin <= now || text(begin) == text(now)
  }

  func upcoming(_ count: Int) -> [PageRequest] {
    // Windows of one page each are all known.
    guard inner is SinglePage, count > 0 else { return inner.upcoming(count).map { windowed($0, begin) } }
    return (1...count).map { begin + Int64($0) * step }.filter(isDue)
      .map { windowed(inner.firstRequest(), $0) }
  }

  mutating func decide(after page: Page) throws -> PageDecision {
    var page = page
    pages += 1
    page.number = pages
    switch try inner.decide(after: page) {
    case .next(let request): return .next(windowed(request, begin))
    case .end(let how):
      if case .unproven(let reason) = how, !doubts.contains(reason) { doubts.append(reason) }
      begin += step
      guard isDue(begin) else {
        return .end(doubts.isEmpty ? .proven : .unproven(doubts.joined(separator: "; ")))
      }
      (inner, pages) = (makeInner(), 0)
      return .next(firstRequest())
    }
  }
}
