// expect: type 'Item' does not conform to protocol 'Record'
import SyncEngine

extension API { static let test = API("test", url: "https://api.example.invalid/") }

struct Item: Entity {
  var id: Int
  static let source = Source(.test, "items", paging: .none)
  static var mapping: Mapping<Item> {
    Key(\.id)
  }
}
