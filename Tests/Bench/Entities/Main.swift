import PostgresStore
import SQLiteStore
import SyncCommand
import SyncEngine

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The benchmark's declarations behind the real command line.
///
/// `SYNCD_BENCH` names one, or `parts` for a thousand. Without it there are all but the parts.
@main
struct Main: SyncCommand {
  static let few: [any Entity.Type] = [Book.self, Tiny.self, Wide.self, Document.self, Slow.self]

  static let ownVariables = ["SYNCD_BENCH"]
  static let stores: [any Store.Type] = [SQLite.self, PostgreSQL.self]

  static let entities: [any Entity.Type] = {
    guard let name = getenv("SYNCD_BENCH").map({ String(cString: $0) }) else { return few }
    if name == "parts" { return Parts.all }
    guard let entity = few.first(where: { $0.name == name }) else {
      print("SYNCD_BENCH is \"\(name)\"; there are \(few.map { $0.name }.joined(separator: ", ")) and parts")
      exit(2)
    }
    return [entity]
  }()
}

extension API {
  static let bench = API("bench", url: "http://127.0.0.1:1/", concurrency: 8)
}
