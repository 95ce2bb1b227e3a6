extension Paging {
  /// A query parameter says how many records to pass over.
  ///
  /// The walk ends at an empty page, at a short page, when the total is reached, or at a page without a new key.
  /// Where deletion is declared and no total is, one more page is asked for behind a short one, since a server may
  /// give fewer records than asked for.
  ///
  /// - Parameters:
  ///   - limit: the parameter for the page size; nil if the server has a fixed one.
  ///   - size: records per page.
  ///   - start: the first page's offset.
  ///   - total: the number of all records, in the body.
  ///   - endStatus: statuses that an offset behind the last record is answered with, such as 404.
  public static func offset(
    _ parameter: String, limit: String? = nil, size: Int, start: Int = 0, total: JSONPath? = nil,
    endStatus: Set<Int> = [], in place: ParameterPlace = .query
  ) -> Paging {
    Paging(
      makePager: { context in
        Counted(
          style: .offset(parameter), first: start, size: size, sizeParameter: limit, total: total, pages: nil,
          endStatus: endStatus, place: place, asksForEnd: context.asksForEnd)
      },
      paths: total.map { [$0] } ?? [], fault: Counted.fault(size: size),
      description:
        "offset \(parameter) \(limit ?? "") \(size) \(start) \(total?.description ?? "") \(place)",
      reads: PageReads(body: total.map { [$0] } ?? []))
  }

  /// A query parameter holds the page's number.
  ///
  /// The walk ends as with ``offset(_:limit:size:start:total:endStatus:in:)``, and at a declared status on any page but the first.
  ///
  /// - Parameters:
  ///   - first: the first page's number.
  ///   - size: records per page; nil where it is not known, so that only an empty page, a total or a page without a
  ///     new key ends the walk.
  ///   - sizeParameter: the parameter for the page size.
  ///   - total: the number of all records, in the body.
  ///   - pages: the number of all pages, in the body.
  ///   - endStatus: statuses that a page behind the last one is answered with, such as 404.
  public static func page(
    _ parameter: String, from first: Int = 1, size: Int? = nil, sizeParameter: String? = nil,
    total: JSONPath? = nil, pages: JSONPath? = nil, endStatus: Set<Int> = [],
    in place: ParameterPlace = .query
  ) -> Paging {
    Paging(
      makePager: { context in
        Counted(
          style: .page(parameter), first: first, size: size, sizeParameter: sizeParameter, total: total,
          pages: pages,
          endStatus: endStatus, place: place, asksForEnd: context.asksForEnd)
      },
      paths: [total, pages].compactMap { $0 }, fault: Counted.fault(size: size),
      description:
        "page \(parameter) \(first) \(size ?? 0) \(sizeParameter ?? "") \(total?.description ?? "") \(pages?.description ?? "") \(place)",
      reads: PageReads(body: [total, pages].compactMap { $0 }))
  }
}

/// Pages that the client counts: by their number, or by the records before them.
struct Counted: Pager {
  enum Style: Sendable { case offset(String), page(String) }

  let style: Style
  let first: Int
  let size: Int?
  let sizeParameter: String?
  let totalPath: JSONPath?
  let pages: JSONPath?
  let endStatus: Set<Int>
  let place: ParameterPlace
  /// Whether a short page is followed by one more request, because a deletion wants proof of the end.
  let asksForEnd: Bool

  private var recordsSeen = 0
  private var pagesSeen = 0
  private var firstTotal: Int?
  private var firstPages: Int?
  private var totalDoubt: String?
  private var endStatusSeen = 0
  private var steady = SteadySize()

  init(
    style: Style, first: Int, size: Int?, sizeParameter: String?, total: JSONPath?, pages: JSONPath?,
    endStatus: Set<Int>, place: ParameterPlace = .query, asksForEnd: Bool
  ) {
    (self.style, self.first, self.size, self.sizeParameter) = (style, first, size, sizeParameter)
    (totalPath, self.pages, self.endStatus, self.asksForEnd) = (total, pages, endStatus, asksForEnd)
    self.place = place
  }

  static func fault(size: Int?) -> String? {
    size.flatMap { $0 < 1 ? "pages of \($0) records: the size has to be 1 or more" : nil }
  }

  var needsRecords: Bool { true }
  var mayShift: Bool { true }
  var total: Int? { firstTotal }
  func isEnd(status: Int, page: Int) -> Bool { page > 1 && endStatus.contains(status) }
  func firstRequest() -> PageRequest { request() }

