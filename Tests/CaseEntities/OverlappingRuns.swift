import SyncEngine

/// 050: a run that takes longer than its interval.
enum OverlappingRuns {
  struct Item: Entity {
    var id: Int64 = 0
    var n: Int64 = 0
    static let table = "items"
    static let source = Source(.case, "items", paging: .none)
    static var mapping: Mapping<Item> {
      Key(\.id)
      Field(\.n)
    }
    static let deletion = Deletion<Item>.missing
  }

  /// One that says itself when it runs.
  struct Scheduled: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = Source(.case, "items", paging: .none)
    static var mapping: Mapping<Scheduled> { Key(\.id) }
    static let schedule: Schedule? = Schedule(every: .seconds(3600), jitter: .seconds(60), aligned: true)
  }
}
