import JSON
import SyncEngine
import TestSupport
import Testing

// As any other package: nothing here is @testable.

/// Asks for one letter after the other: the source has no other order.
private struct Letters: Pager {
  private var letters = Array("abc")
  func firstRequest() -> PageRequest { .items([.init("letter", "a")]) }
  mutating func decide(after page: Page) -> PageDecision {
    letters.removeFirst()
    return letters.first.map { .next(.items([.init("letter", String($0))])) } ?? .end(.proven)
  }
}

/// Follows the last id of each page until `data` is empty, with an end status of its own.
private struct LastID: Pager {
  var needsRecords: Bool { true }
  func firstRequest() -> PageRequest { .items([]) }
  func isEnd(status: Int, page: Int) -> Bool { page > 1 && status == 410 }
  func decide(after page: Page) throws -> PageDecision {
    guard let root = page.root else { return .end(.unproven("gone on page \(page.number)")) }
    guard let data = root["data"] else { throw PagingError("there is no list") }
    guard let id = data.last?["id"]?.token else { return .end(.proven) }
    return .next(.items([.init("after", id, isJSON: true)]))
  }
}

/// Asks for the same page for ever.
private struct Stuck: Pager {
  var needsRecords: Bool { true }
  func firstRequest() -> PageRequest { .items([]) }
  func decide(after page: Page) -> PageDecision { .next(.items([])) }
}

@Suite("Pagers of one's own", .fewAtATime, .once)
struct OwnPagerTests {
  private func walk(_ path: String, _ paging: Paging, _ options: String) async throws -> PageWalk {
    try await PageServer.walk(
      Source(.pages(), path, rows: "data", paging: paging, maxPages: 6), options, as: KeptRow.self)
  }

  @Test("a pager says itself what follows")
  func own() async throws {
    let letters = try await walk("all", Paging("letters") { _ in Letters() }, #"{"n": 0}"#)
    expect(letters.list, is: "GET /all?letter=a\nGET /all?letter=b\nGET /all?letter=c")
    let ids = try await walk("keyset", Paging("last id") { _ in LastID() }, #"{"n": 3, "size": 2}"#)
    expect(ids.list, is: "GET /keyset\nGET /keyset?after=2\nGET /keyset?after=3")
    #expect(ids.isProven && ids.ids == [1, 2, 3, 99])
  }

  @Test("an end status of its own, on the pages that it names")
  func ownEnd() async throws {
    let paging = Paging("last id") { _ in LastID() }
    let end = try await walk("page", paging, #"{"n": 3, "size": 2, "fail": {"1": 410}}"#)
    #expect(end.line == "page 1 (BASE/page): HTTP 410 Gone", "\(end.line)")
  }

  @Test("a pager that goes round in a loop fails")
  func loop() async throws {
    let stuck = try await walk("all", Paging("stuck") { _ in Stuck() }, #"{"n": 3}"#)
    #expect(stuck.line.contains("the pages go round in a loop"), "\(stuck.line)")
    #expect(stuck.requests.count == 1)
  }

  @Test("the context tells whether the end has to be proven, and when the run began")
  func context() async throws {
    let paging = Paging("context") { context in
      Letters2(letters: context.asksForEnd ? ["x"] : ["y", context.startedAt > 0 ? "z" : "?"])
    }
    let kept = try await walk("all", paging, #"{"n": 0}"#)
    expect(kept.list, is: "GET /all?letter=y\nGET /all?letter=z")
  }

  private struct Letters2: Pager {
    var letters: [String]
    func firstRequest() -> PageRequest { .items([.init("letter", letters[0])]) }
    mutating func decide(after page: Page) -> PageDecision {
      letters.removeFirst()
      return letters.first.map { .next(.items([.init("letter", $0)])) } ?? .end(.proven)
    }
  }

  @Test("until: a page that says so is the last, by what stands in it or on it")
  func until() async throws {
    let byTotal = try await walk(
      "next",
      .next("next").until("total 0") {
        $0.root?["total"]?.int64 == 0 && $0.headers["content-type"] == "application/json"
      },
      #"{"n": 9, "size": 2, "total": [9, 0]}"#)
    #expect(byTotal.requests.count == 2 && byTotal.isProven, "\(byTotal.line)")
    let byCount = try await walk(
      "cursor", .cursor("cursor", parameter: "after").until("short page") { $0.recordCount < 2 },
      #"{"n": 5, "size": 2, "emptyLast": true}"#)
    expect(byCount.list, is: "GET /cursor\nGET /cursor?after=t1\nGET /cursor?after=t2")
    #expect(byCount.isProven)
  }

  @Test("until: the last record of a page can say that the rest is known")
  func untilRecord() async throws {
    let walk = try await walk(
      "page", .page("page").until("record 4") { ($0.lastRecord?["id"]?.int64 ?? 0) >= 4 },
      #"{"n": 9, "size": 2}"#)
    #expect(walk.requests.count == 2 && walk.ids == [1, 2, 3, 4, 99], "\(walk.line)")
  }
}
