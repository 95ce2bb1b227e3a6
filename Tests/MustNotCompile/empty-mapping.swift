// expect: A mapping starts with its primary key: write Key(\.id, "id") first.
import SyncEngine

extension API { static let test = API("test", url: "https://api.example.invalid/") }

struct Item: Entity {
  var id = 0
  static let source = Source(.test, "items", paging: .none)
  static var mapping: Mapping<Item> {

  }
}
