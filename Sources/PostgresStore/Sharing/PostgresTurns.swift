import HTTP
import SyncEngine
import Synchronization

/// The turns of an API's requests among all programs that use a database.
final class PostgresTurns: SharedTurns {
  private let api: String
  private let connection: SideConnection
  private let isMade = Atomic(false)

  init(of api: String, _ connection: SideConnection) { (self.api, self.connection) = (api, connection) }

  func take(every interval: Duration) async throws -> Duration {
    .microseconds(
      try await withTable { [api] in try WorkTables.take(api, every: interval, in: $0) } * 1000)
  }

  func pause(for time: Duration) async {
    // Where it cannot be said to the others, they are told by the API itself.
    try? await withTable { [api] in try WorkTables.pause(api, for: time, in: $0) }
  }

  private func withTable<R: Sendable>(_ body: @escaping @Sendable (Connection) throws -> R) async throws -> R
  {
    try await connection.perform { connection, _ in
      if !self.isMade.load(ordering: .relaxed) {
        try connection.transaction { try WorkTables.create(in: connection) }
        self.isMade.store(true, ordering: .relaxed)
      }
      return try body(connection)
    }
  }
}
