import SyncEngine

/// A text of 10 kB in each row.
struct Document: Entity {
  var id: Int64 = 0
  var title = ""
  var body = ""

  static let source = Source(.bench, "documents/1.json", rows: "data.results", paging: .next("next"))

  static var mapping: Mapping<Document> {
    Key(\.id)
    Field(\.title)
    Field(\.body)
  }

  static let deletion = Deletion<Document>.missing
}
