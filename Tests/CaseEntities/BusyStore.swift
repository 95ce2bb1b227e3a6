import SyncEngine

/// 044: other programs write into the store, and read from it.
enum BusyStore {
  struct Item: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = Source(.case, "items", rows: "data", paging: .next("next"))
    static let deletion = Deletion<Item>.missing(within: .sql("id < 100"))
    static var mapping: Mapping<Item> { Key(\.id) }
  }
}
