// expect: requires that 'Set<Int>' conform to 'ColumnValue'
import SyncEngine

extension API { static let test = API("test", url: "https://api.example.invalid/") }

struct Item: Entity {
  var id = 0
  var lock: Set<Int> = []
  static let source = Source(.test, "items", paging: .none)
  static var mapping: Mapping<Item> {
    Key(\.id)
    Field(\.lock)
  }
}
