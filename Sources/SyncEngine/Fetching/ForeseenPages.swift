import HTTP

/// The pages that follow one whose answer is known, if all is as it was: what was kept of each leads to the next one.
struct ForeseenPages {
  private var queries: [PageQuery] = []
  /// The last of them, and a pager that waits for its page; nil where nothing more is known.
  private var last: (query: PageQuery, pager: any Pager)?
  private var lastNumber = 0

  var isInUse: Bool { !queries.isEmpty }

  /// - Parameters:
  ///   - query: the page that comes next.
  ///   - number: its number.
  ///   - pager: the one that waits for it.
  ///   - reads: what the paging reads of an answer; nil where that is not known.
  ///   - make: the query of a page, and the address that relative ones start from.
  /// - Returns: those behind it, no more than `count`.
  mutating func pages(
    after query: PageQuery, _ number: Int, _ pager: any Pager, upTo count: Int, reads: PageReads?,
    _ make: (PageRequest, HTTPURL) throws -> PageQuery
  ) -> [PageQuery] {
    guard let reads else { return [] }
    if queries.first?.identity == query.identity {
      queries.removeFirst()
    } else {
      (queries, last, lastNumber) = ([], (query, pager), number)
    }
    while queries.count < count, let (query, pager) = last {
      last = nil
      var pager = pager
      guard let page = query.known?.page(numbered: lastNumber, reads: reads),
        case .next(let next)? = try? pager.decide(after: page),
        let following = try? make(next, query.request.url)
      else { break }
      queries.append(following)
      (last, lastNumber) = ((following, pager), lastNumber + 1)
    }
    return Array(queries.prefix(count))
  }
}
