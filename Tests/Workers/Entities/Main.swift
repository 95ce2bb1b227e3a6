import PostgresStore
import SyncCommand
import SyncEngine

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Entities that are cut in each way that there is, and some that are not, for workers that share them.
///
/// `SYNCD_TEST_REGIONS` says how many partitions ``Item`` has, `SYNCD_TEST_SINCE` when the first window of ``Event``
/// begins, in seconds since 1970. Their rows are few and come and go, which the guard of deletions has no part in.
@main
struct Main: SyncCommand {
  static let ownVariables = ["SYNCD_TEST_REGIONS", "SYNCD_TEST_SINCE"]
  static let stores: [any Store.Type] = [PostgreSQL.self]
  static let entities: [any Entity.Type] =
    [Item.self, Shop.self, ShopLine.self, Event.self] + Plain<One>.all

  static func number(_ variable: String) -> Int? {
    getenv(variable).flatMap { Int(String(cString: $0)) }
  }
}

extension API {
  static let farm = API("farm", url: "http://127.0.0.1:1/")
}
