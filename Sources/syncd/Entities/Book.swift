import SyncEngine

extension API {
  /// A server of one's own that lends books; the configuration says where it is.
  static let library = API("library", url: "http://127.0.0.1:8099/")
}

/// The books of a library: one list, and what is gone from it goes from the table.
struct Book: Entity {
  var id = 0
  var title = ""
  var author: String?
  var genre: String?

  static let source = Source(.library, "books", paging: .none)

  static var mapping: Mapping<Book> {
    Key(\.id)
    Field(\.title)
    Field(\.author, "autor")
    Field(\.genre)
  }

  static let deletion = Deletion<Book>.missing
}
