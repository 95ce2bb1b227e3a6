import SyncEngine

/// 033: three ways to be incomplete without an HTTP error.
enum PartialCrawl {
  struct Item: Entity {
    var id: Int64 = 0
    var v: String?
    static let table = "items"
    static let source = Source(.case, "items", rows: "data", paging: .next("next"))
    static var mapping: Mapping<Item> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<Item>.missing
  }

  struct TwoPages: Entity {
    var id: Int64 = 0
    var v: String?
    static let table = "items"
    static let source = Source(.case, "items", rows: "data", paging: .next("next"), maxPages: 2)
    static var mapping: Mapping<TwoPages> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<TwoPages>.missing
  }

  struct Skipping: Entity {
    var id: Int64 = 0
    var v: String?
    static let table = "items"
    static let source = Source(
      .case, "items", rows: "data", paging: .next("next"), badRecords: .quarantine(atMost: 10))
    static var mapping: Mapping<Skipping> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<Skipping>.missing
  }
}
