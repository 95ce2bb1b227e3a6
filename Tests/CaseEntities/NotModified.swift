import SyncEngine

/// 032: a 304 changes nothing, and its tag is kept.
enum NotModified {
  struct Item: Entity {
    var id: Int64 = 0
    var v: String?
    static let table = "items"
    static let source = Source(.case, "items", paging: .none)
    static var mapping: Mapping<Item> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<Item>.missing
  }

  /// With a field that was declared later.
  struct WithField: Entity {
    var id: Int64 = 0
    var v: String?
    var w: String?
    static let table = "items"
    static let source = Source(.case, "items", paging: .none)
    static var mapping: Mapping<WithField> {
      Key(\.id)
      Field(\.v)
      Field(\.w, "v")
    }
    static let deletion = Deletion<WithField>.missing
  }
}
