import HTTP
import SyncEngine

/// 054: secrets in addresses and header fields, which a server may repeat.
enum SecretInLogs {
  private static func api(_ place: Authentication) -> API {
    API(
      "case", url: "http://127.0.0.1:1/", auth: place, .bearer(.environment("BEARER")),
      retry: RetryPolicy(retries: 1, base: .milliseconds(100)))
  }

  private static let key = Authentication.query("api_key", .environment("KEY"))

  struct Item: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = Source(api(key), "items", paging: .none)
    static var mapping: Mapping<Item> { Key(\.id) }
  }

  struct InPath: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = Source(
      api(.path("token", .environment("TOK"))), "bot{token}/items", paging: .none)
    static var mapping: Mapping<InPath> { Key(\.id) }
  }

  struct Linked: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = Source(api(key), "items", paging: .linkHeader)
    static var mapping: Mapping<Linked> { Key(\.id) }
  }
}
