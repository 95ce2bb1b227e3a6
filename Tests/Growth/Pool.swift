import Dispatch
import HTTP
import PostgresStore
import SyncEngine
import Synchronization

/// What simulated workers ask of the database.
enum Operation: String, CaseIterable {
  case claim
  /// A claim that found nothing.
  case look
  case settle
  case renew
}

/// Sessions that simulated workers share, since a server has fewer than there are workers.
final class Pool: Sendable {
  private struct Session: Sendable {
    let connection: Connection
    let queue = DispatchQueue(label: "syncd.growth.session")
  }
  private struct State {
    var free: [Session] = []
    var waiting: [CheckedContinuation<Session, Never>] = []
    var first = 0
  }
  private let state: Mutex<State>
  let timings = Timings()

  init(_ location: Location, count: Int) throws {
    var sessions: [Session] = []
    for _ in 0..<count {
      sessions.append(Session(connection: try Connection(location, busyLimit: .seconds(60))))
    }
    state = Mutex(State(free: sessions))
  }

  /// Runs `body` with a session, and takes the time without and with the wait for it.
  func perform<R: Sendable>(
    _ operation: (R) -> Operation?, _ body: @escaping @Sendable (Connection) throws -> R
  ) async throws -> R {
    let asked = ContinuousClock.now
    let session = await take()
    defer { give(session) }
    let (result, time) = try await withCheckedThrowingContinuation { continuation in
      session.queue.async {
        let start = ContinuousClock.now
        continuation.resume(
          with: Result { (try body(session.connection), ContinuousClock.now - start) })
      }
    }
    if let operation = operation(result) {
      timings.add(operation, time, withWait: ContinuousClock.now - asked)
    }
    return result
  }

  private func take() async -> Session {
    await withCheckedContinuation { continuation in
      let session = state.withLock { state -> Session? in
        if let session = state.free.popLast() { return session }
        state.waiting.append(continuation)
        return nil
      }
      if let session { continuation.resume(returning: session) }
    }
  }

  private func give(_ session: Session) {
    let next = state.withLock { state -> CheckedContinuation<Session, Never>? in
      guard state.first < state.waiting.count else {
        state.free.append(session)
        return nil
      }
      let next = state.waiting[state.first]
      state.first += 1
      if state.first > 4096 {
        state.waiting.removeFirst(state.first)
        state.first = 0
      }
      return next
    }
    next?.resume(returning: session)
  }
}

/// How long statements took, in milliseconds.
final class Timings: Sendable {
  private let times = Mutex<[Operation: (own: [Double], withWait: [Double])]>([:])

  func add(_ operation: Operation, _ time: Duration, withWait: Duration) {
    times.withLock {
      $0[operation, default: ([], [])].own.append(time.inMilliseconds)
      $0[operation, default: ([], [])].withWait.append(withWait.inMilliseconds)
    }
  }

  func clear() { times.withLock { $0 = [:] } }

  func quantiles(_ operation: Operation) -> (count: Int, own: [Double], withWait: [Double]) {
    let found = times.withLock { $0[operation] ?? ([], []) }
    return (found.own.count, Self.quantiles(found.own), Self.quantiles(found.withWait))
  }

  /// The 50th, 95th and 99th of a hundred, and the last.
  private static func quantiles(_ times: [Double]) -> [Double] {
    let sorted = times.sorted()
    guard let last = sorted.last else { return [] }
    return [0.5, 0.95, 0.99].map { sorted[min(sorted.count - 1, Int(Double(sorted.count) * $0))] } + [last]
  }
}

extension Duration {
  var inMilliseconds: Double { Double(components.seconds) * 1000 + Double(components.attoseconds) / 1e15 }
  var inSeconds: Double { inMilliseconds / 1000 }
}
