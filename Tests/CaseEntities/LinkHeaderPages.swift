import SyncEngine

/// 017: Link headers with several links, quotes and commas.
enum LinkHeaderPages {
  struct Item: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = Source(.case, "items", paging: .linkHeader)
    static var mapping: Mapping<Item> { Key(\.id) }
  }

  struct Single: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = Source(.case, "single", paging: .linkHeader)
    static var mapping: Mapping<Single> { Key(\.id) }
  }
}
