import SyncEngine

/// Pages that are kept from the first one on.
struct ResumedItem: Entity {
  var id: Int64 = 0
  var v: String?
  static let table = "items"
  static let source = Source(
    .case, "items", rows: "data", paging: .next("next"), resume: .within(.seconds(3600), after: .zero))
  static var mapping: Mapping<ResumedItem> {
    Key(\.id)
    Field(\.v)
  }
  static let deletion = Deletion<ResumedItem>.missing
}
