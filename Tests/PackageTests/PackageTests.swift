import Foundation
import TestSupport
import Testing

/// The products as somebody else's dependency.
@Suite("A package of one's own", .serialized)
struct PackageTests {
  private static let entity = """
    import SyncEngine

    extension API {
      static let shelf = API("shelf", url: "http://127.0.0.1:1/")
    }

    struct Book: Entity {
      var id = 0
      var title = ""
      var author: String?

      static let source = Source(.shelf, "books", paging: .none)

      static var mapping: Mapping<Book> {
        Key(\\.id)
        Field(\\.title)
        Field(\\.author, "autor")
      }

      static let deletion = Deletion<Book>.missing
    }
    """

  private static let command = """
    import SQLiteStore
    import SyncCommand
    import SyncEngine

    @main
    struct Main: SyncCommand {
      static let entities: [any Entity.Type] = [Book.self]
      static let stores: [any Store.Type] = [SQLite.self]
    }
    """

  private static let program = """
    import SQLiteStore
    import SyncEngine

    @main
    struct Main {
      static func main() async throws {
        let store = try SQLite.open(CommandLine.arguments[1])
        let engine = Engine(store: store, options: .init(urls: ["shelf": CommandLine.arguments[2]]))
        let report = try await engine.sync(Book.self)
        print("\\(report.inserted) inserted, \\(report.unchanged) unchanged")
        for book in try store.all(Book.self) { print("\\(book.id): \\(book.title) by \\(book.author ?? "nobody")") }
        print(try store.first(Book.self, key: 3)?.title ?? "no book 3")
        print(try store.first(Book.self, key: 33)?.title ?? "no book 33")
      }
    }
    """

  /// A package in a folder of its own, built: its command line, and a program that embeds the engine.
  private static func build() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    // A package on a path is known by its folder's name.
    let identity = URL(fileURLWithPath: Repository.root).lastPathComponent
    let products = ["SyncCommand", "SyncEngine", "SQLiteStore"].map {
      ".product(name: \"\($0)\", package: \"\(identity)\")"
    }
    let manifest = """
      // swift-tools-version: 6.0
      import PackageDescription

      let package = Package(
        name: "shelf",
        dependencies: [.package(path: "\(Repository.root)")],
        targets: [
          .executableTarget(name: "shelf", dependencies: [\(products.joined(separator: ", "))]),
          .executableTarget(name: "reader", dependencies: [\(products[1...].joined(separator: ", "))]),
        ],
        swiftLanguageModes: [.v6]
      )
      """
    let files = [
      "Package.swift": manifest, "Sources/shelf/Book.swift": entity, "Sources/shelf/Main.swift": command,
      "Sources/reader/Book.swift": entity, "Sources/reader/Main.swift": program,
    ]
    for (name, text) in files {
      let url = URL(fileURLWithPath: folder.path).appendingPathComponent(name)
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try text.write(to: url, atomically: true, encoding: .utf8)
    }
    let result = try Shell.result(["swift", "build", "--package-path", folder.path])
    guard result.status == 0 else {
      throw TestFailure("the package does not build:\n\(result.output)\(result.errors)")
    }
    let said = result.output + result.errors
    #expect(!said.contains("warning:"), "\(said)")
    return folder
  }

  @Test("builds, syncs by its command line, and by a program that embeds the engine")
  func dependency() throws {
    let folder = try Self.build()
    let server = try AnswerServer([
      Route("/books", file: Repository.root + "/Tests/Fixtures/books/books.json")
    ])
    let store = folder.path + "/shelf.sqlite"
    let config = folder.path + "/config.json"
    try #"{ "store": "\#(store)", "apis": { "shelf": { "url": "\#(server.base)/" } } }  // made by a test"#
      .write(toFile: config, atomically: true, encoding: .utf8)

    let once = try Shell.result([folder.path + "/.build/debug/shelf", "once", "--config", config])
    #expect(once.status == 0, "\(once)")
    #expect(
      once.output.hasPrefix("book: 5 records, 5 inserted, 0 updated, 0 unchanged, 0 deleted (1 page, "),
      "\(once)")
    expect(
      try SQLiteFile.text(store, "SELECT id, title, author FROM book WHERE id < 3"),
      is: """
        1 | The Lighthouse Keeper | Ines Vold
        2 | Salt & Silence | Tomás Quist
        """)

    let reader = try Shell.result([folder.path + "/.build/debug/reader", store, server.base + "/"])
    #expect(reader.status == 0, "\(reader)")
    expect(
      reader.output,
      is: """
        0 inserted, 5 unchanged
        1: The Lighthouse Keeper by Ines Vold
        2: Salt & Silence by Tomás Quist
        3: Eleven Maps by nobody
        4: Der Garten im Süden by Lea Brandt
        5: "Quoted" by N. Okafor
        Eleven Maps
        no book 33

        """)
  }
}
