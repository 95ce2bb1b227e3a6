import SyncEngine

/// 019: a next link that never ends.
enum NextCycle {
  struct Itself: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = Source(.case, "self", rows: "data", paging: .next("next"), maxPages: 50)
    static var mapping: Mapping<Itself> { Key(\.id) }
    static let deletion = Deletion<Itself>.missing
  }

  struct Alternating: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = Source(.case, "aba", rows: "data", paging: .next("next"), maxPages: 50)
    static var mapping: Mapping<Alternating> { Key(\.id) }
    static let deletion = Deletion<Alternating>.missing
  }

  struct Growing: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = Source(.case, "grow", rows: "data", paging: .next("next"), maxPages: 50)
    static var mapping: Mapping<Growing> { Key(\.id) }
    static let deletion = Deletion<Growing>.missing
  }
}
