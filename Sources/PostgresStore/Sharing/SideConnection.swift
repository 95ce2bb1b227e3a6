import Dispatch
import SyncEngine
import Synchronization

/// A connection for short statements beside the runs, which never wait behind one. It is made when it is first used, and
/// again when it was lost.
final class SideConnection: Sendable {
  private let place: Location
  private let silence: Duration
  private let queue = DispatchQueue(label: "syncd.postgresql.side")
  private struct State {
    var connection: Connection?
    /// Counts the connections that were made.
    var generation = 0
  }
  private let state = Mutex(State())

  /// - Parameter silence: how long the server may say nothing, and how long a statement waits for others.
  init(_ place: Location, silence: Duration) { (self.place, self.silence) = (place, silence) }

  /// Runs `body` with the connection, and the number of the connection.
  func perform<R: Sendable>(_ body: @escaping @Sendable (Connection, Int) throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try self.run(body) }) }
    }
  }

  private func run<R>(_ body: (Connection, Int) throws -> R) throws -> R {
    let (connection, generation) = try state.withLock { state in
      if let connection = state.connection, connection.isAlive { return (connection, state.generation) }
      let connection = try Connection(place, busyLimit: silence, silence: silence)
      (state.connection, state.generation) = (connection, state.generation + 1)
      return (connection, state.generation)
    }
    do { return try body(connection, generation) } catch let error as PostgresError {
      throw error.asStoreError
    }
  }

  func close() {
    queue.async { self.state.withLock { $0.connection = nil } }
  }
}
