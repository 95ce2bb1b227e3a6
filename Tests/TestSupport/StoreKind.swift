import Foundation
import Testing

/// The stores that the tests run over: all that are about a store run once over each.
public enum StoreKind: String, Sendable {
  case sqlite, postgresql

  /// That of this process: `SYNCD_TEST_STORE`, SQLite where it is not set.
  public static let current: StoreKind = {
    let name = ProcessInfo.processInfo.environment["SYNCD_TEST_STORE"] ?? "sqlite"
    guard let kind = StoreKind(rawValue: name) else {
      fatalError("SYNCD_TEST_STORE is \"\(name)\"; it has to be sqlite or postgresql")
    }
    return kind
  }()

  /// What differs between the stores, in the words of this process's one.
  public static func words<Value>(sqlite: Value, postgresql: Value) -> Value {
    current == .sqlite ? sqlite : postgresql
  }
}

extension Trait where Self == ConditionTrait {
  /// For tests of what one store alone has.
  public static func only(_ kind: StoreKind, _ why: Comment) -> Self {
    .enabled(if: StoreKind.current == kind, why)
  }

  /// For suites in which no store has a part: they run once, and not again over PostgreSQL.
  public static var once: Self { .only(.sqlite, "no store has a part in it") }
}
