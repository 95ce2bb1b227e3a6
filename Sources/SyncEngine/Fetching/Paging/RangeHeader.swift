extension Paging {
  /// The `Range` header field asks for records by their positions, as in `Range: items=0-99`; the answer says in
  /// `Content-Range: items 0-99/319` how many there are (RFC 9110 §14).
  ///
  /// The walk ends when the last one came, at an answer with status 200, which is all there is, and at 416.
  ///
  /// - Parameters:
  ///   - unit: the range unit.
  ///   - size: records per page.
  public static func range(_ unit: String, size: Int) -> Paging {
    Paging(
      makePager: { _ in RangeHeader(unit: unit, size: size) }, paths: [], fault: Counted.fault(size: size),
      description: "range \(unit) \(size)")
  }
}

struct RangeHeader: Pager {
  let unit: String
  let size: Int
  private var recordsSeen = 0
  private var total: Int?

  init(unit: String, size: Int) { (self.unit, self.size) = (unit, size) }

  var needsRecords: Bool { true }
  var mayShift: Bool { true }
  func isPage(status: Int) -> Bool { status == 200 || status == 206 }
  func isEnd(status: Int) -> Bool { status == 416 }
  func firstRequest() -> PageRequest { request(from: 0) }

  private func request(from first: Int) -> PageRequest {
    .items([.init("Range", "\(unit)=\(first)-\(first + size - 1)", in: .header)])
  }

  func upcoming(_ count: Int) -> [PageRequest] {
    guard let total else { return [] }
    return (1...max(1, count)).map { recordsSeen + $0 * size }.filter { $0 < total }.map(request)
  }

  mutating func decide(after page: Page) throws -> PageDecision {
    if page.status == 200 { return .end(.proven) }
    guard let field = page.headers["Content-Range"], let range = ContentRange(field), range.unit == unit
    else {
      throw PagingError("status \(page.status) came without a Content-Range in \(unit) that can be read")
    }
    if page.root == nil {
      return range.total == recordsSeen
        ? .end(.proven) : .end(.unproven("status 416 came after \(recordsSeen) records"))
    }
    if let known = total, let now = range.total, known != now {
      return .end(.unproven("the total changed from \(known) to \(now) during the walk"))
    }
    total = total ?? range.total
    guard range.first == recordsSeen else {
      throw PagingError("record \(recordsSeen) was asked for, and the answer begins with \(range.first ?? 0)")
    }
    recordsSeen += page.recordCount
    if let total, recordsSeen >= total {
      return .end(
        recordsSeen == total
          ? .proven : .unproven("the source counts \(total) records, but \(recordsSeen) came"))
    }
    if page.recordCount == 0 {
      return .end(total == nil ? .proven : .unproven("an empty page came after \(recordsSeen) records"))
    }
    return .next(request(from: recordsSeen))
  }
}

/// `items 0-99/319`, `items 0-99/*` or `items */319` (RFC 9110 §14.4).
struct ContentRange: Equatable {
  var unit: String
  var first: Int?
  var total: Int?

  init?(_ field: String) {
    let words = field.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
    guard words.count == 2 else { return nil }
    let parts = words[1].split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2 else { return nil }
    func number(_ text: String) -> Int? {
      !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }
    unit = words[0]
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
