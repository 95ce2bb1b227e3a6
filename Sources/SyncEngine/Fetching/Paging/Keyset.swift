import JSON

extension Paging {
  /// The last record's own field leads on: `?starting_after=ID`, `?since_id=…`, `?created_after=…`, over records in the
  /// order of that field.
  ///
  /// An empty page ends the walk and proves that it is complete, and so does a page that repeats only the records at
  /// the boundary, where the bound counts them in. As many records with the same value as a page holds fail the run:
  /// the pages cannot go on from there. A field that changes at the source needs ascending order: what moves then moves
  /// to where the walk has not been.
  ///
  /// - Parameters:
  ///   - parameter: the parameter that takes the field of the last record.
  ///   - field: where in a record it is. A JSON body takes a list too, such as the sort values of a search.
  ///   - tie: a second field of the last record and its parameter, which tell apart records with the same first one.
  ///   - isUnique: that no two records share its value; known where it is the entity's key. Otherwise a bound that does
  ///     not count the record itself in may pass over another one with its value, and the end proves nothing.
  ///   - more: a flag in the body; where it is false the walk ends.
  ///   - size: records per page, and the parameter for it.
  ///   - endStatus: statuses that a bound behind the last record is answered with, such as 404; they prove nothing.
  public static func keyset(
    _ parameter: String, field: JSONPath, tie: KeysetTie? = nil, isUnique: Bool = false,
    more: JSONPath? = nil, size: Int? = nil,
    sizeParameter: String? = nil, endStatus: Set<Int> = [], in place: ParameterPlace = .query
  ) -> Paging {
    Paging(
      makePager: { context in
        Keyset(
          parameter: parameter, field: field, tie: tie,
          isUnique: isUnique
            || [field, tie?.field].contains { $0?.description == context.keyPath && $0 != nil },
          more: more, size: size, sizeParameter: sizeParameter,
          endStatus: endStatus, place: place)
      },
      paths: [field] + (tie.map { [$0.field] } ?? []) + (more.map { [$0] } ?? []),
      fault: Counted.fault(size: size),
      description:
        "keyset \(parameter) \(field) \(tie.map { "\($0.parameter) \($0.field)" } ?? "") \(more?.description ?? "") \(size ?? 0) \(sizeParameter ?? "") \(place)",
      reads: PageReads(body: more.map { [$0] } ?? [], record: [field] + (tie.map { [$0.field] } ?? [])))
  }
}

/// The second part of a keyset's bound: `?since=…&after_id=…`.
public struct KeysetTie: Sendable, Hashable {
  let parameter: String
  let field: JSONPath
  public init(_ parameter: String, field: JSONPath) { (self.parameter, self.field) = (parameter, field) }
}

struct Keyset: Pager {
  let parameter: String
  let field: JSONPath
  let tie: KeysetTie?
  let isUnique: Bool
  let more: JSONPath?
  let size: Int?
  let sizeParameter: String?
  let endStatus: Set<Int>
  let place: ParameterPlace
  private var trail = TokenTrail()
  /// What the page was asked for with.
  private var bound: [String]?
  /// Whether a page began behind its bound, so that others with the bound's value may have been passed over.
  private var mayHavePassedOver = false
  /// Records on the fullest page.
  private var fullest = 0

  init(
    parameter: String, field: JSONPath, tie: KeysetTie? = nil, isUnique: Bool, more: JSONPath?, size: Int?,
    sizeParameter: String?,
    endStatus: Set<Int> = [], place: ParameterPlace
  ) {
    (self.endStatus, self.tie) = (endStatus, tie)
    (self.parameter, self.field, self.more, self.size) = (parameter, field, more, size)
    (self.isUnique, self.sizeParameter, self.place) = (isUnique, sizeParameter, place)
  }

  var needsRecords: Bool { true }
  var repeatsBoundary: Bool { true }
  func isEnd(status: Int, page: Int) -> Bool { page > 1 && endStatus.contains(status) }
  func firstRequest() -> PageRequest { .items(sizeItems) }

  private var sizeItems: [PageRequest.Item] {
    guard let sizeParameter, let size else { return [] }
    return [.init(sizeParameter, "\(size)", in: place, isJSON: true)]
  }

  mutating func decide(after page: Page) throws -> PageDecision {
    if page.root == nil { return .end(.unproven("status \(page.status) ended the pages")) }
    let first = bound == nil ? nil : try page.firstRecord.map { try items(after: $0).map(\.value) }
    if first != bound { mayHavePassedOver = true }
    guard let last = page.lastRecord, try page.flag(at: more) != false else { return .end(end) }
    let next = try items(after: last)
    let values = next.map(\.value)
    let shown = values.joined(separator: ", ")
    fullest = max(fullest, page.recordCount)
    if values == bound {
      guard first == values else {
        throw PagingError("the page ends where it was asked to begin, at \"\(field)\" \(shown): a loop")
      }
      return .end(try endAtBoundary(page.recordCount, shown))
    }
    try trail.follow(shown, "value of \"\(field)\"")
    bound = values
    return .next(.items(next + sizeItems))
  }

  /// The parameters that go on behind a record.
  private func items(after record: JSONValue) throws(PagingError) -> [PageRequest.Item] {
    var items: [PageRequest.Item] = []
    for (parameter, field) in [(parameter, field)] + (tie.map { [($0.parameter, $0.field)] } ?? []) {
      let (text, isJSON) = try value(of: field, in: record)
      items.append(.init(parameter, text, in: place, isJSON: isJSON))
    }
    return items
  }

  private var end: PageEnd {
    isUnique || !mayHavePassedOver
      ? .proven
      : .unproven(
        "a record with the same \"\(field)\" as the last one of a page may have been passed over: it is not the key"
      )
  }

  /// Only records at the boundary came: they are the last ones, unless there are as many as a page holds.
  private func endAtBoundary(_ count: Int, _ token: String) throws(PagingError) -> PageEnd {
    if count < fullest || count == 1 && size != 1 { return end }
    if let size, count < size {
      return .unproven("no page had more than the \(count) records with \"\(field)\" \(token)")
    }
    throw PagingError(
      "as many records as a page holds have \"\(field)\" \(token): the pages cannot go on from there")
  }

  private func value(of field: JSONPath, in record: JSONValue) throws(PagingError) -> (
    text: String, isJSON: Bool
  ) {
    let value: JSONValue?
    do { value = try field.value(in: record) } catch { throw PagingError("the record: \(error)") }
    guard let token = value?.token(for: place), !token.text.isEmpty else {
      throw PagingError("the record has no \"\(field)\" to go on from")
    }
    return token
  }
}
