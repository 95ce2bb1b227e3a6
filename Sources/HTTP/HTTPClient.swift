#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Asks one API: retries, rate limit, redirects and content encodings, over a ``Transport``.
public struct HTTPClient: Sendable {
  public var transport: any Transport
  public var limits: HTTPLimits
  public var retry: RetryPolicy
  public var limiter: RateLimiter?
  public var breaker: CircuitBreaker?
  /// Redirects followed for one request.
  public var maxRedirects: Int
  /// Other origins that redirects may lead to; they are asked without credentials.
  public var foreignOrigins: Set<HTTPURL.Origin>
  /// Hears of each attempt that is going to be repeated.
  public var onRetry: (@Sendable (_ reason: String, _ wait: Duration) -> Void)?

  public init(
    transport: any Transport, limits: HTTPLimits = HTTPLimits(), retry: RetryPolicy = RetryPolicy(),
    limiter: RateLimiter? = nil, breaker: CircuitBreaker? = nil, maxRedirects: Int = 5,
    foreignOrigins: Set<HTTPURL.Origin> = [],
    onRetry: (@Sendable (String, Duration) -> Void)? = nil
  ) {
    (self.transport, self.limits, self.retry, self.limiter) = (transport, limits, retry, limiter)
    self.breaker = breaker
    (self.maxRedirects, self.foreignOrigins, self.onRetry) = (maxRedirects, foreignOrigins, onRetry)
  }

  /// Sends a request until there is an answer that a retry would not change, and undoes its content encoding.
  ///
  /// - Parameters:
  ///   - request: what to ask, without credentials.
  ///   - home: the origin that credentials belong to; only requests to it are authorised.
  ///   - authorize: adds the credentials; called anew for each attempt. What it asks for itself must not go through the
  ///     same limiter, of which this request holds a place.
  ///   - renew: is told of the request that its home answered with 401, and whether new credentials are there; then
  ///     the request is sent once more. Asked at most once.
  /// - Returns: the answer, whatever its status.
  /// - Throws: ``HTTPError``, or what `authorize` and `renew` throw.
  public func send(
    _ request: HTTPRequest, home: HTTPURL.Origin, authorize: (inout HTTPRequest) async throws -> Void,
    renew: ((HTTPRequest) async throws -> Bool)? = nil
  ) async throws -> HTTPResponse {
    var request = request
    var redirects = 0
    var renew = renew
    while true {
      var response = try await sendGuarded(request, home: home, authorize: authorize, renew: &renew)
      response.url = request.url
      guard [301, 302, 303, 307, 308].contains(response.status), let location = response.headers["Location"]
      else {
        do throws(HTTPError) {
          response.body = try ContentDecoding.decode(
            response.body, encodings: response.headers["Content-Encoding"], limit: limits.body)
        } catch {
          // A status without content (RFC 9110 §15.3.5) has nothing to decode, and a failure tells more by its status.
          guard response.status == 204 || !(200...299).contains(response.status) else { throw error }
          response.body = []
        }
        return response
      }
      // 307 and 308 repeat the request as it is; the others would make a GET of it (RFC 9110 §15.4), which asks for
      // something else.
      guard request.method == "GET" || [307, 308].contains(response.status) else {
        throw HTTPError(
          .redirect,
          "status \(response.status) would turn \(request.method) into GET, which asks for something else")
      }
      redirects += 1
      guard redirects <= maxRedirects else {
        throw HTTPError(.redirect, "more than \(maxRedirects) redirects")
      }
      let target: HTTPURL
      do { target = try request.url.resolving(location) } catch {
        throw HTTPError(.redirect, "a redirect that cannot be followed: \(error)")
      }
      guard target.origin == home || foreignOrigins.contains(target.origin) else {
        throw HTTPError(
          .redirect, "a redirect leads to another origin, \(target.origin), which is not declared")
      }
      if request.url.origin.scheme == "https" && target.origin.scheme == "http" {
        throw HTTPError(.redirect, "a redirect leads from https to http")
      }
      request.url = target
    }
  }

  /// Sends a request without credentials, follows no redirect, and undoes the answer's content encoding.
  ///
  /// - Throws: ``HTTPError``.
  public func send(_ request: HTTPRequest, limits: HTTPLimits) async throws -> HTTPResponse {
    var client = self
    client.limits = limits
    var renew: ((HTTPRequest) async throws -> Bool)?
    var response = try await client.sendRetrying(request, home: nil, authorize: { _ in }, renew: &renew)
    response.url = request.url
    // Only what is taken is decoded: 304 and others name an encoding, and have no content (RFC 9110 §15.4.5).
    if response.status == 200 || !response.body.isEmpty {
      response.body = try ContentDecoding.decode(
        response.body, encodings: response.headers["Content-Encoding"], limit: limits.body)
    }
    return response
  }

