// expect: missing argument for parameter 'paging' in call
import SyncEngine

extension API { static let test = API("test", url: "https://api.example.invalid/") }

struct Item: Entity {
  var id = 0
  static let source = Source(.test, "items")
  static var mapping: Mapping<Item> {
    Key(\.id)
  }
}
