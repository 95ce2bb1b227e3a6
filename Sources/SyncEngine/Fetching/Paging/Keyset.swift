import JSON

extension Paging {
  /// The last record's own field leads on: `?starting_after=ID`, `?since_id=…`, `?created_after=…`, over records in the
  /// order of that field.
  ///
  /// An empty page ends the walk and proves that it is complete, and so does a page that repeats only the record at
  /// the boundary, where the bound counts it in.
  ///
  /// - Parameters:
  ///   - parameter: the parameter that takes the field of the last record.
  ///   - field: where in a record it is.
  ///   - more: a flag in the body; where it is false the walk ends.
  ///   - size: records per page, and the parameter for it.
  public static func keyset(
    _ parameter: String, field: JSONPath, more: JSONPath? = nil, size: Int? = nil,
    sizeParameter: String? = nil, in place: ParameterPlace = .query
  ) -> Paging {
    Paging(
      makePager: { _ in
        Keyset(
          parameter: parameter, field: field, more: more, size: size, sizeParameter: sizeParameter,
          place: place)
      },
      paths: [field] + (more.map { [$0] } ?? []), fault: Counted.fault(size: size),
      description:
        "keyset \(parameter) \(field) \(more?.description ?? "") \(size ?? 0) \(sizeParameter ?? "") \(place)"
    )
  }
}

struct Keyset: Pager {
  let parameter: String
  let field: JSONPath
  let more: JSONPath?
  let size: Int?
  let sizeParameter: String?
  let place: ParameterPlace
  private var trail = TokenTrail()

  init(
    parameter: String, field: JSONPath, more: JSONPath?, size: Int?, sizeParameter: String?,
    place: ParameterPlace
  ) {
    (self.parameter, self.field, self.more, self.size) = (parameter, field, more, size)
    (self.sizeParameter, self.place) = (sizeParameter, place)
  }

  var needsRecords: Bool { true }
  var repeatsBoundary: Bool { true }
  func firstRequest() -> PageRequest { .items(sizeItems) }

  private var sizeItems: [PageRequest.Item] {
    guard let sizeParameter, let size else { return [] }
    return [.init(sizeParameter, "\(size)", in: place, isNumber: true)]
  }

  mutating func decide(after page: Page) throws -> PageDecision {
    if try page.flag(at: more) == false { return .end(.proven) }
    guard let last = page.lastRecord else { return .end(.proven) }
    // Only the record at the boundary came again.
    if page.newKeyCount == 0 && page.number > 1 && page.recordCount == 1 { return .end(.proven) }
    let value: JSONValue?
    do { value = try field.value(in: last) } catch { throw PagingError("the last record: \(error)") }
    guard let token = value?.scalarText, !token.isEmpty else {
      throw PagingError("the last record has no \"\(field)\" to go on from")
    }
    do { try trail.follow(token, "value of \"\(field)\"") } catch {
      throw page.newKeyCount == 0
        ? error
        : PagingError(
          "more records than a page holds have \"\(field)\" \(token): the pages cannot go on from there")
    }
    let isNumber = value?.token != nil
    return .next(.items([.init(parameter, token, in: place, isNumber: isNumber)] + sizeItems))
  }
}
