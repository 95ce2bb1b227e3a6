import CCurl
import Synchronization

/// One request under way.
final class CurlTransfer: Sendable {
  private struct Shared {
    var continuation: CheckedContinuation<HTTPResponse, any Error>?
    var isCancelled = false
  }

  /// What the callbacks fill; only the transport's loop touches it.
  fileprivate final class Received {
    var body: [UInt8] = []
    var headers = HTTPHeaders()
    var errorText = [CChar](repeating: 0, count: Int(CURL_ERROR_SIZE) + 1)
    var easy: UnsafeMutableRawPointer?
    var list: UnsafeMutablePointer<curl_slist>?
    var isTooLarge = false
    var headerBytes = 0
    /// When something came last, or the request began to be sent; nil while there is no connection.
    var lastActive: ContinuousClock.Instant?
    /// Whether the protocol ends each body by itself: HTTP/2 and later.
    var hasFrames = false
    /// Whether the address that is connected to has to be public.
    var isPublicOnly = false
    /// 1 where an address was refused because it is not public.
    let refused = UnsafeMutablePointer<CInt>.allocate(capacity: 1)
    let limit: Int

    init(limit: Int) {
      self.limit = limit
      refused.initialize(to: 0)
    }

    deinit { refused.deallocate() }

    /// More than any server sends; not every libcurl bounds more than the single line.
    static let headerLimit = 256 << 10
  }

  private let request: HTTPRequest
  private let limits: HTTPLimits
  private let proxies: ProxySettings
  private let shared = Mutex(Shared())
  // Touched by the transport's loop alone, which runs on one serial queue, from makeHandle to releaseHandle.
  private nonisolated(unsafe) let received: Received

  /// - Throws: ``HTTPError`` where a public address is asked for and a proxy would connect to one that is not.
  init(_ request: HTTPRequest, _ limits: HTTPLimits, _ proxies: ProxySettings) throws(HTTPError) {
    (self.request, self.limits, self.proxies) = (request, limits, proxies)
    received = Received(limit: limits.body)
    if request.connectsToPublicOnly, proxies.proxy(for: request.url) != nil, !request.url.mayBePublic {
      throw Self.notPublic(request.url)
    }
  }

  private static func notPublic(_ url: HTTPURL) -> HTTPError {
    HTTPError(.permanent, "\(url.origin) is at no public address, so it is not connected to")
  }

  /// Takes the continuation; false when the task was cancelled before, which resumes it at once.
  func begin(_ continuation: CheckedContinuation<HTTPResponse, any Error>) -> Bool {
    let isCancelled = shared.withLock { shared in
      if !shared.isCancelled { shared.continuation = continuation }
      return shared.isCancelled
    }
    if isCancelled { continuation.resume(throwing: CancellationError()) }
    return !isCancelled
  }

  var isCancelled: Bool { shared.withLock { $0.isCancelled } }

  func cancel() {
    shared.withLock { $0.isCancelled = true }
    finish(.failure(CancellationError()))
  }

  func finish(_ result: Result<HTTPResponse, any Error>) {
    let continuation = shared.withLock { shared in
      defer { shared.continuation = nil }
      return shared.continuation
    }
    continuation?.resume(with: result)
  }

