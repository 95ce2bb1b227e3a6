import Dispatch
import Synchronization

/// Ends what a connection does when a task is cancelled, from other threads.
///
/// A request to cancel that comes between two statements is lost, so that it is repeated; a server that does not answer is
/// left after a while.
final class Interruption: Sendable {
  private struct State {
    var canceller: Canceller?
    var isInterrupted = false
  }
  private let state = Mutex(State())
  private let isOver = Atomic(false)
  /// Held while a request is sent.
  private let sending = Mutex(())

  private static let pause = 0.1
  /// How long the server may take to end a statement, in seconds.
  private static let patience = 2.0

  func begin(_ canceller: Canceller) {
    let isInterrupted = state.withLock { state in
      state.canceller = canceller
      return state.isInterrupted
    }
    if isInterrupted { insist(canceller) }
  }

  /// From then on no request is sent: it would hit another run's statement.
  func end() {
    isOver.store(true, ordering: .sequentiallyConsistent)
    // A request to a server that does not answer hangs, and may hit what it likes there.
    if state.withLock({ $0.canceller })?.isAbandoned == false { sending.withLock { _ in } }
  }

  func interrupt() {
    let canceller = state.withLock { state in
      state.isInterrupted = true
      return state.canceller
    }
    if let canceller { insist(canceller) }
  }

  private func insist(_ canceller: Canceller) {
    request(canceller)
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) {
      if !self.isOver.load(ordering: .sequentiallyConsistent) { canceller.abandon() }
    }
  }

  private func request(_ canceller: Canceller) {
    DispatchQueue.global().async {
      let goesOn = self.sending.withLock { _ in
        if self.isOver.load(ordering: .sequentiallyConsistent) || canceller.isAbandoned { return false }
        canceller.cancel()
        return true
      }
      if goesOn {
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.pause) { self.request(canceller) }
      }
    }
  }
}
