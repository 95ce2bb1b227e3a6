import SyncEngine

/// Cut by the rows of a parent that come and go.
struct ShopLine: Entity {
  var shop = 0
  var id = 0
  var version = 0

  static let source = Source(
    .farm, "lines/{parent.id}", rows: "rows", paging: .next("next"), parents: Parents(Shop.self),
    slices: .parents)

  static var mapping: Mapping<ShopLine> {
    Key(\.shop, "@parent.id")
    Key(\.id)
    Field(\.version)
  }

  static let deletion = Deletion<ShopLine>.missing(atMost: 1)
}
