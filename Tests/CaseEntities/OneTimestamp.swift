import FoundationEssentials
import SyncEngine

/// 049: more records have one time than a page holds.
enum OneTimestamp {
  struct Item: Entity {
    var id: Int64 = 0
    var at: Date?
    static let table = "items"
    static let source = Source(
      .case, "items", paging: .keyset("since", field: "at", size: 3, sizeParameter: "limit"))
    static let deletion = Deletion<Item>.missing
    static var mapping: Mapping<Item> {
      Key(\.id)
      Field(\.at)
    }
  }

  struct Tied: Entity {
    var id: Int64 = 0
    var at: Date?
    static let table = "items"
    static let source = Source(
      .case, "items2",
      paging: .keyset(
        "since", field: "at", tie: KeysetTie("after_id", field: "id"), size: 3, sizeParameter: "limit"))
    static let deletion = Deletion<Tied>.missing
    static var mapping: Mapping<Tied> {
      Key(\.id)
      Field(\.at)
    }
  }
}
