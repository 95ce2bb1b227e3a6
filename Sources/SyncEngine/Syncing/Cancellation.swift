import Synchronization

/// Whether the task that waits for a statement has been cancelled.
package final class Cancellation: Sendable {
  private let flag = Atomic<Bool>(false)
  package init() {}
  package func cancel() { flag.store(true, ordering: .relaxed) }
  package var isCancelled: Bool { flag.load(ordering: .relaxed) }
  package func check() throws { if isCancelled { throw CancellationError() } }
}
