#if DEBUG
  import Synchronization

  #if canImport(Glibc)
    import Glibc
  #else
    import Darwin
  #endif
#endif

/// The steps of a run, at each of which a test ends the program as `kill -9` does. A release build has none of it.
package enum RunStep {
  #if DEBUG
    private static let fatal = getenv("SYNCD_KILL_STEP").flatMap { Int(String(cString: $0)) }
    private static let reached = Atomic(0)
  #endif

  /// Notes that the next step is reached.
  @inline(__always)
  package static func next() {
    #if DEBUG
      guard let fatal else { return }
      if reached.add(1, ordering: .relaxed).newValue == fatal { kill(getpid(), SIGKILL) }
    #endif
  }
}