  /// Header fields that another origin than the API's is asked with.
  private static let harmlessFields: Set = [
    "accept", "accept-language", "content-type", "if-modified-since", "if-none-match", "range", "user-agent",
  ]

  private struct Unauthorizable: Error {
    let reason: any Error
  }

  /// One attempt, when there is room and it is its turn. Credentials are added behind both waits, so that what is bound
  /// to the time is fresh.
  private func sendOnce(
    _ request: inout HTTPRequest, authorize: (inout HTTPRequest) async throws -> Void
  ) async throws -> HTTPResponse {
    try await limiter?.begin()
    do {
      try await limiter?.turn()
      try await authorize(&request)
      let start = ContinuousClock.now
      var response = try await transport.send(request, limits: limits)
      response.duration = start.duration(to: .now)
      await limiter?.done()
      return response
    } catch {
      await limiter?.done()
      throw error
    }
  }

  /// Sends a request unless the breaker stops it, and tells the breaker what came of it.
  private func sendGuarded(
    _ request: HTTPRequest, home: HTTPURL.Origin, authorize: (inout HTTPRequest) async throws -> Void,
    renew: inout ((HTTPRequest) async throws -> Bool)?
  ) async throws -> HTTPResponse {
    guard let breaker, request.url.origin == home else {
      return try await sendRetrying(request, home: home, authorize: authorize, renew: &renew)
    }
    let isTrial = try breaker.check()
    var outcome = CircuitBreaker.Outcome.unknown
    defer { breaker.record(outcome, isTrial: isTrial) }
    do {
      let response = try await sendRetrying(request, home: home, authorize: authorize, renew: &renew)
      outcome = (500...599).contains(response.status) ? .failure("HTTP \(response.status)") : .success
      return response
    } catch {
      if let error = error as? HTTPError, retry.isRetried(error.kind) { outcome = .failure(error.message) }
      throw error
    }
  }

  private func sendRetrying(
    _ request: HTTPRequest, home: HTTPURL.Origin?, authorize: (inout HTTPRequest) async throws -> Void,
    renew: inout ((HTTPRequest) async throws -> Bool)?
  ) async throws -> HTTPResponse {
    var attempt = 0
    /// Requests sent with credentials that turned out to be void.
    var void = 0
    while true {
      var authorized = request
      // Elsewhere nothing is said that was declared for the API.
      if let home, request.url.origin != home {
        authorized.headers = HTTPHeaders(
          request.headers.fields.filter { Self.harmlessFields.contains($0.name.lowercased()) })
      }
      authorized.headers["Accept-Encoding"] = ContentDecoding.accepted
      var floor: Duration = .zero
      let reason: String
      do {
        var response = try await sendOnce(&authorized) { request in
          guard request.url.origin == home else { return }
          do { try await authorize(&request) } catch { throw Unauthorizable(reason: error) }
        }
        response.attempts = attempt + 1 + void
        if request.url.origin == home, let wait = RateLimitFields.wait(response.headers, now: time(nil)) {
          await limiter?.pause(for: min(wait, retry.longestWait))
        }
        if response.status == 401, request.url.origin == home, let ask = renew {
          renew = nil
          if try await ask(authorized) {
            void += 1
            continue
          }
        }
        guard retry.isRetried(response.status), attempt < retry.retries else { return response }
        if let field = response.headers["Retry-After"] {
          floor = RetryPolicy.retryAfter(field, now: time(nil)) ?? .zero
          if floor > retry.longestWait {
            response.refusedWait = floor
            return response
          }
          // The other requests to the API need not be told one by one.
          if request.url.origin == home { await limiter?.pause(for: floor) }
        }
        reason = "HTTP \(response.status)"
      } catch let error as Unauthorizable {
        // What is behind it made attempts of its own.
        throw error.reason
      } catch var error as HTTPError {
        guard retry.isRetried(error.kind), attempt < retry.retries else {
          // How often credentials were asked for is said by their own message.
          if error.kind != .credentials { error.attempts = attempt + 1 + void }
          throw error
        }
        reason = error.message
      }
      let wait = max(floor, retry.wait(before: attempt, fraction: .random(in: 0...1)))
      onRetry?(reason, wait)
      try await Task.sleep(for: wait)
      attempt += 1
    }
  }
}
