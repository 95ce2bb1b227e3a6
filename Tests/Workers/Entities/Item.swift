import SyncEngine

/// Cut into declared partitions.
struct Item: Entity {
  var region = ""
  var id = 0
  var version = 0
  /// The source's count of changes when it made the page.
  var asOf = 0

  private static let regions = (1...(Main.number("SYNCD_TEST_REGIONS") ?? 16)).map { "r\($0)" }

  static let source = Source(
    .farm, "items/{parent.region}", rows: "rows", paging: .next("next"),
    parents: Parents(values: regions, as: "region"), slices: .parents)

  static var mapping: Mapping<Item> {
    Key(\.region, "@parent.region")
    Key(\.id)
    Field(\.version)
    Field(\.asOf, "as_of")
  }

  static let deletion = Deletion<Item>.missing(atMost: 1)
}
