import Foundation
import SyncEngine
import TestSupport
import Testing

extension API {
  fileprivate static let pocketBase = API("pocketbase", url: "http://127.0.0.1:1/api/")
}

private protocol Counting: Sendable {
  static var table: String { get }
  static var paging: Paging { get }
}

private struct Item<C: Counting>: Entity {
  var id = ""
  var title = ""
  var count = 0
  var price = 0.0
  var ok = false
  var day: Date?

  static var table: String { C.table }
  static var source: Source {
    Source(
      .pocketBase, "collections/items/records", query: ["sort": "id"], rows: "items", paging: C.paging)
  }
  static var mapping: Mapping<Item> {
    Key(\.id)
    Field(\.title)
    Field(\.count)
    Field(\.price)
    Field(\.ok)
    Field(\.day, .iso8601, .emptyAsNull)
  }
  static var deletion: Deletion<Item> { .missing }
}

private enum Pages: Counting {
  static let table = "pages"
  static let paging = Paging.page("page", size: 500, sizeParameter: "perPage", pages: "totalPages")
}

private enum Total: Counting {
  static let table = "total"
  static let paging = Paging.page("page", size: 500, sizeParameter: "perPage", total: "totalItems")
}

/// The server gives a thousand at most, whatever it is asked for.
private enum UntilEmpty: Counting {
  static let table = "until_empty"
  static let paging = Paging.page("page", size: 2000, sizeParameter: "perPage")
}

extension ServerTests {
  @Test("PocketBase: page numbers until the number of pages, the total, and an empty page")
  func pocketBase() async throws {
    let first = "records, 3000 inserted, 0 updated, 0 unchanged, 0 deleted, proven"
    // Before rows are deleted the pages are walked a second time.
    let second = "6050 records, 40 inserted, 10 updated, 2975 unchanged, 15 deleted, proven"
    let pages = [(6, 14), (6, 14), (4, 10)]
    try await RealServer("pocketbase").follow(
      [Item<Pages>.self, Item<Total>.self, Item<UntilEmpty>.self], api: "pocketbase", at: "/api/",
      columns: "id, title, \"count\", price, ok, day",
      lines: pages.map { ["\($0) pages, 3000 \(first)", "\($1) pages, \(second)"] })
  }
}
