import HTTP
import SyncEngine

/// 028: content encodings that are not what they say, and streams that are cut.
enum ContentEncoding {
  /// The endpoint of the entity below.
  protocol Endpoint: Sendable { static var path: String { get } }

  struct Item<E: Endpoint>: Entity {
    var id: Int64 = 0
    static var table: String { "items" }
    static var source: Source {
      var api = API.case
      api.retry = RetryPolicy(retries: 0)
      return Source(api, E.path, paging: .none)
    }
    static var mapping: Mapping<Item> { Key(\.id) }
    static var deletion: Deletion<Item> { .missing }
  }

  enum Gzip: Endpoint { static let path = "gzip" }
  enum XGzip: Endpoint { static let path = "xgzip" }
  enum Zlib: Endpoint { static let path = "zlib" }
  enum RawDeflate: Endpoint { static let path = "raw" }
  enum Lie: Endpoint { static let path = "lie" }
  enum Cut: Endpoint { static let path = "cut" }
  enum Checksum: Endpoint { static let path = "crc" }
  enum Hidden: Endpoint { static let path = "hidden" }
  enum Brotli: Endpoint { static let path = "br" }
}
