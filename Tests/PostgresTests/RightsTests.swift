import Foundation
import PostgresStore
import SyncEngine
import TestSupport
import Testing

/// Who may do what, and passwords.
@Suite("Rights and passwords", .timeLimit(.minutes(15)), .fewAtATime)
struct RightsTests {
  private static let password = "p@ss/w0rd:1"

  /// A role of its own, which goes with this object, and a schema that it may use.
  private final class Role {
    let name = "role_" + UUID().uuidString.prefix(8).lowercased()
    let schema: PostgresSchema
    var url: String { Postgres.url(schema.url, user: name, password: RightsTests.password) }

    init() throws {
      schema = try PostgresSchema()
      _ = try schema.rows(
        "CREATE ROLE \(name) LOGIN PASSWORD '\(RightsTests.password)'; GRANT USAGE ON SCHEMA \(schema.name) TO \(name)"
      )
    }

    deinit { _ = try? schema.rows("DROP OWNED BY \(name); DROP ROLE \(name)") }
  }

  @Test("a role that may not create: the message says so, and where the tables are there it needs no more")
  func creating() async throws {
    let role = try Role()
    let place = try Place(role.url)
    expect(
      try await place.walk("new"),
      is:
        "item: PostgreSQL: permission denied for schema \(role.schema.name) (and the run could not be recorded: PostgreSQL: permission denied for schema \(role.schema.name))"
    )
    expect(try role.schema.rows("SELECT count(*) FROM sqlite_schema"), is: "0")
    // Whoever may create has done it once.
    _ = try await Place(role.schema.url).walk("old")
    _ = try role.schema.rows(
      "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(role.schema.name) TO \(role.name)")
    let line = try await place.walk("new")
    #expect(line.contains("3 updated, 0 unchanged, 0 deleted"), "\(line)")
    #expect(
      try await place.run(#"{"data":[{"id":1,"v":"new"}]}"#).hasSuffix("1 unchanged, 2 deleted, proven"))
    #expect(try place.store.all(Item.self).map(\.v) == ["new"])
  }

  @Test(
    "each right that is missing is named, and nothing is written",
    arguments: ["INSERT", "UPDATE", "DELETE", "SELECT"])
  func tableRights(_ right: String) async throws {
    let role = try Role()
    _ = try await Place(role.schema.url).walk("old")
    _ = try role.schema.rows(
      """
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(role.schema.name) TO \(role.name);
      REVOKE \(right) ON item FROM \(role.name)
      """)
    let place = try Place(role.url)
    let line = try await place.run(#"{"data":[{"id":1,"v":"old"},{"id":2,"v":"new"},{"id":4,"v":"new"}]}"#)
    expect(line, is: "item: PostgreSQL: permission denied for table item")
    expect(try role.schema.rows("SELECT * FROM item ORDER BY 1"), is: "1 | old\n2 | old\n3 | old")
    expect(try role.schema.rows("SELECT outcome FROM syncd_runs ORDER BY id"), is: "proven\nfailed")
  }

  @Test("a role without temporary tables, and one whose transactions only read, are told what is missing")
  func settings() async throws {
    let database = try PostgresDatabase()
    let name = "role_" + UUID().uuidString.prefix(8).lowercased()
    _ = try database.rows(
      """
      REVOKE TEMPORARY ON DATABASE \(database.name) FROM PUBLIC; CREATE ROLE \(name) LOGIN PASSWORD 'x';
      GRANT ALL ON SCHEMA public TO \(name)
      """)
    defer { _ = try? database.rows("DROP OWNED BY \(name); DROP ROLE \(name)") }
    let line = try await Place(Postgres.url(database.url, user: name, password: "x")).walk("new")
    #expect(
      line.hasPrefix("item: PostgreSQL: permission denied to create temporary tables in database"), "\(line)")
    let readOnly = try await Place(database.url + "?options=-cdefault_transaction_read_only%3Don").walk("new")
    #expect(readOnly.contains("session is read-only"), "\(readOnly)")
    expect(try database.rows("SELECT to_regclass('item') IS NULL"), is: "1")
  }

  @Test("a schema that is not there is named")
  func noSchema() async throws {
    let url = Postgres.url(try PostgresServer.shared(), searchPath: "nowhere")
    expect(
      try await Place(url).walk("new"),
      is: "item: no schema of the search path is there: nowhere; create it first (CREATE SCHEMA …)")
  }

  @Test("whatever is wrong with the address, no message tells the password")
  func passwords() async throws {
    let role = try Role()
    let secret = "s3cret%2Fw0rd+x"
    let server = try PostgresServer.shared()
    let port = server.split(separator: ":").last?.prefix { $0.isNumber } ?? ""
    let folder = try TemporaryFolder()
    let right = Postgres.url(role.schema.url, user: role.name)
    let addresses = [
      "postgresql://\(role.name):\(secret)@127.0.0.1:\(port)/postgres",
      "postgresql://nobody_here:\(secret)@127.0.0.1:\(port)/postgres",
      "postgresql://\(role.name):\(secret)@127.0.0.1:1/postgres",
      "postgresql://\(role.name):\(secret)@nowhere.invalid/postgres",
      "postgresql://postgres:\(secret)@127.0.0.1:\(port)/no_such_database",
      "postgresql://\(role.name):\(secret)@127.0.0.1:\(port)/postgres?no_such_option=1",
      "postgresql://\(role.name):\(secret)@127.0.0.1:port/postgres",
      "postgresql://\(role.name):\(secret)@[::1/postgres", "postgresql://\(role.name):%zz\(secret)@h/d",
      "postgresql://127.0.0.1:\(port)/postgres?user=\(role.name)&password=\(secret)",
      "postgresql:s3cret/w0rd+x",
      "postgres://u:\(secret)@/d?host=/no/such/folder",
    ]
    for address in addresses {
      for words in [
        ["once", "book"], ["status"], ["check", "book"], ["plan", "book", "--log-format", "json"],
      ] {
        let result = try Shell.result(
          [Shell.product("syncd")] + words + ["--store", address], directory: folder.path)
        let said = "\(result.output)\(result.errors)"
        #expect(result.status == 1 || result.status == 2, "\(words) \(address): \(result)")
        for part in ["s3cret", "w0rd+x", "w0rd%2Bx"] {
          #expect(!said.contains(part), "\(words) \(address): \(said)")
        }
        #expect(!said.isEmpty, "\(words) \(address)")
        if words == ["once", "book"] {
          print("  \(said.replacing(port, with: "PORT").replacing(role.name, with: "ROLE"))", terminator: "")
        }
      }
    }
    // With the right one it works, from the address, a variable or a file.
    #expect(try await Place(role.url).walk("new").contains("permission denied for schema"))
    let file = folder.path + "/pass"
    try "127.0.0.1:*:*:\(role.name):p@ss/w0rd\\:1\n".write(toFile: file, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    for variables in [["PGPASSWORD": Self.password], ["PGPASSFILE": file]] {
      let result = try Shell.result(
        [Shell.product("syncd"), "status", "--store", right], environment: variables, directory: folder.path)
      #expect(result.status == 0, "\(result)")
    }
  }
}
