import HTTP
import SyncEngine

/// 025: a server that says when to come back, in forms that are right, wrong and huge.
enum RetryAfter {
  /// The endpoint of the entity below.
  protocol Endpoint: Sendable { static var path: String { get } }

  struct Item<E: Endpoint>: Entity {
    var id: Int64 = 0
    static var table: String { "items" }
    static var source: Source {
      var api = API.case
      api.retry = RetryPolicy(retries: 3, base: .milliseconds(300), longestWait: .seconds(10))
      return Source(api, E.path, paging: .none)
    }
    static var mapping: Mapping<Item> { Key(\.id) }
  }

  enum Secs: Endpoint { static let path = "secs" }
  enum Date: Endpoint { static let path = "date" }
  enum S503: Endpoint { static let path = "s503" }
  enum Past: Endpoint { static let path = "past" }
  enum Neg: Endpoint { static let path = "neg" }
  enum Nan: Endpoint { static let path = "nan" }
  enum None: Endpoint { static let path = "none" }
  enum Huge: Endpoint { static let path = "huge" }
  enum Always: Endpoint { static let path = "always" }
}
