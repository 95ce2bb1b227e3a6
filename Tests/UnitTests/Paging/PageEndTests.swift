import SyncEngine
import TestSupport
import Testing

/// How each style ends, what proves the end, and what fails. Thing 99 is gone at the source: it is deleted only where
/// the end is proven.
@Suite("Ends of each paging style", .fewAtATime, .once)
struct PageEndTests {
  private func walk(
    _ path: String, _ paging: Paging, _ options: String, stock: Int = 5, rows: SyncEngine.Rows = "data",
    as entity: any Entity.Type = Row.self
  ) async throws -> PageWalk {
    try await PageServer.walk(
      Source(.pages(), path, rows: rows, paging: paging, maxPages: 20), options, stock: stock, as: entity)
  }

  private func check(
    _ path: String, _ paging: Paging, _ options: String, proven requests: Int,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let walk = try await walk(path, paging, options)
    #expect(walk.isProven, "\(walk.line)", sourceLocation: sourceLocation)
    #expect(walk.ids == [1, 2, 3, 4, 5], sourceLocation: sourceLocation)
    #expect(walk.requests.count == requests, "\(walk.list)", sourceLocation: sourceLocation)
  }

  private func check(
    _ path: String, _ paging: Paging, _ options: String, unproven reason: String, requests: Int,
    as entity: any Entity.Type = Row.self, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let walk = try await walk(path, paging, options, as: entity)
    #expect(walk.line.contains("unproven: \(reason)"), "\(walk.line)", sourceLocation: sourceLocation)
    #expect(walk.ids.contains(99), sourceLocation: sourceLocation)
    #expect(walk.requests.count == requests, "\(walk.list)", sourceLocation: sourceLocation)
  }

  private func check(
    _ path: String, _ paging: Paging, _ options: String, fails reason: String, requests: Int? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let walk = try await walk(path, paging, options)
    #expect(walk.line.contains(reason), "\(walk.line)", sourceLocation: sourceLocation)
    #expect(walk.ids == [1, 2, 3, 4, 5, 99], sourceLocation: sourceLocation)
    if let requests {
      #expect(walk.requests.count == requests, "\(walk.list)", sourceLocation: sourceLocation)
    }
  }

  private static let five = #"{"n": 5, "size": 2"#

  // MARK: Links and cursors

  @Test("links and cursors are proven where they end, on an empty last page too, in one walk")
  func links() async throws {
    let empty = #"{"n": 5, "size": 2, "emptyLast": true}"#
    for (path, paging) in [
      ("next", Paging.next("next")), ("next-header", .next(header: "Next-Page")), ("link", .linkHeader),
      ("cursor", .cursor("cursor", parameter: "after")),
      ("cursor-header", .cursor(header: "X-Next", parameter: "after")),
    ] {
      try await check(path, paging, Self.five + "}", proven: 3)
      try await check(path, paging, empty, proven: 4)
    }
  }

  @Test("loops of every length fail, whatever they are made of", arguments: 0...2)
  func loops(_ target: Int) async throws {
    for from in target...2 {
      let options = Self.five + ", \"jump\": {\"\(from)\": \(target)}}"
      try await check("next", .next("next"), options, fails: "in a loop")
      try await check("next-header", .next(header: "Next-Page"), options, fails: "in a loop")
      try await check("link", .linkHeader, options, fails: "in a loop")
      try await check("cursor", .cursor("cursor", parameter: "after"), options, fails: "in a loop")
      try await check(
        "cursor-header", .cursor(header: "X-Next", parameter: "X-After", in: .header), options,
        fails: "in a loop")
    }
  }

  @Test("a cursor that came before is not asked for again")
  func repeatedCursor() async throws {
    try await check(
      "cursor", .cursor("cursor", parameter: "after"), Self.five + #", "jump": {"2": 1}}"#,
      fails: "page 3 (BASE/cursor?after=t2): the cursor \"t1\" repeats: the pages go round in a loop",
      requests: 3)
  }