  /// - Parameter pages: how many pages lie between the next one and this.
  private func request(ahead pages: Int = 0) -> PageRequest {
    let (name, number) =
      switch style {
      case .offset(let name): (name, first + recordsSeen + pages * (steady.size ?? 0))
      case .page(let name): (name, first + pagesSeen + pages)
      }
    var items = [PageRequest.Item(name, "\(number)", in: place, isJSON: true)]
    if let sizeParameter, let size {
      items.append(.init(sizeParameter, "\(size)", in: place, isJSON: true))
    }
    return .items(items)
  }

  /// Pages that are sure to come, where a total or a number of pages says so.
  func upcoming(_ count: Int) -> [PageRequest] {
    let byTotal = firstTotal.flatMap { steady.pages(of: $0 - recordsSeen) }
    guard endStatusSeen == 0, count > 0, let left = byTotal ?? firstPages.map({ $0 - pagesSeen }), left > 1
    else { return [] }
    return (1...min(count, left - 1)).map { request(ahead: $0) }
  }

  mutating func decide(after page: Page) throws -> PageDecision {
    if page.root == nil {
      // An end status. Asked twice it is proof, unless a total says otherwise.
      if let firstTotal, recordsSeen < firstTotal {
        return .end(.unproven("status \(page.status) came after \(recordsSeen) of \(firstTotal) records"))
      }
      if let firstPages, pagesSeen < firstPages {
        return .end(.unproven("status \(page.status) came after \(pagesSeen) of \(firstPages) pages"))
      }
      endStatusSeen += 1
      if asksForEnd && endStatusSeen < 2 { return .next(request()) }
      return .end(endStatusSeen >= 2 ? .proven : .unproven("status \(page.status) ended the pages"))
    }
    if endStatusSeen > 0 {
      return .end(.unproven("the page behind the last one was answered differently when asked again"))
    }

    recordsSeen += page.recordCount
    pagesSeen += 1
    steady.add(page.recordCount)

    if let totalPath, let count = try page.count(at: totalPath) {
      if let firstTotal, firstTotal != count {
        totalDoubt = "the total changed from \(firstTotal) to \(count) during the walk"
      }
      firstTotal = firstTotal ?? count
      if page.recordCount > 0 && recordsSeen >= count { return .end(end(total: count)) }
    }
    if let pages, let count = try page.count(at: pages) {
      // The number of pages is a total in other units.
      if let firstPages, firstPages != count {
        totalDoubt = "the number of pages changed from \(firstPages) to \(count) during the walk"
      }
      firstPages = firstPages ?? count
      if pagesSeen >= count, page.recordCount > 0 {
        if let firstTotal { return .end(end(total: firstTotal)) }
        return .end(totalDoubt.map(PageEnd.unproven) ?? .proven)
      }
    }
    if page.recordCount == 0, let firstPages, pagesSeen < firstPages {
      return .end(.unproven("page \(pagesSeen) of \(firstPages) was empty"))
    }
    if page.recordCount == 0 {
      if let firstTotal, recordsSeen != firstTotal { return .end(end(total: firstTotal)) }
      return .end(totalDoubt.map(PageEnd.unproven) ?? .proven)
    }
    if page.newKeyCount == 0 {
      return .end(
        .unproven("page \(page.number) brought no new key, which may be the end or a fault of the source"))
    }
    if let size, page.recordCount < size, firstTotal == nil, pages == nil, !asksForEnd {
      return .end(.unproven("the last page was short, and no empty one was asked for"))
    }
    return .next(request())
  }

  private func end(total: Int) -> PageEnd {
    if let totalDoubt { return .unproven(totalDoubt) }
    return recordsSeen == total
      ? .proven : .unproven("the source counts \(total) records, but \(recordsSeen) came")
  }
}

/// How many records a page holds, as long as all pages so far hold the same number: a server may give fewer than it is
/// asked for.
struct SteadySize: Sendable {
  private(set) var size: Int?
  private var isFirst = true

  mutating func add(_ count: Int) {
    size = isFirst || size == count ? count : nil
    isFirst = false
  }

  /// The pages that so many records fill.
  func pages(of records: Int) -> Int? {
    guard let size, size > 0 else { return nil }
    return records > 0 ? (records - 1) / size + 1 : 0
  }
}
