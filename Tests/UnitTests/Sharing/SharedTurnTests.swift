import Synchronization
import TestSupport
import Testing

@testable import HTTP

/// Requests of several programs that take their turns in one place.
@Suite("Shared turns", .timeLimit(.minutes(5)), .once)
struct SharedTurnTests {
  /// The place, and a clock that stands until somebody waits.
  private final class Turns: SharedTurns, Sendable {
    let state:
      Mutex<(now: ContinuousClock.Instant, next: ContinuousClock.Instant, taken: Int, pauses: [Duration])>
    let fails: Bool
    init(fails: Bool = false) {
      self.fails = fails
      let now = ContinuousClock.now
      state = Mutex((now, now, 0, []))
    }

    func take(every interval: Duration) async throws -> Duration {
      if fails { throw HTTPError(.connection, "gone") }
      return state.withLock { state in
        state.taken += 1
        let mine = max(state.next, state.now)
        state.next = mine + interval
        return mine - state.now
      }
    }
    func pause(for time: Duration) async {
      state.withLock {
        $0.pauses.append(time)
        $0.next = max($0.next, $0.now + time)
      }
    }
    var clock: WaitingClock {
      WaitingClock(
        now: { self.state.withLock(\.now) },
        sleep: { until in self.state.withLock { $0.now = max($0.now, until) } })
    }
  }

  @Test("two programs take turn after turn")
  func turns() async throws {
    let turns = Turns()
    let begin = turns.state.withLock(\.now)
    let (one, two) = (
      RateLimiter(interval: .milliseconds(50), shared: turns, clock: turns.clock),
      RateLimiter(interval: .milliseconds(50), shared: turns, clock: turns.clock)
    )
    for _ in 0..<5 {
      try await one.turn()
      try await two.turn()
    }
    #expect(turns.state.withLock(\.taken) == 10)
    #expect(turns.state.withLock(\.now) - begin == .milliseconds(450))
  }

  @Test("a pause of one is one of the other, and is told once")
  func pause() async throws {
    let turns = Turns()
    let begin = turns.state.withLock(\.now)
    let (one, two) = (
      RateLimiter(interval: .milliseconds(50), shared: turns, clock: turns.clock),
      RateLimiter(interval: .milliseconds(50), shared: turns, clock: turns.clock)
    )
    await one.pause(for: .seconds(10))
    await one.pause(for: .seconds(5))
    #expect(turns.state.withLock(\.pauses) == [.seconds(10)])
    try await two.turn()
    #expect(turns.state.withLock(\.now) - begin == .seconds(10))
  }

  @Test("without a rate there are no turns to share, and a place that cannot be asked is a failure")
  func edges() async throws {
    let turns = Turns()
    let free = RateLimiter(interval: .zero, shared: turns, clock: turns.clock)
    for _ in 0..<3 { try await free.turn() }
    #expect(turns.state.withLock(\.taken) == 0)
    let lost = RateLimiter(interval: .milliseconds(1), shared: Turns(fails: true))
    await #expect(throws: HTTPError.self) { try await lost.turn() }
  }
}
