import SyncEngine

/// 014: the same key twice in a page and across pages.
enum DuplicateKey {
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
}
