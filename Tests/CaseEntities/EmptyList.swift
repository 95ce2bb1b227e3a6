import SyncEngine

/// 034: an empty list is either true or an accident.
enum EmptyList {
  struct Item: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = Source(.case, "items", paging: .none)
    static var mapping: Mapping<Item> { Key(\.id) }
    static let deletion = Deletion<Item>.missing(atMost: 0.5)
  }

  struct AllowingEmpty: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = Source(.case, "items", paging: .none)
    static var mapping: Mapping<AllowingEmpty> { Key(\.id) }
    static let deletion = Deletion<AllowingEmpty>.missing(atMost: 0.5, allowEmpty: true)
  }
}
