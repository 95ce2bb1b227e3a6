import HTTP
import SyncEngine

/// 026: a gateway error on page two.
enum BadGateway {
  struct Item: Entity {
    var id: Int64 = 0
    var v: String?
    static let table = "items"
    static let source = Source(api, "items", rows: "data", paging: .next("next"))
    static var mapping: Mapping<Item> {
      Key(\.id)
      Field(\.v)
    }
    static let deletion = Deletion<Item>.missing

    private static var api: API {
      var api = API.case
      api.retry = RetryPolicy(retries: 2, base: .milliseconds(100))
      return api
    }
  }
}
