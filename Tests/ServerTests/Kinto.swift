import Foundation
import SyncEngine
import TestSupport
import Testing

extension API {
  fileprivate static let kinto = API(
    "kinto", url: "http://127.0.0.1:1/v1/",
    auth: .basic(user: .environment("KINTO_USER"), password: .environment("KINTO_PASSWORD")))
}

private struct Item: Entity {
  var id = ""
  var title = ""
  var count = 0
  var price = 0.0
  var tags: [String] = []
  var depth: Int?
  var big: Int64 = 0
  var lastModified: Int64 = 0

  static let source = Source(
    .kinto, "buckets/shop/collections/items/records", query: ["_limit": "300"], rows: "data",
    paging: .next(header: "Next-Page"))
  static var mapping: Mapping<Item> {
    Key(\.id)
    Field(\.title)
    Field(\.count)
    Field(\.price)
    Field(\.tags)
    Field(\.depth, "nested.deep")
    Field(\.big)
    Field(\.lastModified)
  }
  static let deletion = Deletion<Item>.missing
}

/// The same by what changed since the last run; what was removed comes as tombstones.
private struct ChangedItem: Entity {
  var id = ""
  var title = ""
  var count = 0
  var price = 0.0
  var tags: [String] = []
  var depth: Int?
  var big: Int64 = 0
  var lastModified: Int64 = 0

  static let source = Item.source
  static var mapping: Mapping<ChangedItem> {
    Key(\.id)
    Field(\.title)
    Field(\.count)
    Field(\.price)
    Field(\.tags)
    Field(\.depth, "nested.deep")
    Field(\.big)
    Field(\.lastModified)
  }
  static let incremental = Incremental<ChangedItem>.since(\.lastModified, parameter: "_since")
  static let deletion = Deletion<ChangedItem>.never.tombstone(at: "deleted")
}

extension ServerTests {
  @Test("Kinto: a next link in a header, behind a password; changes and tombstones since a time")
  func kinto() async throws {
    setenv("KINTO_USER", "user", 1)
    setenv("KINTO_PASSWORD", "secret", 1)
    try await RealServer("kinto").follow(
      [Item.self, ChangedItem.self], api: "kinto", at: "/v1/",
      columns: "id, title, count, price, json_array_length(tags), depth, big, last_modified",
      lines: [
        [
          "7 pages, 2000 records, 2000 inserted, 0 updated, 0 unchanged, 0 deleted, proven",
          "7 pages, 2030 records, 40 inserted, 7 updated, 1983 unchanged, 10 deleted, proven",
        ],
        [
          "7 pages, 2000 records, 2000 inserted, 0 updated, 0 unchanged, 0 deleted, proven",
          "1 pages, 57 records, 40 inserted, 7 updated, 0 unchanged, 10 deleted, incremental",
        ],
      ])
  }
}
