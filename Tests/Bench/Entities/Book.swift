import SyncEngine

import struct FoundationEssentials.Date
import struct FoundationEssentials.URL

/// Fourteen columns: nested objects, a list, a template and two instants.
struct Book: Entity {
  var id: Int64 = 0
  var title = ""
  var author: String?
  var country: String?
  var genre: String?
  var price: Double?
  var pages: Int?
  var inStock: Bool?
  var published: Date?
  var updatedAt: Date?
  var isbn: String?
  var tags: [String]?
  var thumbnail: URL?
  var summary: String?

  static let source = Source(.bench, "books/1.json", rows: "data.results", paging: .next("next"))

  static var mapping: Mapping<Book> {
    Key(\.id)
    Field(\.title)
    Field(\.author, "autor.name")
    Field(\.country, "autor.country")
    Field(\.genre)
    Field(\.price)
    Field(\.pages)
    Field(\.inStock)
    Field(\.published)
    Field(\.updatedAt)
    Field(\.isbn)
    Field(\.tags)
    Field(\.thumbnail, template: "{thumbnail.path}.{thumbnail.extension}")
    Field(\.summary)
  }

  static let deletion = Deletion<Book>.missing
}
