/// A remote collection that is mirrored into one table.
///
/// The stored properties are the columns and their initial values the columns' defaults, written once.
///
/// ```swift
/// struct Book: Entity {
///   var id = 0
///   var title = ""
///   var author: String?
///
///   static let source = Source(.library, "books", paging: .none)
///   static var mapping: Mapping<Book> {
///     Key(\.id)
///     Field(\.title)
///     Field(\.author, "autor")
///   }
///   static let deletion = Deletion<Book>.missing
/// }
/// // CREATE TABLE "book" (
/// //   "id" INTEGER NOT NULL,
/// //   "title" TEXT NOT NULL DEFAULT '',
/// //   "author" TEXT,
/// //   PRIMARY KEY ("id")
/// // ) STRICT
/// ```
///
/// ## Topics
/// ### The request
/// - ``source``
/// - ``Source``
/// - ``API``
/// - ``Paging``
/// ### The columns
/// - ``mapping``
/// - ``Key``
/// - ``Field``
/// - ``Local``
/// ### What is gone at the source
/// - ``deletion``
/// - ``Deletion``
public protocol Entity: Sendable {
  init()

  /// The name of the table and of the entity on the command line: the type's name in snake case by default.
  static var table: String { get }

  /// Where the records come from.
  static var source: Source { get }

  /// How each column is filled. The first statement is a ``Key``.
  @MappingBuilder<Self> static var mapping: Mapping<Self> { get }

  /// What happens to rows that the source no longer returns: nothing by default.
  static var deletion: Deletion<Self> { get }
}

extension Entity {
  public static var table: String { snakeCased(String(describing: Self.self)) }
  public static var deletion: Deletion<Self> { .never }
}

/// `wordCount` → `word_count`, `innerID` → `inner_id`, `HTTPRoute` → `http_route`.
func snakeCased(_ name: String) -> String {
  let characters = Array(name)
  var out = ""
  for (index, character) in characters.enumerated() {
    if character.isUppercase, index > 0 {
      let before = characters[index - 1]
      let isNextLower = index + 1 < characters.count && characters[index + 1].isLowercase
      if before.isLowercase || before.isNumber || (before.isUppercase && isNextLower) { out.append("_") }
    }
    out.append(contentsOf: character.lowercased())
  }
  return out
}
