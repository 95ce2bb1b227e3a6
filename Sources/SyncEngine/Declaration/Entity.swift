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
/// - ``Record``
/// - ``Key``
/// - ``Field``
/// - ``Local``
/// - ``Children``
/// - ``Embedded``
/// ### What is gone at the source
/// - ``deletion``
/// - ``Deletion``
/// ### What changed at the source
/// - ``incremental``
/// - ``Incremental``
/// ### When it is synced
/// - ``schedule``
/// - ``Schedule``
public protocol Entity: Record {
  /// The name on the command line, in messages and in the configuration: that of the table by default. Entities that
  /// share a table have names of their own.
  static var name: String { get }

  /// Where the records come from.
  static var source: Source { get }

  /// What happens to rows that the source no longer returns: nothing by default.
  static var deletion: Deletion<Self> { get }

  /// Whether runs ask for no more than what changed: no by default.
  static var incremental: Incremental<Self> { get }

  /// When `watch` runs it: on the interval of the configuration by default.
  static var schedule: Schedule? { get }
}

extension Entity {
  public static var name: String { table }
  public static var deletion: Deletion<Self> { .never }
  public static var incremental: Incremental<Self> { .never }
  public static var schedule: Schedule? { nil }
}
