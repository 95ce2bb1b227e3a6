import SyncEngine

/// Pages by number from a server that takes its time: the total is known, so eight are asked for at once.
struct Slow: Entity {
  var id: Int64 = 0
  var name = ""

  static let source = Source(
    .bench, "slow", rows: "results", paging: .page("page", size: 100, sizeParameter: "size", total: "total"))

  static var mapping: Mapping<Slow> {
    Key(\.id)
    Field(\.name)
  }

  static let deletion = Deletion<Slow>.missing
}
