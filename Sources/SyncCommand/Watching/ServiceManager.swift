import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Tells systemd how the service does, in the protocol of sd_notify(3). Nothing happens where no service manager listens,
/// and nothing ever waits for one.
final class ServiceManager: Sendable {
  /// How often ``watchdog()`` is to be called: twice in the time that the manager allows, as sd_watchdog_enabled(3) advises.
  /// Nil where it does not watch this process.
  let watchdogInterval: Duration?

  private struct State {
    /// What the manager must not miss, and had no room for yet.
    var late: [String] = []
    var status = ""
  }

  private let socket: LocalSocket?
  private let state = Mutex(State())

  /// - Parameter environment: of it `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` are read.
  init(environment: [String: String]) {
    socket = environment["NOTIFY_SOCKET"].flatMap { LocalSocket($0) }
    let isWatched = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
    let limit = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
    watchdogInterval = socket != nil && isWatched && limit > 0 ? .microseconds(limit) / 2 : nil
  }

  func ready() { tell("READY=1") }

  /// Begins a reload, which ``ready()`` ends (`Type=notify-reload` in systemd.service(5)).
  func reloading() {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    tell("RELOADING=1\nMONOTONIC_USEC=\(Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000)")
  }

  func stopping() { tell("STOPPING=1") }

  func watchdog() {
    state.withLock { state in if sendLate(&state) { _ = send("WATCHDOG=1") } }
  }

  /// Shows a text in `systemctl status`: on one line, cut to 200 characters. The same text is not sent again.
  func status(_ text: String) {
    let line = String(String.UnicodeScalarView(text.unicodeScalars.prefix(200).map(\.onOneLine)))
    state.withLock { state in
      guard line != state.status, sendLate(&state), send("STATUS=\(line)") else {
        return
      }
      state.status = line
    }
  }

  private func tell(_ message: String) {
    guard socket != nil else { return }
    state.withLock { state in
      state.late.append(message)
      _ = sendLate(&state)
    }
  }

  /// Whether nothing is left that has to come first. Order counts: a datagram each.
  private func sendLate(_ state: inout State) -> Bool {
    while let message = state.late.first {
      guard send(message) else {
        // A manager that never listens is told no more than the latest.
        state.late.removeFirst(max(0, state.late.count - 8))
        return false
      }
      state.late.removeFirst()
    }
    return true
  }

  private func send(_ message: String) -> Bool { socket?.send(Array(message.utf8), waits: false) == 0 }
}

extension Unicode.Scalar {
  /// Itself, or a blank for what would end a line or steer a terminal.
  fileprivate var onOneLine: Unicode.Scalar {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: " "
    default: self
    }
  }
}
