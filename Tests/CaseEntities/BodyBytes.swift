import SyncEngine

/// 010: bodies that are not one clean UTF-8 JSON document.
enum BodyBytes {
  /// The endpoint of the entity below.
  protocol Endpoint: Sendable {
    static var path: String { get }
    static var format: BodyFormat { get }
  }

  struct Item<E: Endpoint>: Entity {
    var id: Int64 = 0
    var n: String?
    static var table: String { "items" }
    static var source: Source { Source(.case, E.path, format: E.format, paging: .none) }
    static var mapping: Mapping<Item> {
      Key(\.id)
      Field(\.n)
    }
  }

  enum ByteOrderMark: Endpoint { static let path = "bom" }
  enum Latin1: Endpoint { static let path = "latin1" }
  enum Bad: Endpoint { static let path = "bad" }
  enum Trailing: Endpoint { static let path = "trail" }
  enum Concatenated: Endpoint { static let path = "concat" }
  enum Comma: Endpoint { static let path = "comma" }
  enum Zero: Endpoint { static let path = "zero" }
  enum Lines: Endpoint {
    static let path = "ndjson"
    static let format = BodyFormat.ndjson
  }
  enum TwoOnALine: Endpoint {
    static let path = "ndjson2"
    static let format = BodyFormat.ndjson
  }
}

extension BodyBytes.Endpoint {
  static var format: BodyFormat { .json }
}
