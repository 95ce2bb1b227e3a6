import HTTP

/// What tells one request of a walk from another.
struct RequestIdentity: Hashable {
  private let url: String
  private let range: String?
  private let body: [UInt8]?

  init(_ request: HTTPRequest) {
    (url, range, body) = (request.url.string, request.headers["Range"], request.body)
  }
}

/// The requests of a walk that are under way, in the order in which their answers will be wanted.
struct FetchQueue {
  private let client: HTTPClient
  private let authorizer: Authorizer
  /// What credentials belong to.
  private let origin: HTTPURL.Origin
  private var ahead: [(request: RequestIdentity, task: Task<HTTPResponse, any Error>)] = []
  private var current: Task<HTTPResponse, any Error>?

  init(client: HTTPClient, authorizer: Authorizer, origin: HTTPURL.Origin) {
    (self.client, self.authorizer, self.origin) = (client, authorizer, origin)
  }

  /// The answer to a request: under way already if it was foreseen, else what was foreseen is given up.
  mutating func take(_ request: HTTPRequest) -> Task<HTTPResponse, any Error> {
    let task: Task<HTTPResponse, any Error>
    if let first = ahead.first, first.request == RequestIdentity(request) {
      task = first.task
      ahead.removeFirst()
    } else {
      cancelAhead()
      task = start(request)
    }
    current = task
    return task
  }

  /// Begins a request that will be taken later, behind those that are under way.
  mutating func fetchAhead(_ request: HTTPRequest) {
    let identity = RequestIdentity(request)
    if !ahead.contains(where: { $0.request == identity }) { ahead.append((identity, start(request))) }
  }

  mutating func cancel() {
    current?.cancel()
    cancelAhead()
  }

  private mutating func cancelAhead() {
    for (_, task) in ahead { task.cancel() }
    ahead = []
  }

  private func start(_ request: HTTPRequest) -> Task<HTTPResponse, any Error> {
    let (client, authorizer, origin) = (client, authorizer, origin)
    return Task { try await client.send(request, home: origin, authorize: authorizer.authorize) }
  }
}
