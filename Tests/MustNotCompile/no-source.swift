// expect: type 'Item' does not conform to protocol 'Entity'
import SyncEngine

extension API { static let test = API("test", url: "https://api.example.invalid/") }

struct Item: Entity {
  var id = 0
  static var mapping: Mapping<Item> {
    Key(\.id)
  }
}
