import CCurl
import Dispatch
import Synchronization

/// Requests over libcurl: one connection pool and one thread for all transfers, however many run at once.
///
/// The thread exists while there are transfers. A cancelled task's transfer ends at once.
public final class CurlTransport: Transport {
  private struct State {
    var waiting: [CurlTransfer] = []
    var isRunning = false
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "syncd.curl")
  private let userAgent: String
  private let proxies: ProxySettings
  // Only the loop on `queue` touches the handle, but for curl_multi_wakeup, which is safe from any thread
  // (curl.se/libcurl/c/curl_multi_wakeup.html), and the deinit, when no loop holds `self` any more.
  private nonisolated(unsafe) let multi: UnsafeMutableRawPointer

  /// - Parameter userAgent: the User-Agent header's value.
  public convenience init(userAgent: String = "syncd") {
    self.init(userAgent: userAgent, proxies: .environment)
  }

  /// - Parameter proxies: for requests that connect to public addresses only; libcurl reads the variables for the others.
  init(userAgent: String = "syncd", proxies: ProxySettings) {
    _ = Self.globalInit
    guard let multi = curl_multi_init() else { fatalError("libcurl cannot be initialised") }
    // By itself libcurl keeps four connections for each transfer that is under way, and so closes some whenever few are,
    // only to make them again (curl.se/libcurl/c/CURLMOPT_MAXCONNECTS.html).
    ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.idleConnections)
    self.multi = multi
    (self.userAgent, self.proxies) = (userAgent, proxies)
  }

  // As with `multi`.
  private nonisolated(unsafe) var idleHandles: [UnsafeMutableRawPointer] = []

  deinit {
    for easy in idleHandles { curl_easy_cleanup(easy) }
    curl_multi_cleanup(multi)
  }

  /// Connections that wait for another request.
  private static let idleConnections = 64
  private static let idleHandles = 16

  /// Keeps the handle of a transfer that is over for another one.
  private func release(_ transfer: CurlTransfer) {
    guard let easy = transfer.releaseHandle() else { return }
    if idleHandles.count < Self.idleHandles { idleHandles.append(easy) } else { curl_easy_cleanup(easy) }
  }

  private static let globalInit = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

  public func send(_ request: HTTPRequest, limits: HTTPLimits) async throws -> HTTPResponse {
    var request = request
    if request.headers["User-Agent"] == nil { request.headers["User-Agent"] = userAgent }
    try request.headers.check()
    let transfer = try CurlTransfer(request, limits, proxies)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard transfer.begin(continuation) else { return }
        let mustStart = state.withLock { state in
          state.waiting.append(transfer)
          defer { state.isRunning = true }
          return !state.isRunning
        }
        if mustStart { queue.async { self.run() } } else { curl_multi_wakeup(multi) }
      }
    } onCancel: {
      transfer.cancel()
      curl_multi_wakeup(multi)
    }
  }

  /// Drives all transfers until none is left.
  private func run() {
    var active: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    while true {
      let added = state.withLock { state in
        defer { state.waiting = [] }
        if state.waiting.isEmpty && active.isEmpty { state.isRunning = false }
        return state.waiting
      }
      if added.isEmpty && active.isEmpty { return }
      for transfer in added {
        guard let easy = transfer.makeHandle(reusing: idleHandles.popLast()) else {
          transfer.finish(.failure(HTTPError(.permanent, "libcurl has no memory for a transfer")))
          continue
        }
        active[easy] = transfer
        curl_multi_add_handle(multi, easy)
      }
      for (easy, transfer) in active where transfer.isCancelled {
        active[easy] = nil
        curl_multi_remove_handle(multi, easy)
        release(transfer)
      }
      var running: Int32 = 0
      curl_multi_perform(multi, &running)
      var left: Int32 = 0
      while let message = curl_multi_info_read(multi, &left) {
        guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
          let transfer = active.removeValue(forKey: easy)
        else { continue }
        let code = ccurl_message_result(message)
        curl_multi_remove_handle(multi, easy)
        transfer.complete(code)
        release(transfer)
      }
      let now = ContinuousClock.now
      var pause = Duration.seconds(1)
      for (easy, transfer) in active {
        guard let deadline = transfer.idleDeadline else { continue }
        if deadline > now {
          pause = min(pause, now.duration(to: deadline))
        } else {
          active[easy] = nil
          curl_multi_remove_handle(multi, easy)
          transfer.endIdle()
          release(transfer)
        }
      }
      if !active.isEmpty { curl_multi_poll(multi, nil, 0, Int32(pause.milliseconds + 1), nil) }
    }
  }
}
