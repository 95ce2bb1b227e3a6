import SyncEngine

/// The comments of each post, asked for post by post.
struct Comment: Entity {
  var id = 0
  var postID = 0
  var name = ""
  var email = ""
  var body = ""

  static let source = Source(
    .placeholder, "posts/{parent.id}/comments", paging: .none, parents: Parents(Post.self))

  static var mapping: Mapping<Comment> {
    Key(\.id)
    Field(\.postID, "@parent.id")
    Field(\.name)
    Field(\.email)
    Field(\.body)
  }

  static let deletion = Deletion<Comment>.missing
}
