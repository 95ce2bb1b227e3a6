import Foundation
import Synchronization

/// A PostgreSQL server on loopback with a cluster of its own, for as long as this object is there.
public final class PostgresServer: Sendable {
  /// The address of its database `postgres`.
  public let url: String
  private let folder: String
  private let process: ServerProcess

  private static let script = Repository.root + "/Tests/Support/postgres.py"

  /// - Parameter settings: those of `postgresql.conf`, `name=value`.
  public init(_ settings: String...) throws {
    process = try ServerProcess(script: "postgres.py", ["serve"] + settings)
    let words = process.line.split(separator: " ")
    guard words.count == 2 else { throw TestFailure("PostgreSQL did not start: \(process.line)") }
    (folder, url) = (String(words[0]), String(words[1]))
  }

  /// - Parameter mode: `fast` ends all transactions in order; `immediate` is a crash.
  public func stop(_ mode: String = "fast") throws {
    try Shell.run("python3", Self.script, "stop", folder, mode)
  }

  /// Starts it again, on the port that it had.
  public func start() throws { try Shell.run("python3", Self.script, "start", folder) }

  /// The address of the cluster that tests share: `SYNCD_TEST_POSTGRES`, or one that is there for this process.
  public static func shared() throws -> String { try address.get() }

  private static let address = Result {
    if let url = ProcessInfo.processInfo.environment["SYNCD_TEST_POSTGRES"] { return url }
    let server = try PostgresServer()
    kept.withLock { $0 = server }
    return server.url
  }

  /// The server ends with this process.
  private static let kept = Mutex<PostgresServer?>(nil)
}
