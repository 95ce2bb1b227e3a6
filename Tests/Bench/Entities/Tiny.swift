import SyncEngine

/// One page of five rows: what is left is the start of the program.
struct Tiny: Entity {
  var id: Int64 = 0
  var name = ""

  static let source = Source(.bench, "tiny.json", paging: .none)

  static var mapping: Mapping<Tiny> {
    Key(\.id)
    Field(\.name)
  }

  static let deletion = Deletion<Tiny>.missing
}