  @Test("paging fields that cannot be used fail")
  func unusable() async throws {
    try await check(
      "all", .next("data"), Self.five + "}", fails: "the next link at \"data\" is an array, not an address")
    try await check("all", .next("total"), #"{"n": 5, "total": 7}"#, fails: "is a number, not an address")
    try await check(
      "all", .cursor("data", parameter: "a"), Self.five + "}", fails: "is an array, not a text or a number")
    try await check(
      "all", .cursor("total", parameter: "a", more: "total"), #"{"n": 5, "total": 7}"#,
      fails: "the flag at \"total\" is a number, not a boolean")
    for total in ["-1", "1.5", "true", "\"many\"", "{}"] where total != "true" {
      try await check(
        "offset", .offset("offset", size: 2, total: "total"), Self.five + ", \"total\": \(total)}",
        fails: "is \(total), not a count", requests: 1)
      try await check(
        "page", .page("page", pages: "pages"), Self.five + ", \"pages\": \(total)}", fails: "not a count",
        requests: 1)
    }
    try await check(
      "keyset", .keyset("after", field: "x"), Self.five + "}", fails: "has no \"x\" to go on from")
  }

  // MARK: Counted pages

  @Test("counted pages are proven by the total or an empty page, and walked twice before a deletion")
  func counted() async throws {
    let total = Self.five + #", "total": true, "pages": true}"#
    try await check("offset", .offset("offset", size: 2, total: "total"), total, proven: 6)
    try await check("page", .page("page", size: 2, total: "total"), total, proven: 6)
    try await check("page", .page("page", pages: "pages"), total, proven: 6)
    try await check("offset", .offset("offset", size: 2), total, proven: 8)
    try await check("page", .page("page"), total, proven: 8)
    try await check(
      "page", .page("page", endStatus: [404]), Self.five + #", "beyond": 404}"#, proven: 10)
    try await check("page", .page("page", endStatus: [204]), Self.five + #", "beyond": 204}"#, proven: 10)
  }

  @Test("a server that caps its pages loses nothing")
  func capped() async throws {
    let options = #"{"n": 5, "cap": 2, "total": true}"#
    try await check("offset", .offset("offset", limit: "limit", size: 4, total: "total"), options, proven: 6)
    try await check("offset", .offset("offset", limit: "limit", size: 4), options, proven: 8)
    try await check("page", .page("page", size: 4, sizeParameter: "per_page"), options, proven: 8)
    try await check("range", .range("items", size: 4), options, proven: 6)
    try await check(
      "keyset", .keyset("after", field: "id", size: 4, sizeParameter: "limit"), options, proven: 4)
  }

  @Test("a total that changes or is not met proves nothing, and all rows come nevertheless")
  func doubtfulTotals() async throws {
    for (path, paging) in [
      ("offset", Paging.offset("offset", size: 2, total: "total")), ("range", .range("items", size: 2)),
    ] {
      let changed = try await walk(path, paging, Self.five + #", "total": [5, 6, 5]}"#, stock: 4)
      #expect(changed.line.contains("unproven: the total changed from 5 to 6"), "\(changed.line)")
      #expect(changed.ids == [1, 2, 3, 4, 5, 99])
      try await check(
        path, paging, Self.five + #", "total": 9}"#, unproven: "the source counts 9 records, but 5 came",
        requests: 4)
      try await check(
        path, paging, Self.five + #", "total": 3}"#, unproven: "the source counts 3 records, but 4 came",
        requests: 2)
    }
    try await check(
      "page", .page("page", pages: "pages"), Self.five + #", "pages": [3, 4]}"#,
      unproven: "the number of pages changed from 3 to 4 during the walk", requests: 4)
  }

  @Test("no total is too large to be taken", arguments: ["offset", "page", "range"])
  func hugeTotal(_ path: String) async throws {
    let pagings: [String: Paging] = [
      "offset": .offset("offset", size: 2, total: "total"), "page": .page("page", size: 2, total: "total"),
      "range": .range("items", size: 2),
    ]
    let source = Source(.pages(concurrency: 4), path, rows: "data", paging: try #require(pagings[path]))
    let walk = try await PageServer.walk(source, Self.five + #", "total": 9223372036854775807}"#, stock: 5)
    #expect(walk.line.contains("unproven: the source counts 9223372036854775807 records"), "\(walk.line)")
  }

  @Test("without a deletion a short page ends the walk and proves nothing")
  func shortPage() async throws {
    try await check(
      "offset", .offset("offset", size: 2), Self.five + "}",
      unproven: "the last page was short, and no empty one was asked for", requests: 3, as: KeptRow.self)
  }

  @Test("a row that slips between pages is not deleted: two walks have to agree")
  func shifted() async throws {
    // Thing 1 goes after the first page, and thing 3 moves to where it is not asked for.
    let walk = try await walk(
      "offset", .offset("offset", size: 2), Self.five + #", "shift": {"1": {"delete": [1]}}}"#)
    #expect(walk.isProven, "\(walk.line)")
    #expect(walk.ids == [1, 2, 3, 4, 5])
  }

  @Test("a page of list elements without a record is no end")
  func wildcard() async throws {
    let walk = try await walk(
      "offset", .offset("offset", size: 2, total: "total"), Self.five + #", "total": true}"#,
      rows: "data[*].officer", as: KeptRow.self)
    #expect(walk.requests.count == 3, "\(walk.list)")
  }

  // MARK: Keysets

  @Test("keysets end at an empty page, by the flag, or where only the records at the boundary come again")
  func keysets() async throws {
    try await check("keyset", .keyset("after", field: "id"), Self.five + "}", proven: 4)
    try await check("keyset", .keyset("after", field: "n", isUnique: true), Self.five + "}", proven: 4)
    try await check(
      "keyset", .keyset("after", field: "id", more: "more"), Self.five + #", "more": true}"#, proven: 3)
    let inclusive = #"{"n": 5, "size": 3, "inclusive": true}"#
    try await check("keyset", .keyset("after", field: "n"), inclusive, proven: 3)
  }

  @Test("a bound that passes over records with its value proves nothing")
  func passedOver() async throws {
    // Things 3 and 4 share a value, and a page ends between them.
    let walk = try await walk(
      "keyset", .keyset("after", field: "n"), #"{"n": 6, "size": 3, "ties": 2}"#, stock: 6)
    #expect(
      walk.line.contains("unproven: a record with the same \"n\" as the last one of a page"), "\(walk.line)")
    #expect(walk.ids == [1, 2, 3, 4, 5, 6, 99])
  }

  @Test("records at the boundary that come again are no duplicates, however many share the value")
  func ties() async throws {
    let walk = try await walk(
      "keyset", .keyset("after", field: "n"), #"{"n": 6, "size": 4, "ties": 2, "inclusive": true}"#, stock: 6)
    #expect(walk.line == "3 pages, 10 records, 0 inserted, 0 updated, 6 unchanged, 1 deleted, proven")
    expect(walk.list, is: "GET /keyset\nGET /keyset?after=2\nGET /keyset?after=3")
  }

  @Test("ties that fill a page are an error: the pages cannot go on")
  func fullTies() async throws {
    try await check(
      "keyset", .keyset("after", field: "n"), #"{"n": 5, "size": 2, "ties": 2, "inclusive": true}"#,
      fails:
        "as many records as a page holds have \"n\" 1: the pages cannot go on from there", requests: 2)
    try await check(
      "keyset", .keyset("after", field: "n", size: 4, sizeParameter: "limit"),
      #"{"n": 5, "cap": 2, "ties": 9, "inclusive": true}"#,
      unproven: "no page had more than the 2 records with \"n\" 1", requests: 2)
  }

  @Test("a server that does not heed the bound fails")
  func ignoredBound() async throws {
    try await check(
      "keyset", .keyset("after", field: "n"), #"{"n": 5, "size": 2, "ignore": ["after"]}"#,
      fails: "the page ends where it was asked to begin, at \"n\" 2: a loop", requests: 2)
  }

  // MARK: Ranges

  @Test(
    "ranges are proven by the total, by all at once, or by an empty page; and walked twice before a deletion")
  func ranges() async throws {
    try await check("range", .range("items", size: 2), Self.five + "}", proven: 6)
    try await check("range", .range("items", size: 2), Self.five + #", "plain": true}"#, proven: 2)
    // PostgREST: status 200 without a unit is a range all the same.
    try await check(
      "range", .range("items", size: 2), Self.five + #", "status": 200, "unit": ""}"#, proven: 6)
  }

  @Test("status 416 proves the end only with a total that was met")
  func unsatisfiable() async throws {
    let walk = try await walk(
      "range", .range("items", size: 2), Self.five + #", "rangeTotal": false}"#)
    #expect(walk.line.contains("unproven: status 416 came without a total"), "\(walk.line)")
    let empty = try await self.walk("range", .range("items", size: 2), #"{"n": 0}"#, as: KeptRow.self)
    #expect(empty.line == "1 pages, 0 records, 0 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    try await check(
      "range", .range("items", size: 2), #"{"n": 0, "rangeTotal": false}"#,
      fails: "status 416 came for the first records")
  }

  @Test("a range of another unit, or other records than those asked for, fail")
  func otherRange() async throws {
    try await check(
      "range", .range("items", size: 2), Self.five + #", "unit": "bytes "}"#,
      fails: "the Content-Range \"bytes 0-1/5\" is no range of items", requests: 1)
    try await check(
      "all", .range("items", size: 2), #"{"n": 5, "fail": {"1": 206}}"#,
      fails: "status 206 came without a Content-Range", requests: 1)
  }
}