  /// - Parameter used: a handle of an earlier transfer, which knows nothing of it any more.
  func makeHandle(reusing used: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let easy = used ?? curl_easy_init() else { return nil }
    let received = received
    received.easy = easy
    ccurl_set_string(easy, CURLOPT_URL, request.url.string)
    ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1)
    // Pages of some hundred kilobytes over a fast line come in half the time with it, for want of wake-ups.
    ccurl_set_long(easy, CURLOPT_BUFFERSIZE, 256 << 10)
    ccurl_leave_lookups(easy)
    ccurl_set_long(easy, CURLOPT_PATH_AS_IS, 1)
    ccurl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
    ccurl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0)
    ccurl_set_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
    // To libcurl 0 is no limit.
    ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, limits.connect.milliseconds))
    ccurl_set_long(easy, CURLOPT_TIMEOUT_MS, max(1, limits.total.milliseconds))

    if request.connectsToPublicOnly {
      // Not left to libcurl: the proxy itself may be at any address, and is connected to for certain or not at all.
      let proxy = proxies.proxy(for: request.url)
      ccurl_set_string(easy, CURLOPT_PROXY, proxy ?? "")
      ccurl_set_string(easy, CURLOPT_NOPROXY, "")
      received.isPublicOnly = proxy == nil
      if received.isPublicOnly { ccurl_connect_to_public_only(easy, received.refused) }
    } else if request.url.origin.scheme == "http", let proxy = proxies.upperCase {
      ccurl_set_string(easy, CURLOPT_PROXY, proxy)
    }
    if let tls = request.tls { apply(tls, to: easy) }

    for field in request.headers.fields {
      // libcurl sends a field with a blank value only when it ends with a semicolon.
      let line =
        field.value.allSatisfy { $0 == " " || $0 == "\t" }
        ? "\(field.name);" : "\(field.name): \(field.value)"
      received.list = curl_slist_append(received.list, line)
    }
    if let body = request.body {
      // libcurl copies it, so it may go before the transfer does; the size has to be set first.
      ccurl_set_long(easy, CURLOPT_POSTFIELDSIZE, body.count)
      body.withUnsafeBytes {
        _ = ccurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress))
      }
      // Without a wait for "100 Continue", which many servers never send.
      received.list = curl_slist_append(received.list, "Expect:")
    }
    if request.method == "HEAD" {
      // By another way libcurl would wait for the body that the header fields speak of.
      ccurl_set_long(easy, CURLOPT_NOBODY, 1)
    } else if request.method != "GET" || request.body != nil {
      ccurl_set_string(easy, CURLOPT_CUSTOMREQUEST, request.method)
    }
    ccurl_set_list(easy, CURLOPT_HTTPHEADER, received.list)

    let context = Unmanaged.passUnretained(received).toOpaque()
    // CURLOPT_LOW_SPEED_TIME counts whole seconds and the time to connect: the transport's loop watches the limit.
    ccurl_set_pointer(easy, CURLOPT_PREREQDATA, context)
    ccurl_set_prerequest(easy) { context, address, _, _, _ in
      guard let context else { return CURL_PREREQFUNC_ABORT }
      let received = Unmanaged<Received>.fromOpaque(context).takeUnretainedValue()
      received.lastActive = .now
      // A kept connection opens no socket: one that a request without the condition made may lead anywhere.
      if received.isPublicOnly, address.map({ ccurl_is_public_text($0) != 0 }) != true {
        received.refused.pointee = 1
        return CURL_PREREQFUNC_ABORT
      }
      return CURL_PREREQFUNC_OK
    }
    ccurl_set_pointer(easy, CURLOPT_WRITEDATA, context)
    ccurl_set_write(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      let received = Unmanaged<Received>.fromOpaque(context).takeUnretainedValue()
      let length = size * count
      received.lastActive = .now
      if received.body.isEmpty, let text = received.headers["Content-Length"], let whole = Int(text),
        whole > 0
      {
        received.body.reserveCapacity(min(whole, received.limit))
      }
      guard received.body.count + length <= received.limit else {
        received.isTooLarge = true
        return 0
      }
      received.body.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: length))
      return length
    }
    ccurl_set_pointer(easy, CURLOPT_HEADERDATA, context)
    ccurl_set_write(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      let received = Unmanaged<Received>.fromOpaque(context).takeUnretainedValue()
      let length = size * count
      received.lastActive = .now
      received.headerBytes += length
      guard received.headerBytes <= Received.headerLimit else {
        received.isTooLarge = true
        return 0
      }
      received.header(UnsafeRawBufferPointer(start: bytes, count: length))
      return length
    }
    received.errorText.withUnsafeMutableBufferPointer {
      // The array is never resized, and it lives as long as `received`.
      _ = ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer($0.baseAddress))
    }
    return easy
  }

  private func apply(_ tls: TLSFiles, to easy: UnsafeMutableRawPointer) {
    if let certificate = tls.certificate {
      ccurl_set_string(easy, CURLOPT_SSLCERT, certificate)
      ccurl_set_string(easy, CURLOPT_SSLKEY, tls.key ?? certificate)
      // Without one OpenSSL would ask for it on the terminal.
      ccurl_set_string(easy, CURLOPT_KEYPASSWD, tls.keyPassword ?? "")
    }
    if let authority = tls.authority {
      ccurl_set_string(easy, CURLOPT_CAINFO, authority)
      ccurl_set_string(easy, CURLOPT_CAPATH, nil)
    }
  }

  /// Lets go of the handle, which may be used for another transfer: it has its buffers then.
  func releaseHandle() -> UnsafeMutableRawPointer? {
    let easy = received.easy
    if let easy { curl_easy_reset(easy) }
    curl_slist_free_all(received.list)
    (received.easy, received.list) = (nil, nil)
    return easy
  }

  /// When the transfer ends unless something comes before; nil while it connects, which has a limit of its own.
  var idleDeadline: ContinuousClock.Instant? { received.lastActive.map { $0 + limits.idle } }

  /// Ends a transfer whose ``idleDeadline`` is over.
  func endIdle() {
    let limit = limits.idle.milliseconds
    finish(.failure(HTTPError(.timeout, "the server was too slow: nothing came for \(limit) ms")))
  }

  func complete(_ code: CURLcode) {
    var status = 0
    if let easy = received.easy { ccurl_get_long(easy, CURLINFO_RESPONSE_CODE, &status) }
    guard code == CURLE_OK else { return finish(.failure(error(code))) }
    var response = HTTPResponse(
      status: status, headers: received.headers, body: received.body, url: request.url)
    if received.hasFrames { response.isEndKnown = true }
    finish(.success(response))
  }

  private func error(_ code: CURLcode) -> HTTPError {
    let end = received.errorText.firstIndex(of: 0) ?? 0
    let detail = String(decoding: received.errorText[..<end].map(UInt8.init(bitPattern:)), as: UTF8.self)
    var text = (detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail).lowercasedFirst
    // libcurl quotes a proxy that it cannot use with its user name and password.
    if text.lowercased().contains("proxy"), text.contains("@") || text.contains("%40") {
      text = "the proxy that the environment names cannot be used: its address is not one"
    }
    switch code {
    case CURLE_WRITE_ERROR where received.isTooLarge:
      let isHeader = received.headerBytes > Received.headerLimit
      return HTTPError(
        .tooLarge,
        isHeader
          ? "the header fields are larger than \(Received.headerLimit) bytes"
          : "the body is larger than the limit of \(limits.body) bytes")
    case CURLE_COULDNT_CONNECT where received.refused.pointee != 0,
      CURLE_ABORTED_BY_CALLBACK where received.refused.pointee != 0:
      return Self.notPublic(request.url)
    case CURLE_OPERATION_TIMEDOUT:
      return HTTPError(.timeout, "the server was too slow: \(text)")
    case CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_GOT_NOTHING:
      return HTTPError(.connection, "the answer was cut short: \(text)")
    case CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_SEND_ERROR,
      CURLE_SSL_CONNECT_ERROR, CURLE_PROXY:
      return HTTPError(.connection, "no connection: \(text)")
    default:
      return HTTPError(.permanent, text)
    }
  }
}

extension CurlTransfer.Received {
  fileprivate func header(_ line: UnsafeRawBufferPointer) {
    if line.starts(with: "HTTP/".utf8) {
      hasFrames = !line.starts(with: "HTTP/1".utf8)
      headers = HTTPHeaders()  // a new status line: what came before belonged to an interim answer
      return
    }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D || $0 == 0x0A }
    let value = line[(colon + 1)...].drop(while: isBlank)
    let end = value.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? value.startIndex
    headers.append(
      String(decoding: line[..<colon], as: UTF8.self), String(decoding: value[..<end], as: UTF8.self))
  }
}
