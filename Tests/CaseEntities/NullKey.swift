import SyncEngine

/// 015: a null or missing part of the primary key.
enum NullKey {
  struct Membership: Entity {
    var org = ""
    var usr = ""
    var role: String?
    static let source = Source(.case, "membership", paging: .none)
    static var mapping: Mapping<Membership> {
      Key(\.org)
      Key(\.usr, "user")
      Field(\.role)
    }
  }

  struct Skipping: Entity {
    var org = ""
    var usr = ""
    var role: String?
    static let table = "membership"
    static let source = Source(.case, "membership", paging: .none, badRecords: .quarantine(atMost: 10))
    static var mapping: Mapping<Skipping> {
      Key(\.org)
      Key(\.usr, "user")
      Field(\.role)
    }
  }

  struct Thing: Entity {
    var id: Int64 = 0
    var n: String?
    static let table = "things"
    static let source = Source(.case, "things", paging: .none)
    static var mapping: Mapping<Thing> {
      Key(\.id)
      Field(\.n)
    }
  }
}
