import Foundation
import SyncEngine
import TestSupport
import Testing

extension API {
  fileprivate static let datasette = API("datasette", url: "http://127.0.0.1:1/")
}

/// One of the ways in which Datasette lists a table.
private protocol Listing: Sendable {
  static var table: String { get }
  static var source: Source { get }
}

private struct Item<L: Listing>: Entity {
  var id = 0
  var sku = ""
  var title = ""
  var price: Int?
  var rating = 0.0
  var inStock = false
  var big: Int64 = 0
  var updatedAt = Date(timeIntervalSince1970: 0)
  var note: String?

  static var table: String { L.table }
  static var source: Source { L.source }
  static var mapping: Mapping<Item> {
    Key(\.id)
    Field(\.sku)
    Field(\.title)
    Field(\.price, .emptyAsNull)
    Field(\.rating)
    Field(\.inStock)
    Field(\.big)
    Field(\.updatedAt, .iso8601)
    Field(\.note, .emptyAsNull)
  }
  static var deletion: Deletion<Item> { .missing }
}

private enum NextLink: Listing {
  static let table = "next_link"
  static let source = Source(
    .datasette, "shop/items.json", query: ["_shape": "objects", "_size": "1000", "_nocount": "1"],
    rows: "rows",
    paging: .next("next_url"))
}

private enum Token: Listing {
  static let table = "token"
  static let source = Source(
    .datasette, "shop/items.json", query: ["_shape": "objects", "_size": "500", "_sort_desc": "updated_at"],
    rows: "rows", paging: .cursor("next", parameter: "_next"))
}

private enum LinkHeader: Listing {
  static let table = "link_header"
  static let source = Source(
    .datasette, "shop/items.json", query: ["_shape": "array", "_size": "1000"], paging: .linkHeader)
}

private enum Keyset: Listing {
  static let table = "keyset"
  static let source = Source(
    .datasette, "shop/items.json", query: ["_shape": "array", "_sort": "id"],
    paging: .keyset("id__gt", field: "id", size: 1000, sizeParameter: "_size"))
}

private enum Lines: Listing {
  static let table = "lines"
  static let source = Source(
    .datasette, "shop/items.json", query: ["_shape": "array", "_nl": "on", "_size": "1000"], format: .ndjson,
    paging: .linkHeader)
}

private enum CSV: Listing {
  static let table = "csv"
  static let source = Source(
    .datasette, "shop/items.csv", query: ["_stream": "on", "_size": "max"], format: .csv(), paging: .none)
}

extension ServerTests {
  @Test("Datasette: next link, token, Link header, keyset, JSON lines and CSV")
  func datasette() async throws {
    let first = "records, 5000 inserted, 0 updated, 0 unchanged, 0 deleted, proven"
    let second = "records, 40 inserted, 17 updated, 4958 unchanged, 25 deleted, proven"
    let pages = [(5, 6), (10, 11), (5, 6), (6, 7), (5, 6), (1, 1)]
    try await RealServer("datasette").follow(
      [
        Item<NextLink>.self, Item<Token>.self, Item<LinkHeader>.self, Item<Keyset>.self, Item<Lines>.self,
        Item<CSV>.self,
      ],
      api: "datasette",
      columns: "id, sku, title, price, rating, in_stock, big, updated_at, note",
      lines: pages.map { ["\($0) pages, 5000 \(first)", "\($1) pages, 5015 \(second)"] })
  }
}
