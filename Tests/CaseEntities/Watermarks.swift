import FoundationEssentials
import SyncEngine

/// 046 and 047: what is asked for since the last run.
enum Watermarks {
  struct Checked: Entity {
    var id: Int64 = 0
    var v: String?
    var at: Date?
    static let table = "items"
    static let source = Source(.case, "items", paging: .none)
    static let incremental = Incremental<Checked>.since(\.at, parameter: "since")
    static var mapping: Mapping<Checked> {
      Key(\.id)
      Field(\.v)
      Field(\.at)
    }
  }

  protocol LookBack: Sendable {
    static var time: Duration { get }
  }
  enum None: LookBack { static let time = Duration.zero }
  enum Minute: LookBack { static let time = Duration.seconds(60) }
  enum Second: LookBack { static let time = Duration.seconds(1) }

  struct Item<Behind: LookBack>: Entity {
    var id: Int64 = 0
    var at: Date?
    static var table: String { "items" }
    static var source: Source { Source(.case, "items", paging: .none) }
    static var incremental: Incremental<Self> {
      .since(\.at, parameter: "since", lookBack: Behind.time)
    }
    static var mapping: Mapping<Self> {
      Key(\.id)
      Field(\.at)
    }
  }
}
