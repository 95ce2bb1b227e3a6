import SyncEngine

/// The parents of ``ShopLine``.
struct Shop: Entity {
  var id = 0
  var version = 0
  var asOf = 0

  static let source = Source(.farm, "shops", rows: "rows", paging: .next("next"))

  static var mapping: Mapping<Shop> {
    Key(\.id)
    Field(\.version)
    Field(\.asOf, "as_of")
  }

  static let deletion = Deletion<Shop>.missing(atMost: 1)
}
