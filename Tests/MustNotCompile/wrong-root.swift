// expect: cannot convert value of type 'KeyPath<Other, String>' to expected argument type 'WritableKeyPath<Item, V>'
import SyncEngine

extension API { static let test = API("test", url: "https://api.example.invalid/") }

struct Item: Entity {
  var id = 0
  var title = ""
  static let source = Source(.test, "items", paging: .none)
  static var mapping: Mapping<Item> {
    Key(\.id)
    Field(\Other.name)
  }
}

struct Other: Entity {
  var id = 0
  var name = ""
  static let source = Source(.test, "items", paging: .none)
  static var mapping: Mapping<Other> {
    Key(\.id)
    Field(\.name)
  }
}
