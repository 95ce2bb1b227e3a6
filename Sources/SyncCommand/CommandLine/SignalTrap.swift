import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Hears signals. The first one that stops is a request; a second one ends the process at once, and so does the end of the
/// time that stopping may take: the store is left as after any other death of the process.
final class SignalTrap: Sendable {
  /// A service is killed by its manager after 90 s or 10 s; people wait less.
  static let patience = DispatchTimeInterval.milliseconds(4500)

  private let first = Atomic<Int32>(0)
  // Written once, before the sources are resumed, and only kept alive from then on.
  private nonisolated(unsafe) var sources: [any DispatchSourceSignal] = []

  /// The signal that stopped the program.
  var received: Int32? {
    let signal = first.load(ordering: .relaxed)
    return signal == 0 ? nil : signal
  }

  /// - Parameters:
  ///   - others: what else is heard; SIGHUP stops unless it is among these.
  ///   - lateStatus: the process's status, by the signal, where stopping takes too long.
  init(
    others: [Int32: @Sendable () -> Void] = [:], lateStatus: @escaping @Sendable (Int32) -> Int32,
    stop: @escaping @Sendable () -> Void
  ) {
    // A closed pipe is seen where it is written to.
    signal(SIGPIPE, SIG_IGN)
    for number in [SIGTERM, SIGINT, SIGHUP] where others[number] == nil {
      hear(number) { [weak self] in
        guard let self else { return }
        if self.first.exchange(number, ordering: .relaxed) != 0 { _exit(128 + number) }
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { _exit(lateStatus(number)) }
        stop()
      }
    }
    for (number, handler) in others { hear(number, handler) }
    for source in sources { source.resume() }
  }

  private func hear(_ number: Int32, _ handler: @escaping @Sendable () -> Void) {
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler(handler: handler)
    sources.append(source)
  }
}
