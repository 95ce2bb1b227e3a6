import Foundation
import SyncEngine
import TestSupport
import Testing

@Suite("Embedded records and references", .fewAtATime)
struct EmbeddedTests {
  struct Book: Entity {
    var id = 0
    var authorID: Int?
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Book> {
      Key(\.id)
      Field(\.authorID, "author.id", references: Author.self)
      Embedded(Author.self, at: .object("author"))
      Embedded(Author.self, at: .object("editor"))
      Children(Chapter.self, at: "chapters")
    }
    static let deletion = Deletion<Book>.missing(atMost: 1)
  }

  struct Author: Entity {
    var id = 0
    var name = "nobody"
    var born: Day?
    static let source = Source(.probe, "authors", paging: .none)
    static var mapping: Mapping<Author> {
      Key(\.id)
      Field(\.name)
      Field(\.born)
      Children(Award.self, at: "awards")
    }
    static let deletion = Deletion<Author>.missing(atMost: 1)
  }

  struct Award: Record {
    var author = 0
    var title = ""
    static var mapping: Mapping<Award> {
      Key(\.author, "@parent.id")
      Key(\.title, .root)
    }
  }

  struct Chapter: Record {
    var book = 0
    var n = 0
    static var mapping: Mapping<Chapter> {
      Key(\.book, "@parent.id")
      Key(\.n, "@index")
      Embedded(Place.self, at: .listOrObject("place"))
    }
  }

  struct Place: Record {
    var name = ""
    var rank: Int?
    static var mapping: Mapping<Place> {
      Key(\.name)
      Field(\.rank)
    }
  }

  private static let all = """
    SELECT 'book', CAST(id AS TEXT), CAST(author_id AS TEXT), '' FROM book UNION ALL
    SELECT 'author', CAST(id AS TEXT), name, CAST(born AS TEXT) FROM author UNION ALL
    SELECT 'award', CAST(author AS TEXT), title, '' FROM award UNION ALL
    SELECT 'chapter', CAST(book AS TEXT), CAST(n AS TEXT), '' FROM chapter UNION ALL
    SELECT 'place', name, CAST(rank AS TEXT), '' FROM place ORDER BY 1, 2, 3
    """

  private static let books = """
    [{"id":1,"author":{"id":7,"name":"A","awards":["x"]},"chapters":[{"place":{"name":"Rome","rank":1}},{"place":[{"name":"Oslo"},{"name":"Rome","rank":2}]}]},
     {"id":2,"author":{"id":8,"name":"B"},"editor":{"id":7,"name":"A2","awards":["y"]}},
     {"id":3,"author":{"id":8,"name":"B2","born":"1900-01-01"}},{"id":4,"author":null,"editor":null},{"id":5}]
    """

