/// What carries one request to a server and its answer back: no retries, no redirects, no decoding.
///
/// ``CurlTransport`` is the real one. A test may bring its own to record and replay.
public protocol Transport: Sendable {
  /// - Throws: ``HTTPError``, or `CancellationError` when the task is cancelled, at once.
  func send(_ request: HTTPRequest, limits: HTTPLimits) async throws -> HTTPResponse
}
