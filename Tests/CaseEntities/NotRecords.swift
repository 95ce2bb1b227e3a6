import HTTP
import SyncEngine

/// 011: status 200, but no records.
enum NotRecords {
  struct Item: Entity {
    var id: Int64 = 0
    var n: String?
    static let table = "items"
    static let source = Source(api, "items", rows: "data", paging: .none)
    static var mapping: Mapping<Item> {
      Key(\.id)
      Field(\.n)
    }
    static let deletion = Deletion<Item>.missing
  }

  struct Declared: Entity {
    var id: Int64 = 0
    var n: String?
    static let table = "items"
    static let source = Source(api, "items", rows: "data", errors: ["errors"], paging: .none)
    static var mapping: Mapping<Declared> {
      Key(\.id)
      Field(\.n)
    }
    static let deletion = Deletion<Declared>.missing
  }

  private static var api: API {
    var api = API.case
    api.retry = RetryPolicy(retries: 1, base: .milliseconds(100))
    return api
  }
}
