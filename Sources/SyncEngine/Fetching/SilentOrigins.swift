import HTTP
import Synchronization

/// Origins that have not answered several downloads in a row, so that a host that is gone does not cost its time limits
/// once for each of its files.
///
/// A ``CircuitBreaker`` counts failing statuses too, which may be those of single files, and tries again after a pause;
/// here the next run does.
final class SilentOrigins: Sendable {
  /// Downloads in a row, each with its retries.
  static let limit = 5

  private let failures = Mutex<[HTTPURL.Origin: Int]>([:])

  func isGivenUp(_ origin: HTTPURL.Origin) -> Bool {
    failures.withLock { ($0[origin] ?? 0) >= Self.limit }
  }

  /// - Parameter isSilent: whether there was no connection, or no answer in time.
  func record(_ origin: HTTPURL.Origin, isSilent: Bool) {
    failures.withLock { failures in
      // What was under way when the last one failed may still end well: then the origin is asked again.
      failures[origin] = isSilent ? (failures[origin] ?? 0) + 1 : 0
    }
  }
}
