import HTTP
import SyncEngine

/// 030: answers that are slow, stand still or never come.
enum SlowDrip {
  /// The endpoint of the entity below.
  protocol Endpoint: Sendable { static var path: String { get } }

  struct Item<E: Endpoint>: Entity {
    var id: Int64 = 0
    static var table: String { "items" }
    static var source: Source {
      var api = API.case
      api.retry = .none
      api.limits = HTTPLimits(connect: .seconds(2), idle: .seconds(2), total: .seconds(5))
      return Source(api, E.path, paging: .none)
    }
    static var mapping: Mapping<Item> { Key(\.id) }
  }

  enum Drip: Endpoint { static let path = "drip" }
  enum Silent: Endpoint { static let path = "silent" }
  enum HalfHead: Endpoint { static let path = "halfhead" }
  enum Stall: Endpoint { static let path = "stall" }
}
