import SyncEngine

/// 043: a partial record for a row that exists, with a NOT NULL column.
enum NotNullPartial {
  struct Person: Entity {
    var id: Int64 = 0
    var name = ""
    var score: Int64?
    static let table = "people"
    static let source = Source(.case, "people", paging: .none)
    static var mapping: Mapping<Person> {
      Key(\.id)
      Field(\.name, .required)
      Field(\.score)
    }
  }
}
