import SyncEngine

/// 001: a missing key, a null, and a null parent are three things.
enum MissingNullNested {
  struct Person: Entity {
    var id: Int64 = 0
    var first = "unknown"
    var last: String?
    var nick: String?
    static let table = "people"
    static let source = Source(.case, "people", paging: .none)
    static var mapping: Mapping<Person> {
      Key(\.id)
      Field(\.first, "name.first", .nullAsDefault)
      Field(\.last, "name.last")
      Field(\.nick)
    }
  }

  struct MissingIsNull: Entity {
    var id: Int64 = 0
    var first = "unknown"
    var last: String?
    var nick: String?
    static let table = "people"
    static let source = Source(.case, "people", paging: .none)
    static var mapping: Mapping<MissingIsNull> {
      Key(\.id)
      Field(\.first, "name.first", .missingAsNull, .nullAsDefault)
      Field(\.last, "name.last", .missingAsNull)
      Field(\.nick, .missingAsNull)
    }
  }
}
