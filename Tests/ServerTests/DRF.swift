import Foundation
import HTTP
import SyncEngine
import TestSupport
import Testing

extension API {
  fileprivate static let drf = API("drf", url: "http://127.0.0.1:1/")
  fileprivate static let drfBasic = API(
    "drf-basic", url: "http://127.0.0.1:1/",
    auth: .basic(user: .environment("DRF_USER"), password: .environment("DRF_PASSWORD")))
  fileprivate static let drfToken = API(
    "drf-token", url: "http://127.0.0.1:1/",
    auth: .header("Authorization", .environment("DRF_TOKEN"), prefix: "Token "))
  fileprivate static let drfImpatient = API(
    "drf", url: "http://127.0.0.1:1/", retry: RetryPolicy(longestWait: .seconds(5)))
}

private protocol Listing: Sendable {
  static var table: String { get }
  static var source: Source { get }
  /// What stands before the attributes in a record.
  static var at: String { get }
}

extension Listing {
  static var at: String { "" }
}

private struct Book<L: Listing>: Entity {
  var id = 0
  var title = ""
  var price: Decimal?
  var published: Day?
  var created = Date(timeIntervalSince1970: 0)
  var big: Int64 = 0

  static var table: String { L.table }
  static var source: Source { L.source }
  static var mapping: Mapping<Book> {
    Key(\.id)
    Field(\.title, JSONPath(stringLiteral: L.at + "title"))
    Field(\.price, JSONPath(stringLiteral: L.at + "price"))
    Field(\.published, JSONPath(stringLiteral: L.at + "published"))
    Field(\.created, JSONPath(stringLiteral: L.at + "created"), .iso8601)
    Field(\.big, JSONPath(stringLiteral: L.at + "big"))
  }
  static var deletion: Deletion<Book> { .missing }
}

private enum Numbered: Listing {
  static let table = "numbered"
  static let source = Source(
    .drf, "page/", rows: "results",
    paging: .page("page", size: 500, sizeParameter: "page_size", total: "count", endStatus: [404]))
}

private enum NumberedUntil404: Listing {
  static let table = "numbered_until_404"
  static let source = Source(
    .drf, "page/", rows: "results",
    paging: .page("page", size: 500, sizeParameter: "page_size", endStatus: [404]))
}

private enum Offsets: Listing {
  static let table = "offsets"
  static let source = Source(
    .drf, "offset/", rows: "results", paging: .offset("offset", limit: "limit", size: 500, total: "count"))
}

private enum Cursors: Listing {
  static let table = "cursors"
  static let source = Source(
    .drf, "cursor/", query: ["page_size": "500"], rows: "results", paging: .next("next"))
}

private enum Whole: Listing {
  static let table = "whole"
  static let source = Source(.drf, "all/", paging: .none)
}

private enum APILinks: Listing {
  static let table = "api_links"
  static let at = "attributes."
  static let source = Source(
    .drf, "jsonapi-page/", query: ["page[size]": "500"], headers: ["Accept": "application/vnd.api+json"],
    rows: "data", paging: .next("links.next"))
}

private enum APIOffsets: Listing {
  static let table = "api_offsets"
  static let at = "attributes."
  static let source = Source(
    .drf, "jsonapi-offset/", headers: ["Accept": "application/vnd.api+json"], rows: "data",
    paging: .offset("page[offset]", limit: "page[limit]", size: 500, total: "meta.pagination.count"))
}

private enum Basic: Listing {
  static let table = "basic"
  static let source = Source(
    .drfBasic, "basic/", query: ["page_size": "500"], rows: "results", paging: .next("next"))
}

private enum Token: Listing {
  static let table = "token"
  static let source = Source(
    .drfToken, "token/", query: ["page_size": "500"], rows: "results", paging: .next("next"))
}

private enum Throttled: Listing {
  static let table = "throttled"
  static let source = Source(
    .drfImpatient, "throttled/", query: ["page_size": "500"], rows: "results", paging: .next("next"))
}

extension ServerTests {
  @Test(
    "Django REST framework: numbers, offsets, cursors, JSON:API, whole lists, passwords, tokens and a limit")
  func drf() async throws {
    setenv("DRF_USER", "user", 1)
    setenv("DRF_PASSWORD", "secret", 1)
    setenv("DRF_TOKEN", "0123456789abcdef", 1)
    let first = "records, 3000 inserted, 0 updated, 0 unchanged, 0 deleted, proven"
    let second = "40 inserted, 10 updated, 2975 unchanged, 15 deleted, proven"
    let server = try RealServer("drf")
    // Where the client counts, the pages are walked a second time before rows are deleted.
    let pages = [
      (6, 14, 6050), (8, 18, 6050), (6, 14, 6050), (6, 7, 3025), (1, 1, 3025), (6, 7, 3025), (6, 14, 6050),
    ]
    try await server.follow(
      [
        Book<Numbered>.self, Book<NumberedUntil404>.self, Book<Offsets>.self, Book<Cursors>.self,
        Book<Whole>.self, Book<APILinks>.self, Book<APIOffsets>.self,
      ],
      api: "drf", columns: "id, title, price, published, created, big",
      lines: pages.map { ["\($0.0) pages, 3000 \(first)", "\($0.1) pages, \($0.2) records, \(second)"] })

    let fixture = try Fixture()
    let names = ["drf", "drf-basic", "drf-token"]
    let engine = Engine(
      store: fixture.store,
      options: .init(urls: Dictionary(uniqueKeysWithValues: names.map { ($0, server.base + "/") })))
    for entity in [Book<Basic>.self, Book<Token>.self] as [any Entity.Type] {
      expect(
        await outcome(of: engine, entity),
        is:
          "\(entity.table): 7 pages, 3025 records, 3025 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    }
    // Two requests a minute: the third one's Retry-After is longer than declared, so that the run fails at once.
    let start = ContinuousClock.now
    let failure = await outcome(of: engine, Book<Throttled>.self)
    #expect(
      failure.hasPrefix(
        "throttled: page 3 (\(server.base)/throttled/?page=3&page_size=500): HTTP 429 Too Many Requests, and it asks for a wait of "
      ), "\(failure)")
    #expect(try fixture.rows("SELECT count(*) FROM sqlite_schema WHERE name = 'throttled'") == "0")
    #expect(ContinuousClock.now - start < .seconds(10))
  }
}
