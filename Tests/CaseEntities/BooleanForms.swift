import SyncEngine

/// 005: true, 1, "1" and 2 for a boolean; 1 and true for an integer.
enum BooleanForms {
  struct Flag: Entity {
    var id: Int64 = 0
    var level: Int64?
    var active: Bool?
    var note: String?
    static let table = "flags"
    static let source = Source(.case, "flags", paging: .none)
    static var mapping: Mapping<Flag> {
      Key(\.id)
      Field(\.level)
      Field(\.active)
      Field(\.note)
    }
  }
}
