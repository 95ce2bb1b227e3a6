import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Turns the first SIGTERM, SIGINT or SIGHUP into a request to stop; a second one ends the process at once.
final class SignalTrap: Sendable {
  private let first = Atomic<Int32>(0)
  // Written once, before the sources are resumed, and only kept alive from then on.
  private nonisolated(unsafe) var sources: [any DispatchSourceSignal] = []

  /// The signal that came.
  var received: Int32? {
    let signal = first.load(ordering: .relaxed)
    return signal == 0 ? nil : signal
  }

  init(stop: @escaping @Sendable () -> Void) {
    // A closed pipe is seen where it is written to.
    signal(SIGPIPE, SIG_IGN)
    for number in [SIGTERM, SIGINT, SIGHUP] {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { [weak self] in
        guard let self else { return }
        if self.first.exchange(number, ordering: .relaxed) != 0 { _exit(128 + number) }
        stop()
      }
      sources.append(source)
    }
    for source in sources { source.resume() }
  }
}
