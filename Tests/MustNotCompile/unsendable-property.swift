// expect: stored property 'counter' of 'Sendable'-conforming struct 'Item' has non-Sendable type 'Counter'
import SyncEngine

extension API { static let test = API("test", url: "https://api.example.invalid/") }

final class Counter { var count = 0 }

struct Item: Entity {
  var id = 0
  var counter = Counter()
  static let source = Source(.test, "items", paging: .none)
  static var mapping: Mapping<Item> {
    Key(\.id)
  }
}
