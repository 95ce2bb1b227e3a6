import SyncEngine

/// 038: local columns, child rows, triggers and a second unique column survive an update.
enum ReplaceSideEffects {
  struct Parent: Entity {
    var id: Int64 = 0
    var slug: String?
    var name: String?
    static let source = Source(.case, "parent", paging: .none)
    static var mapping: Mapping<Parent> {
      Key(\.id)
      Field(\.slug)
      Field(\.name)
    }
  }
}
