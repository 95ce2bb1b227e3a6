import SyncEngine

extension API {
  /// JSONPlaceholder (jsonplaceholder.typicode.com), made for trying things out.
  static let placeholder = API("placeholder", url: "https://jsonplaceholder.typicode.com/")
}

struct Post: Entity {
  var id = 0
  var userID = 0
  var title = ""
  var body = ""

  static let source = Source(.placeholder, "posts", paging: .none)

  static var mapping: Mapping<Post> {
    Key(\.id)
    Field(\.userID, "userId")
    Field(\.title)
    Field(\.body)
  }

  static let deletion = Deletion<Post>.missing
}
