import SyncEngine

/// 002: integers above 2^53, at the edges of Int64 and above them.
enum ExactIntegers {
  struct Event: Entity {
    var id: Int64 = 0
    var ref: String?
    static let table = "events"
    static let source = Source(.case, "events", paging: .none)
    static var mapping: Mapping<Event> {
      Key(\.id)
      Field(\.ref)
    }
  }
}
