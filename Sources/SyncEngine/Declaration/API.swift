import HTTP

/// What several entities of one service share: address, authentication, rate, limits.
///
/// ```swift
/// extension API {
///   static let shop = API("shop", url: "https://api.shop.example/v2/", auth: .bearer(.environment("SHOP_TOKEN")))
/// }
/// ```
///
/// The configuration can replace the URL by the API's name (`"apis": {"shop": {"url": …}}`), so that the same
/// entities run against a test server.
public struct API: Sendable {
  public let name: String
  /// The address that entities' paths are appended to; its own path is kept.
  public var url: String
  public var auth: [Authentication]
  public var headers: HTTPHeaders
  public var rate: Rate?
  /// Requests under way at once, over all entities of the API: a walk asks ahead where it is known which pages or
  /// parents follow.
  public var concurrency: Int
  public var retry: RetryPolicy
  /// When an API that keeps failing is left alone, over all its entities.
  public var breaker: BreakerPolicy
  public var limits: HTTPLimits
  /// Origins besides the API's own that redirects and next links may lead to. They are asked without credentials.
  public var foreignOrigins: [String]
  /// Where an answer reports a failure although its status is 200. Anything there but null, false, 0, `""`, `[]` and
  /// `{}` fails the run, and the message shows it.
  ///
  /// Without a declaration a member `error` or `errors` beside the records only keeps the run from deleting.
  public var errors: [JSONPath]

  /// A bound on requests, shared by all entities of the API.
  public struct Rate: Sendable, Hashable {
    /// Time from one request's start to the next one's.
    package var interval: Duration
    public static func perSecond(_ count: Int) -> Rate { Rate(interval: .seconds(1) / max(1, count)) }
    public static func perMinute(_ count: Int) -> Rate { Rate(interval: .seconds(60) / max(1, count)) }
    /// No bound: for a server of one's own.
    public static let unlimited = Rate(interval: .zero)
  }

  public init(
    _ name: String, url: String, auth: Authentication..., headers: HTTPHeaders = [:], rate: Rate? = nil,
    concurrency: Int = 8,
    retry: RetryPolicy = RetryPolicy(), breaker: BreakerPolicy = BreakerPolicy(),
    limits: HTTPLimits = HTTPLimits(), foreignOrigins: [String] = [], errors: [JSONPath] = []
  ) {
    (self.name, self.url, self.auth, self.headers, self.rate) = (name, url, auth, headers, rate)
    self.concurrency = concurrency
    (self.retry, self.limits, self.foreignOrigins) = (retry, limits, foreignOrigins)
    (self.breaker, self.errors) = (breaker, errors)
  }
}
