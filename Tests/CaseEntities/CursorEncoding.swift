import SyncEngine

/// 023: parameters are encoded once, and what a server hands out is sent as it came.
enum CursorEncoding {
  struct Item: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = Source(
      .case, "items", query: ["since": "2024-01-02T03:04:05+02:00"], rows: "data",
      paging: .cursor("next", parameter: "cursor"))
    static var mapping: Mapping<Item> { Key(\.id) }
  }

  struct Ready: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = Source(.case, "ready", rows: "data", paging: .next("next"))
    static var mapping: Mapping<Ready> { Key(\.id) }
  }
}
