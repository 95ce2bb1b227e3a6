import HTTP

/// What tells one request of a walk from another.
struct RequestIdentity: Hashable {
  private let url: String
  private let headers: [String]
  private let body: [UInt8]?

  init(_ request: HTTPRequest) {
    (url, body) = (request.url.string, request.body)
    headers = request.headers.fields.map { "\($0.name): \($0.value)" }
  }

  /// All of it, for a hash.
  var text: String {
    ([url] + headers + [body.map { String(decoding: $0, as: UTF8.self) } ?? ""]).joined(separator: "\n")
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
      fetchAhead([])
      task = start(request)
    }
    current = task
    return task
  }

  /// Has the requests under way that will be taken next, and no others.
  mutating func fetchAhead(_ requests: [HTTPRequest]) {
    let wanted = requests.map { (request: RequestIdentity($0), new: $0) }
    let kept = zip(ahead, wanted).prefix { $0.request == $1.request }.count
    for (_, task) in ahead[kept...] { task.cancel() }
    ahead.removeSubrange(kept...)
    for (identity, request) in wanted[kept...] { ahead.append((identity, start(request))) }
  }

  mutating func cancel() {
    current?.cancel()
    fetchAhead([])
  }

  private func start(_ request: HTTPRequest) -> Task<HTTPResponse, any Error> {
    let (client, authorizer, origin) = (client, authorizer, origin)
    return Task {
      try await client.send(request, home: origin, authorize: authorizer.authorize, renew: authorizer.renew)
    }
  }
}
