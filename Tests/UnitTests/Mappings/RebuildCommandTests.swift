import Foundation
import SyncEngine
import TestSupport
import Testing

/// `check` and `rebuild` as a person meets them after a change of the declaration.
@Suite("The commands of a table's life", .fewAtATime)
struct RebuildCommandTests {
  /// What the program's own Book was in another life.
  struct OldBook: Entity {
    var id = 0
    var title: Int?
    var author = ""
    var isbn: String?
    static let table = "book"
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<OldBook> {
      Key(\.id)
      Field(\.title)
      Field(\.author)
      Field(\.isbn)
    }
  }

  private func call(_ scene: Scene, _ words: String...) throws -> String {
    let config = scene.fixture.folder.path + "/c.json"
    try
      #"{ "store": "\#(scene.fixture.location)", "apis": { "library": { "url": "\#(scene.server.base)/" } } }"#
      .write(
        toFile: config, atomically: true, encoding: .utf8)
    let result = try Shell.result(
      [Shell.product("syncd")] + words + ["--config", config], directory: scene.fixture.folder.path
    ).withoutRuns
    return "\(result.status)\n\(result.output)\(result.errors)"
      .replacing(/\d+ ms/, with: "N ms").replacingOccurrences(of: scene.server.base, with: "BASE")
  }

  @Test("once refuses, check shows the difference, rebuild does it, --drop-columns drops what is left over")
  func commands() async throws {
    let (integer, text) = StoreKind.words(sqlite: ("INTEGER", "TEXT"), postgresql: ("bigint", "text"))
    let emptyText = StoreKind.words(sqlite: "''", postgresql: "''::text")
    let scene = try Scene()
    _ = try await scene.run(OldBook.self, #"[{"id":1,"title":7,"author":"A","isbn":"x"}]"#)
    try scene.serve([Route("/books", body: #"[{"id":1,"title":"t","autor":"B"}]"#)])
    expect(
      try call(scene, "once", "book"),
      is: #"""
        1
        syncd: book: the table "book" that is there does not fit the declaration: the column "title" is \#(integer), not \#(text); the column "author" takes no null, but the declaration does; the command rebuild changes it and keeps its rows

        """#)
    expect(
      try call(scene, "check", "book"),
      is: #"""
        1
        syncd: book: the table "book" that is there does not fit the declaration: the column "title" is \#(integer), not \#(text); the column "author" takes no null, but the declaration does; the command rebuild changes it and keeps its rows

        """#)
    expect(
      try call(scene, "rebuild", "book"),
      is: #"""
        0
        book: rebuilt with 1 row; what differed: the column "genre" was added; the column "title" is \#(integer), not \#(text); the column "author" takes no null, but the declaration does; the column "title" takes null, but the declaration does not; the default of the column "title" is none, not ''; the default of the column "author" is \#(emptyText), not none

        """#)
    expect(try call(scene, "rebuild", "book"), is: "0\nbook: nothing to change\n")
    #expect(try call(scene, "check", "book").contains(#"the column "isbn" "#))
    #expect(try call(scene, "rebuild", "book", "--drop-columns").contains(#"the column "isbn" "#))
    expect(
      try call(scene, "once", "book"),
      is: """
        0
        book: 1 records, 0 inserted, 1 updated, 0 unchanged, 0 deleted (1 page, N ms); not proven complete, so nothing was deleted: the declaration asks for other records than at the last run

        """)
    expect(try scene.rows("SELECT * FROM book"), is: "1 | t | B | ∅")
    expect(
      try call(scene, "rebuild", "nothing"),
      is: """
        2
        syncd: there is no entity "nothing"; there are book, article, hero, post, comment
        See 'syncd --help'.

        """)
    expect(try call(scene, "rebuild", "post"), is: "0\npost: nothing to change\n")
    expect(
      try call(scene, "once", "--drop-columns"),
      is: """
        2
        syncd: once has no option --drop-columns; there are --config, --profile, --store, --atomic, --full, --no-resume, --allow-deletes, --changes, --wait, --log-format, --log-level, --verbose, --trace, --quiet, --help
        See 'syncd --help'.

        """)
  }

  struct Reader: Entity {
    var id = 0
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Reader> {
      Key(\.id)
      Embedded(Shelf.self, at: "shelves")
    }
  }

  struct Writer: Entity {
    var id = 0
    static let source = Source(.probe, "things", paging: .none)
    static var mapping: Mapping<Writer> {
      Key(\.id)
      Embedded(Shelf.self, at: "shelves")
    }
  }

  struct Shelf: Record {
    var name = ""
    var id = 0
    static var mapping: Mapping<Shelf> {
      Key(\.name)
      Field(\.id, "@parent.id")
    }
  }

  @Test("two entities with one table of embedded records run one after the other, and both are done")
  func together() async throws {
    let scene = try Scene()
    try scene.serve([
      Route("/things", body: #"[{"id":1,"shelves":[{"name":"a"},{"name":"b"}]}]"#, pause: 0.3)
    ])
    async let first = outcome(of: scene.engine, Reader.self)
    async let second = outcome(of: scene.engine, Writer.self)
    let lines = await [first, second]
    expect(
      lines.joined(separator: "\n"),
      is: """
        reader: 1 pages, 1 records, 1 inserted, 0 updated, 0 unchanged, 0 deleted, proven
        writer: 1 pages, 1 records, 1 inserted, 0 updated, 0 unchanged, 0 deleted, proven
        """)
    expect(try scene.rows("SELECT * FROM shelf ORDER BY 1"), is: "a | 1\nb | 1")
  }
}
