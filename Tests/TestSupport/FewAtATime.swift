import Synchronization
import Testing

/// Lets few tests run at the same time, on threads of their own.
///
/// Swift Testing begins all tests of a process at once, and the servers and programs that hundreds of them start keep
/// each other from the processor.
public struct FewAtATime: SuiteTrait, TestTrait, TestScoping {
  public let isRecursive = true

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    await Self.take()
    defer { Self.giveBack() }
    try await withTaskExecutorPreference(Self.threads) { try await function() }
  }

  /// Some for the tasks of each test.
  private static let threads = TestThreads(count: 24)

  private struct State {
    var places = 6
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private static let state = Mutex(State())

  private static func take() async {
    await withCheckedContinuation { continuation in
      let isTaken = state.withLock { state in
        if state.places > 0 {
          state.places -= 1
          return true
        }
        state.waiting.append(continuation)
        return false
      }
      if isTaken { continuation.resume() }
    }
  }

  private static func giveBack() {
    state.withLock { state -> CheckedContinuation<Void, Never>? in
      if state.waiting.isEmpty {
        state.places += 1
        return nil
      }
      return state.waiting.removeFirst()
    }?.resume()
  }
}

extension Trait where Self == FewAtATime {
  /// One of few tests at a time; for each test that starts programs or talks to servers.
  public static var fewAtATime: FewAtATime { FewAtATime() }
}
