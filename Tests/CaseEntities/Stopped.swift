import SyncEngine

/// 051: a signal while fetching and while sleeping.
enum Stopped {
  struct Item: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = Source(.case, "items", rows: "data", paging: .next("next"))
    static var mapping: Mapping<Item> { Key(\.id) }
    static let deletion = Deletion<Item>.missing
  }
}