  @Test("authors in books: the last one of each key wins, null and missing ones are none, none is deleted")
  func embedded() async throws {
    let scene = try Scene()
    let line = try await scene.run(Book.self, Self.books)
    expect(line, is: "book: 1 pages, 5 records, 5 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    expect(
      try scene.rows(Self.all),
      is: """
        author | 7 | A2 | ∅
        author | 8 | B2 | 1900-01-01
        award | 7 | y | 
        book | 1 | 7 | 
        book | 2 | 8 | 
        book | 3 | 8 | 
        book | 4 | ∅ | 
        book | 5 | ∅ | 
        chapter | 1 | 0 | 
        chapter | 1 | 1 | 
        place | Oslo | ∅ | 
        place | Rome | 2 | 
        """)
    let later = try await scene.run(Book.self, #"[{"id":4,"author":{"id":8},"chapters":[]}]"#)
    expect(later, is: "book: 1 pages, 1 records, 0 inserted, 1 updated, 0 unchanged, 4 deleted, proven")
    expect(
      try scene.rows(Self.all),
      is: """
        author | 7 | A2 | ∅
        author | 8 | B2 | 1900-01-01
        award | 7 | y | 
        book | 4 | 8 | 
        place | Oslo | ∅ | 
        place | Rome | 2 | 
        """)
  }

  @Test("a table of embedded records may be an entity's own, which reconciles it")
  func entityToo() async throws {
    let scene = try Scene()
    _ = try await scene.run(
      Book.self,
      #"[{"id":1,"author":{"id":7,"name":"A","awards":["x"]}},{"id":2,"editor":{"id":8,"awards":["z"]}}]"#)
    let line = try await scene.run(Author.self, [Route("/authors", body: #"[{"id":7,"name":"A"},{"id":9}]"#)])
    expect(line, is: "author: 1 pages, 2 records, 1 inserted, 0 updated, 1 unchanged, 1 deleted, proven")
    expect(
      try scene.rows(Self.all),
      is: """
        author | 7 | A | ∅
        author | 9 | nobody | ∅
        award | 7 | x | 
        book | 1 | 7 | 
        book | 2 | ∅ | 
        """)
  }

  @Test("bad records: table, path and the record's own key are named")
  func bad() async throws {
    let line = try await Scene().run(
      Book.self,
      #"[{"id":1,"author":{"name":"x"}},{"id":2,"author":{"id":3,"born":"x"}},{"id":3,"author":[]},{"id":4,"chapters":[{},{"place":{"name":null}}]},{"id":5,"author":{"id":5,"awards":[["a"]]}}]"#
    )
    expect(
      line,
      is: """
        book: 5 bad records, nothing was written:
          page 1, record 1 (id 1), field "author.id" at "author.id": the key is missing
          page 1, record 2 (id 2), field "author.born" at "author.born": "x" is not a day of the form 2026-02-28
          page 1, record 3 (id 3), field "author_id" at "author.id": an array stands where the path goes on: []
          page 1, record 4 (id 4), field "chapter.place.name" at "chapters[1].place[0].name": the key is null
          page 1, record 5 (id 5), field "author.award.title" at "author.awards[0]": ["a"] is an array, not a text
        """.replacingOccurrences(of: #" at "author.id": the key"#, with: ": the key")
          .replacingOccurrences(of: #" at "author.born""#, with: ""))
  }

  // MARK: References

  struct Node: Entity {
    var id = 0
    var up: Int?
    static let table = "node"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Node> {
      Key(\.id)
      Field(\.up, references: Node.self)
    }
    static let deletion = Deletion<Node>.missing(atMost: 1)
  }

  @Test(
    "rows that refer to their own table come in any order; what refers to nothing is named, nothing is written"
  )
  func selfReference() async throws {
    let scene = try Scene()
    let sql = "SELECT * FROM node ORDER BY 1"
    let line = try await scene.run(Node.self, #"[{"id":1,"up":2},{"id":2,"up":3},{"id":3,"up":3},{"id":4}]"#)
    expect(line, is: "node: 1 pages, 4 records, 4 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    let bad = try await scene.run(
      Node.self, #"[{"id":1,"up":2},{"id":2,"up":9},{"id":5,"up":3},{"id":6,"up":8}]"#)
    expect(
      bad,
      is: """
        node: 4 rows refer to what is not there, nothing was written:
          node id 2: there is no row of node that it refers to
          node id 5: there is no row of node that it refers to
          node id 6: there is no row of node that it refers to
        """.replacingOccurrences(of: "4 rows", with: "3 rows"))
    expect(try scene.rows(sql), is: "1 | 2\n2 | 3\n3 | 3\n4 | ∅")
    let gone = try await scene.run(Node.self, #"[{"id":1,"up":null},{"id":2},{"id":4}]"#)
    expect(
      gone,
      is: """
        node: 1 row refers to what is not there, nothing was written:
          node id 2: there is no row of node that it refers to
        """)
    let moved = try await scene.run(Node.self, #"[{"id":1,"up":null},{"id":2,"up":1}]"#)
    expect(moved, is: "node: 1 pages, 2 records, 0 inserted, 2 updated, 0 unchanged, 2 deleted, proven")
    expect(try scene.rows(sql), is: "1 | ∅\n2 | 1")
  }

  struct Left: Entity {
    var id = ""
    var right: String?
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Left> {
      Key(\.id)
      Field(\.right, references: Right.self)
    }
  }

  struct Right: Entity {
    var id = ""
    var left: String?
    static let source = Source(.probe, "rights", paging: .none)
    static var mapping: Mapping<Right> {
      Key(\.id)
      Field(\.left, references: Left.self)
    }
  }

  @Test("two entities may refer to each other; a table that is not there yet is made")
  func cycle() async throws {
    let scene = try Scene()
    expect(
      try await scene.run(Left.self, #"[{"id":"l","right":null}]"#),
      is: "left: 1 pages, 1 records, 1 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    expect(
      try await scene.run(Right.self, [Route("/rights", body: #"[{"id":"é","left":"l"}]"#)]),
      is: "right: 1 pages, 1 records, 1 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    expect(
      try await scene.run(Left.self, #"[{"id":"l","right":"e\u0301"}]"#),
      is: """
        left: 1 row refers to what is not there, nothing was written:
          left id l: there is no row of right that it refers to
        """)
    expect(
      try await scene.run(Left.self, #"[{"id":"l","right":"\u00e9"}]"#),
      is: "left: 1 pages, 1 records, 0 inserted, 1 updated, 0 unchanged, 0 deleted, proven")
    expect(
      Engine.parentsFirst([Left.self, Right.self]).map { $0.table }.joined(separator: " "), is: "right left")
  }

  struct Item: Record {
    var basket = 0
    var author = 0
    static var mapping: Mapping<Item> {
      Key(\.basket, "@parent.id")
      Key(\.author, .root, references: Author.self)
    }
  }

  struct Basket: Entity {
    var id = 0
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Basket> {
      Key(\.id)
      Children(Item.self, at: "authors")
    }
  }

  @Test("children may refer to a table that is not there yet; it is synced first")
  func childReference() async throws {
    let scene = try Scene()
    expect(
      Engine.parentsFirst([Basket.self, Author.self]).map { $0.table }.joined(separator: " "),
      is: "author basket")
    expect(
      try await scene.run(Basket.self, #"[{"id":1,"authors":[5]}]"#),
      is: """
        basket: 1 row refers to what is not there, nothing was written:
          item basket 1, author 5: there is no row of author that it refers to
        """)
    expect(
      try await scene.run(Basket.self, #"[{"id":1,"authors":[]}]"#),
      is: "basket: 1 pages, 1 records, 1 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
  }

  @Test("a row that another table refers to is not deleted: the rows that refer to it are named")
  func deletionOfReferred() async throws {
    let scene = try Scene()
    _ = try await scene.run(Book.self, #"[{"id":1,"author":{"id":7}},{"id":2,"author":{"id":8}}]"#)
    expect(
      try await scene.run(Author.self, [Route("/authors", body: #"[{"id":7}]"#)]),
      is: """
        author: 1 row refers to what is not there, nothing was written:
          book id 2: there is no row of author that it refers to
        """)
    expect(try scene.rows("SELECT id FROM author ORDER BY 1"), is: "7\n8")
  }

  struct Odd: Entity {
    var key = ""
    var up: String?
    static let table = "o\"d'd"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Odd> {
      Key(\.key, name: "it's \"key\"")
      Field(\.up, references: Odd.self)
    }
  }

  @Test("odd names stand in the message as they are")
  func oddNames() async throws {
    expect(
      try await Scene().run(Odd.self, #"[{"it's \"key\"":"k","up":"x"}]"#),
      is: """
        o"d'd: 1 row refers to what is not there, nothing was written:
          o"d'd it's "key" k: there is no row of o"d'd that it refers to
        """)
  }

  @Test(
    "a table of others without row numbers is named, since nothing tells which row it is",
    .only(.sqlite, "PostgreSQL has one kind of table"))
  func withoutRowID() async throws {
    let scene = try Scene(
      "CREATE TABLE node (id INTEGER PRIMARY KEY, up INTEGER REFERENCES node (id)) WITHOUT ROWID")
    expect(
      try await scene.run(Node.self, #"[{"id":1,"up":9}]"#),
      is: """
        node: 1 row refers to what is not there, nothing was written:
          node: there is no row of node that it refers to
        """)
  }
}
