import Foundation
import SyncEngine
import TestSupport
import Testing

/// Which endings of which paging style prove that everything was seen (design §5).
@Suite("Proofs of the end", .fewAtATime)
struct PagingProofTests {
  /// What a walk over things 1 to 3 does to a table of things 1 to 4.
  private func walk(_ entity: any Entity.Type, _ routes: [Route]) async throws -> (line: String, rows: String)
  {
    let scene = try Scene(Scene.stock)
    let line = try await scene.run(entity, routes)
    return (line, try scene.rows("SELECT group_concat(id, '') FROM (SELECT id FROM thing ORDER BY id) AS t"))
  }

  private func check(
    _ entity: any Entity.Type, _ routes: [Route], line: String, rows: String = "1234",
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let result = try await walk(entity, routes)
    expect(result.line, is: "thing: \(line)", sourceLocation: sourceLocation)
    expect(result.rows, is: rows, sourceLocation: sourceLocation)
  }

  private static func proven(_ pages: Int, _ records: Int, unchanged: Int = 3, deleted: Int = 1) -> String {
    "\(pages) pages, \(records) records, 0 inserted, 0 updated, \(unchanged) unchanged, \(deleted) deleted, proven"
  }

  // MARK: Next links, headers, cursors

  @Test(
    "a next link ends the walk where it is absent, null or empty",
    arguments: ["", #""next":null"#, #""next":"""#])
  func nextLink(_ end: String) async throws {
    try await check(
      Thing.self,
      [things(list([2, 3], end), query: ["p": "2"]), things(list([1], #""next":"?p=2""#))],
      line: Self.proven(2, 3), rows: "123")
  }

  struct Headed: Entity {
    var id = 0
    var v: String?
    static let table = "thing"
    static let source = Source(.probe, "things", rows: "data", paging: .linkHeader)
    static var mapping: Mapping<Headed> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<Headed>.missing
  }

  @Test(
    "a Link header ends the walk where it names no next page",
    arguments: [nil, #"</things>; rel="prev""#, #"</x>; rel="next"; anchor="/other""#, ""])
  func linkHeader(_ last: String?) async throws {
    try await check(
      Headed.self,
      [
        Route("/things", query: ["p": "2"], answer: last.map { ["Link": $0] }, body: list([3])),
        Route(
          "/things", answer: ["Link": #"</things?p=9>; rel="last", </things?p=2>; rel="Next prefetch""#],
          body: list([1, 2])),
      ],
      line: Self.proven(2, 3), rows: "123")
  }

  @Test("a Link header that cannot be read fails")
  func brokenLinkHeader() async throws {
    try await check(
      Headed.self, [Route("/things", answer: ["Link": "</things?p=2; rel=next"], body: list([1]))],
      line: "page 1 (BASE/things): the Link header cannot be read: </things?p=2; rel=next")
  }

  @Test(
    "a cursor ends the walk where it is absent, null or empty, or the flag says so",
    arguments: [
      "", #""meta":{}"#, #""meta":null"#, #""meta":{"next":null}"#, #""meta":{"next":""}"#,
      #""meta":{"next":"B","more":false}"#,
    ])
  func cursor(_ end: String) async throws {
    try await check(
      AnswerFailureTests.Cursored.self,
      [things(list([2, 3], end), query: ["after": "7"]), things(list([1], #""meta":{"next":7}"#))],
      line: Self.proven(2, 3), rows: "123")
  }

  // MARK: Offsets

  struct Offset: Entity {
    var id = 0
    var v: String?
    static let table = "thing"
    static let source = Source(
      .probe, "things", rows: "data", paging: .offset("offset", limit: "limit", size: 2, total: "total"),
      maxPages: 9)
    static var mapping: Mapping<Offset> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<Offset>.missing
  }

  /// Pages by offset, each answered as often as `times` says.
  private func at(_ offset: Int, _ ids: [Int], _ more: String = "", times: Int? = nil) -> Route {
    things(list(ids, more), query: ["offset": "\(offset)"], times: times)
  }

  @Test("offsets: an empty page proves the end; before a deletion all is walked again")
  func offsets() async throws {
    try await check(
      Offset.self, [at(0, [1, 2]), at(2, [3]), at(3, [])], line: Self.proven(6, 6), rows: "123")
  }

  @Test("offsets: the total proves the end, as number or text")
  func offsetTotals() async throws {
    try await check(
      Offset.self, [at(0, [1, 2], #""total":3"#), at(2, [3], #""total":"3""#)], line: Self.proven(4, 6),
      rows: "123")
  }

  @Test("offsets: nothing to delete needs no second walk")
  func noSecondWalk() async throws {
    try await check(
      Offset.self, [at(0, [1, 2]), at(2, [3, 4]), at(4, [])],
      line: Self.proven(3, 4, unchanged: 4, deleted: 0))
  }

  @Test("offsets: a server that gives fewer than asked for loses nothing")
  func cappedPages() async throws {
    try await check(
      Offset.self, [at(0, [1]), at(1, [2]), at(2, [3]), at(3, [])], line: Self.proven(8, 6), rows: "123")
  }

  @Test("offsets: a total that changed, was not met or was overrun proves nothing")
  func doubtfulTotals() async throws {
    let counts = "0 inserted, 0 updated, 3 unchanged, 0 deleted, unproven"
    try await check(
      Offset.self, [at(0, [1, 2], #""total":3"#), at(2, [3], #""total":4"#), at(3, [], #""total":4"#)],
      line: "3 pages, 3 records, \(counts): the total changed from 3 to 4 during the walk")
    try await check(
      Offset.self, [at(0, [1, 2], #""total":5"#), at(2, [3], #""total":5"#), at(3, [], #""total":5"#)],
      line: "3 pages, 3 records, \(counts): the source counts 5 records, but 3 came")
    try await check(
      Offset.self, [at(0, [1, 2], #""total":1"#)],
      line:
        "1 pages, 2 records, 0 inserted, 0 updated, 2 unchanged, 0 deleted, unproven: the source counts 1 records, but 2 came"
    )
  }

  @Test(
    "offsets: a total that is no count fails", arguments: ["-1", "1.5", "true", "[]", #""many""#])
  func badTotals(_ total: String) async throws {
    try await check(
      Offset.self, [at(0, [1, 2], "\"total\":\(total)")],
      line: "page 1 (BASE/things?offset=0&limit=2): the total at \"total\" is \(total), not a count")
  }

  @Test("offsets: a server that ignores the offset ends unproven, with no row lost")
  func ignoredOffset() async throws {
    try await check(
      Offset.self, [things(list([1, 2]))],
      line:
        "2 pages, 4 records, 0 inserted, 0 updated, 2 unchanged, 0 deleted, 2 duplicates, unproven: page 2 brought no new key, which may be the end or a fault of the source; 2 records came twice"
    )
  }

  @Test("offsets: a live row that slips from page to page during one walk is not deleted")
  func shiftingRows() async throws {
    // Thing 1 goes at the source after the first page, so that thing 3 moves up to where it was not asked for.
    try await check(
      Offset.self,
      [
        at(0, [1, 2], times: 1), at(2, [4], times: 1), at(0, [2, 3]), at(2, [4]), at(3, []),
      ],
      line: Self.proven(6, 6, unchanged: 4, deleted: 0))
    // The same with a total that stays, since thing 5 comes as thing 1 goes.
    let total = #""total":4"#
    try await check(
      Offset.self,
      [
        at(0, [1, 2], total, times: 1), at(2, [4, 5], total, times: 1), at(0, [2, 3], total),
        at(2, [4, 5], total),
      ],
      line: "4 pages, 8 records, 1 inserted, 0 updated, 4 unchanged, 0 deleted, proven", rows: "12345")
  }

  @Test("offsets: where the second walk fails nothing is written, where it is unproven nothing is deleted")
  func secondWalk() async throws {
    try await check(
      Offset.self,
      [
        at(0, [1, 2], times: 1), at(2, [3], times: 1), at(3, [], times: 1),
        Route("/things", status: 404, body: ""),
      ],
      line: "page 1 (BASE/things?offset=0&limit=2): HTTP 404 Not Found")
    try await check(
      Offset.self,
      [
        at(0, [1, 2], times: 1), at(2, [3], times: 1), at(3, [], times: 1), at(0, [1, 2]), at(2, [2, 3]),
        at(4, []),
      ],
      line:
        "6 pages, 7 records, 0 inserted, 0 updated, 3 unchanged, 0 deleted, 1 duplicates, unproven: 1 records came twice"
    )
  }

  // MARK: Page numbers

  struct Numbered: Entity {
    var id = 0
    var v: String?
    static let table = "thing"
    static let source = Source(
      .probe, "things", rows: "data",
      paging: .page("page", size: 2, total: "total", pages: "pages", endStatus: [404, 204]), maxPages: 9)
    static var mapping: Mapping<Numbered> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<Numbered>.missing
  }

  private func number(_ page: Int, _ ids: [Int], _ more: String = "", times: Int? = nil) -> Route {
    things(list(ids, more), query: ["page": "\(page)"], times: times)
  }

  @Test("page numbers: an empty page, the number of pages, and an end status asked for twice prove the end")
  func pageNumbers() async throws {
    try await check(
      Numbered.self, [number(1, [1, 2]), number(2, [3]), number(3, [])], line: Self.proven(6, 6), rows: "123")
    try await check(
      Numbered.self, [number(1, [1, 2], #""pages":2"#), number(2, [3], #""pages":2"#)],
      line: Self.proven(4, 6), rows: "123")
    try await check(
      Numbered.self, [number(1, [1, 2]), number(2, [3])], line: Self.proven(8, 6), rows: "123")
    try await check(
      Numbered.self,
      [number(1, [1, 2]), number(2, [3]), Route("/things", query: ["page": "3"], status: 204)],
      line: Self.proven(8, 6), rows: "123")
  }

  @Test(
    "page numbers: an end status is none on the first page, against a total, or when asked again it is gone")
  func endStatus() async throws {
    try await check(
      Numbered.self, [],
      line: "page 1 (BASE/things?page=1): HTTP 404 Not Found: no such route: /things?page=1")
    let counts = "0 inserted, 0 updated, 3 unchanged, 0 deleted, unproven"
    try await check(
      Numbered.self, [number(1, [1, 2], #""total":4"#), number(2, [3], #""total":4"#)],
      line: "3 pages, 3 records, \(counts): status 404 came after 3 of 4 records")
    try await check(
      Numbered.self,
      [
        number(1, [1, 2]), number(2, [3]), Route("/things", query: ["page": "3"], status: 404, times: 1),
        number(3, [4]),
      ],
      line:
        "4 pages, 4 records, 0 inserted, 0 updated, 4 unchanged, 0 deleted, unproven: the page behind the last one was answered differently when asked again"
    )
  }

  @Test("page numbers: a number of pages that changed proves nothing")
  func changedPageCount() async throws {
    let routes = [number(1, [1, 2], #""pages":3"#), number(2, [3], #""pages":2"#)]
    let result = try await walk(Numbered.self, routes)
    #expect(result.line.contains("unproven"), "\(result.line)")
    #expect(result.rows == "1234")
  }

  @Test("page numbers: an empty page before the number of pages is reached proves nothing")
  func unmetPageCount() async throws {
    let routes = [number(1, [1, 2], #""pages":9"#), number(2, [], #""pages":9"#)]
    let result = try await walk(Numbered.self, routes)
    #expect(result.line.contains("unproven"), "\(result.line)")
    #expect(result.rows == "1234")
  }

  struct Unasked: Entity {
    var id = 0
    var v: String?
    static let table = "thing"
    static let source = Source(
      .probe, "things", rows: "data", paging: .page("page", size: 2, endStatus: [404]), maxPages: 9)
    static var mapping: Mapping<Unasked> {
      Key(\.id)
      Field(\.v)
    }
  }

  @Test("without a deletion a short page and one end status are enough to end, and prove nothing")
  func withoutDeletion() async throws {
    try await check(
      Unasked.self, [number(1, [1, 2]), number(2, [3])],
      line:
        "2 pages, 3 records, 0 inserted, 0 updated, 3 unchanged, 0 deleted, unproven: the last page was short, and no empty one was asked for"
    )
    try await check(
      Unasked.self, [number(1, [1, 2])],
      line:
        "2 pages, 2 records, 0 inserted, 0 updated, 2 unchanged, 0 deleted, unproven: status 404 ended the pages"
    )
  }

  // MARK: What disarms

  @Test(
    "an error beside the list disarms the deletion",
    arguments: [#""error":"x""#, #""errors":[1]"#, #""error":{"a":1}"#, #""error":true"#, #""errors":7"#])
  func errorMembers(_ member: String) async throws {
    let parts = member.split(separator: ":", maxSplits: 1)
    let shown = "\(parts[0].filter(\.isLetter)): \(parts[1])"
    try await check(
      Thing.self, [things(list([1, 2, 3], member))],
      line:
        "1 pages, 3 records, 0 inserted, 0 updated, 3 unchanged, 0 deleted, unproven: the answer carries \(shown)"
    )
  }

  @Test(
    "an empty error beside the list is none",
    arguments: [
      #""error":null"#, #""errors":[]"#, #""error":{}"#, #""error":false"#, #""error":"""#, #""error":0"#,
    ])
  func emptyErrors(_ member: String) async throws {
    try await check(Thing.self, [things(list([1, 2, 3], member))], line: Self.proven(1, 3), rows: "123")
  }

  // MARK: The guard

  @Test("exactly half of the rows may go, one more may not, and then nothing is written")
  func guardShare() async throws {
    try await check(
      Thing.self, [things(list([1, 2]))], line: Self.proven(1, 2, unchanged: 2, deleted: 2), rows: "12")
    try await check(
      Thing.self, [things(list([1, 5]))],
      line:
        "the run would delete 3 of 4 rows (75% of the rows, and the guard allows 50%); nothing was written")
  }

  struct Allowing: Entity {
    var id = 0
    var v: String?
    static let table = "thing"
    static let source = Source(.probe, "things", rows: "data", paging: .none)
    static var mapping: Mapping<Allowing> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<Allowing>.missing(atMost: 0.25, allowEmpty: true)
  }

  @Test("an answer without any record is judged by allowEmpty alone")
  func emptyAnswer() async throws {
    try await check(
      Thing.self, [things(#"{"data":[]}"#)],
      line: "the run would delete 4 of 4 rows (the source returned no record at all); nothing was written")
    try await check(
      Allowing.self, [things(#"{"data":[]}"#)],
      line: "1 pages, 0 records, 0 inserted, 0 updated, 0 unchanged, 4 deleted, proven", rows: "∅")
    try await check(
      Allowing.self, [things(list([1, 2]))],
      line:
        "the run would delete 2 of 4 rows (50% of the rows, and the guard allows 25%); nothing was written")
  }

  @Test("cascaded deletions count in the guard")
  func cascades() async throws {
    let scene = try Scene(
      Scene.stock + """
        CREATE TABLE reading (id INTEGER PRIMARY KEY, thing INTEGER REFERENCES thing (id) ON DELETE CASCADE);
        INSERT INTO reading WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 100) SELECT value, 4 FROM n;
        """)
    let line = try await scene.run(Thing.self, list([1, 2, 3]))
    #expect(line.contains("nothing was written"), "\(line)")
    expect(try scene.rows("SELECT count(*) FROM reading"), is: "100")
  }

  struct Branch: Entity {
    var id = 0
    var v: String?
    var up: Int?
    var note: String?
    static let table = "thing"
    static let source = Source(.probe, "things", rows: "data", paging: .none)
    static var mapping: Mapping<Branch> {
      Key(\.id)
      Field(\.v)
      Field(\.up)
      Local(\.note)
    }
    static let deletion = Deletion<Branch>.missing
  }

  @Test(
    "live rows that hung from a row that is gone stay, with their local columns",
    arguments: ["CASCADE", "NO ACTION"])
  func selfReference(_ action: String) async throws {
    let scene = try Scene(
      """
      CREATE TABLE thing (id INTEGER PRIMARY KEY, v TEXT, up INTEGER REFERENCES thing (id) ON DELETE \(action), note TEXT);
      INSERT INTO thing VALUES (1, 'a', NULL, 'n1'), (2, 'b', 1, 'n2'), (3, 'c', 1, 'n3'), (4, 'd', NULL, 'n4');
      """)
    let line = try await scene.run(
      Branch.self,
      #"{"data":[{"id":2,"v":"b","up":null},{"id":3,"v":"c","up":2},{"id":4,"v":"d","up":null}]}"#)
    expect(line, is: "thing: 1 pages, 3 records, 0 inserted, 2 updated, 1 unchanged, 1 deleted, proven")
    expect(try scene.rows(), is: "2 | b | ∅ | n2\n3 | c | 2 | n3\n4 | d | ∅ | n4")
  }

  @Test("a row may refer to one that comes later in the same answer")
  func laterReference() async throws {
    let scene = try Scene(
      "CREATE TABLE thing (id INTEGER PRIMARY KEY, v TEXT, up INTEGER REFERENCES thing (id), note TEXT)")
    let line = try await scene.run(Branch.self, #"{"data":[{"id":1,"up":2},{"id":2,"up":null}]}"#)
    expect(line, is: "thing: 1 pages, 2 records, 2 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
  }

  struct Third: Entity {
    var id = 0
    static let table = "thing"
    static let source = Source(.probe, "things", rows: "data", paging: .none)
    static var mapping: Mapping<Third> { Key(\.id) }
    static let deletion = Deletion<Third>.missing(atMost: 0.29)
  }

  @Test("exactly the declared share passes, whatever it is in binary")
  func exactShare() async throws {
    let scene = try Scene(
      "CREATE TABLE thing (id INTEGER PRIMARY KEY); INSERT INTO thing WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 100) SELECT value FROM n"
    )
    let line = try await scene.run(
      Third.self, #"{"data":[\#((1...71).map { #"{"id":\#($0)}"# }.joined(separator: ","))]}"#)
    expect(line, is: "thing: 1 pages, 71 records, 0 inserted, 0 updated, 71 unchanged, 29 deleted, proven")
  }
}
