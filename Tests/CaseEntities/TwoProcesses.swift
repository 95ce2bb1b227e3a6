import SyncEngine

/// 052: two processes on one store.
enum TwoProcesses {
  struct Item: Entity {
    var id: Int64 = 0
    var run: Int64?
    static let table = "items"
    static let source = Source(.case, "items", paging: .none)
    static var mapping: Mapping<Item> {
      Key(\.id)
      Field(\.run)
    }
    static let deletion = Deletion<Item>.missing
  }

  struct OtherItem: Entity {
    var id: Int64 = 0
    var run: Int64?
    static let table = "items_b"
    static let source = Source(.case, "items", paging: .none)
    static var mapping: Mapping<OtherItem> {
      Key(\.id)
      Field(\.run)
    }
    static let deletion = Deletion<OtherItem>.missing
  }
}
