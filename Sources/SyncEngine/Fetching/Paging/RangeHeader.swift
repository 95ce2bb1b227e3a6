extension Paging {
  /// The `Range` header field asks for records by their positions, as in `Range: items=0-99`; the answer says in
  /// `Content-Range: items 0-99/319` how many there are (RFC 9110 §14).
  ///
  /// The walk ends when the last one came, at an empty page and at status 416. An answer of status 200 without
  /// `Content-Range` is all there is.
  ///
  /// - Parameters:
  ///   - unit: the range unit.
  ///   - size: records per page.
  public static func range(_ unit: String, size: Int) -> Paging {
    Paging(
      makePager: { _ in RangeHeader(unit: unit, size: size) }, paths: [], fault: Counted.fault(size: size),
      description: "range \(unit) \(size)", reads: PageReads(headers: ["Content-Range"]))
  }
}

struct RangeHeader: Pager {
  let unit: String
  let size: Int
  private var recordsSeen = 0
  private(set) var total: Int?
  private var totalDoubt: String?
  private var steady = SteadySize()

  init(unit: String, size: Int) { (self.unit, self.size) = (unit, size) }

  var needsRecords: Bool { true }
  var mayShift: Bool { true }
  func isPage(status: Int) -> Bool { status == 200 || status == 206 }
  func isEnd(status: Int, page: Int) -> Bool { status == 416 }
  func firstRequest() -> PageRequest { request(from: 0) }

  private func request(from first: Int) -> PageRequest {
    .items([.init("Range", "\(unit)=\(first)-\(first + size - 1)", in: .header)])
  }

  func upcoming(_ count: Int) -> [PageRequest] {
    guard count > 0, let total, let step = steady.size, let left = steady.pages(of: total - recordsSeen),
      left > 1
    else { return [] }
    return (1...min(count, left - 1)).map { request(from: recordsSeen + $0 * step) }
  }

  mutating func decide(after page: Page) throws -> PageDecision {
    guard let field = page.headers["Content-Range"] else {
      if page.root != nil && page.status == 200 {
        return .end(
          page.number == 1 ? .proven : .unproven("page \(page.number) came without a Content-Range"))
      }
      throw PagingError("status \(page.status) came without a Content-Range")
    }
    guard let range = ContentRange(field), range.unit == nil || range.unit == unit else {
      throw PagingError("the Content-Range \"\(field)\" is no range of \(unit)")
    }
    if let total, let now = range.total, total != now {
      totalDoubt = "the total changed from \(total) to \(now) during the walk"
    }
    total = total ?? range.total
    if page.root == nil {
      guard recordsSeen > 0 || total == 0 else {
        throw PagingError("status \(page.status) came for the first records, with Content-Range \"\(field)\"")
      }
      return .end(total == nil ? .unproven("status \(page.status) came without a total") : end)
    }
    guard range.first == recordsSeen || page.recordCount == 0 else {
      throw PagingError(
        "the records from \(recordsSeen) on were asked for, and the answer holds \"\(field)\"")
    }
    recordsSeen += page.recordCount
    steady.add(page.recordCount)
    if page.recordCount == 0 || total.map({ recordsSeen >= $0 }) == true { return .end(end) }
    return .next(request(from: recordsSeen))
  }

  private var end: PageEnd {
    if let totalDoubt { return .unproven(totalDoubt) }
    guard let total, total != recordsSeen else { return .proven }
    return .unproven("the source counts \(total) records, but \(recordsSeen) came")
  }
}

/// `items 0-99/319`, `items 0-99/*` or `items */319` (RFC 9110 §14.4); PostgREST leaves the unit out.
struct ContentRange: Equatable {
  var unit: String?
  var first: Int?
  var total: Int?

  init?(_ field: String) {
    let words = field.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
    guard (1...2).contains(words.count) else { return nil }
    let parts = words[words.count - 1].split(separator: "/", omittingEmptySubsequences: false).map(
      String.init)
    guard parts.count == 2 else { return nil }
    func number(_ text: String) -> Int? {
      !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }
    unit = words.count == 2 ? words[0] : nil
    if parts[1] != "*" {
      guard let value = number(parts[1]) else { return nil }
      total = value
    }
    if parts[0] != "*" {
      let bounds = parts[0].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
      guard bounds.count == 2, let from = number(bounds[0]), let to = number(bounds[1]), from <= to else {
        return nil
      }
      first = from
    }
  }
}
