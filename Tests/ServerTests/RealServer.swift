import Foundation
import SyncEngine
import TestSupport
import Testing

/// A server that nobody of this package wrote, started and filled by `Tests/Servers/serve.py`. It ends with this object,
/// and with this process however that ends.
final class RealServer: Sendable {
  let name: String
  let base: String
  let folder: TemporaryFolder
  private let process: ServerProcess

  /// Whether Tests/Servers/install was here; Scripts/test runs it.
  static let areInstalled = FileManager.default.fileExists(
    atPath: Repository.root + "/.build/servers/installed")
  private static let script = Repository.root + "/Tests/Servers/serve.py"

  /// - Parameter variables: of the environment, for the server.
  init(_ name: String, _ variables: [String: String] = [:]) throws {
    self.name = name
    folder = try TemporaryFolder()
    process = try ServerProcess(
      ["python3", Self.script, "start", name, folder.path],
      environment: TestEnvironment.variables.merging(variables) { $1 })
    base = process.line
    guard base.hasPrefix("http") else { throw TestFailure("\(name) did not start") }
  }

  /// Adds, changes and removes records in the server's own way.
  func change() throws { try Shell.run("python3", Self.script, "change", name, folder.path, base) }

  /// What a client without our engine sees, in order.
  func listing() throws -> [String] {
    Self.lines(try Shell.run("python3", Self.script, "list", name, folder.path, base))
  }

  private static func lines(_ data: Data) -> [String] {
    String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init).sorted()
  }

  /// Syncs, changes the server, and syncs again: the table is the server's list both times.
  ///
  /// - Parameters:
  ///   - entities: all with the same columns.
  ///   - prefix: what follows the server's address in the API's.
  ///   - others: the addresses of further APIs.
  ///   - columns: the columns that the server's list shows.
  ///   - lines: what the runs say of themselves, without the entity's name.
  func follow(
    _ entities: [any Entity.Type], api: String, at prefix: String = "/", others: [String: String] = [:],
    columns: String, lines: [[String]],
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let fixture = try Fixture()
    let urls = others.merging([api: base + prefix]) { $1 }
    let engine = Engine(
      store: fixture.store, options: .init(urls: urls, rates: urls.mapValues { _ in .unlimited }))
    for round in 0...1 {
      if round == 1 { try change() }
      let expected = try listing()
      for (entity, lines) in zip(entities, lines) {
        let said = await outcome(of: engine, entity)
        expect(said, is: "\(entity.table): \(lines[round])", sourceLocation: sourceLocation)
        let rows = Self.lines(Data(try fixture.rows("SELECT \(columns) FROM \(entity.table)").utf8))
        #expect(rows.count == expected.count, "\(entity.table)", sourceLocation: sourceLocation)
        for (row, other) in zip(rows, expected) where row != other {
          Issue.record("\(entity.table) has:\n\(row)\nthe server:\n\(other)", sourceLocation: sourceLocation)
          break
        }
      }
    }
    #expect(entities.count == lines.count, sourceLocation: sourceLocation)
  }
}
