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

/// A request for a page, with what is known of its answer.
struct PageQuery: Sendable {
  /// As the paging makes it.
  let request: HTTPRequest
  let identity: RequestIdentity
  /// Names the page in what is kept from run to run; empty where nothing is.
  let name: String
  /// What its answer was in the last proven run.
  let known: KeptPage?

  init(_ request: HTTPRequest, _ identity: RequestIdentity, name: String = "", known: KeptPage? = nil) {
    (self.request, self.identity, self.name, self.known) = (request, identity, name, known)
  }

  /// The request with a condition, where it is known what its answer was.
  var sent: HTTPRequest {
    guard let known else { return request }
    var request = request
    HTTPValidator(known.validator).condition(&request)
    return request
  }
}

/// The requests of a walk that are under way, in the order in which their answers will be wanted.
struct FetchQueue {
  private let client: HTTPClient
  private let authorizer: Authorizer
  /// What credentials belong to.
  private let origin: HTTPURL.Origin
  private var ahead: [(request: RequestIdentity, task: Task<FetchedPage, any Error>)] = []
  private var current: Task<FetchedPage, any Error>?

  /// Pages that need not be asked for.
  private let journal: (any PageJournal)?

  init(client: HTTPClient, authorizer: Authorizer, origin: HTTPURL.Origin, journal: (any PageJournal)?) {
    (self.client, self.authorizer, self.origin, self.journal) = (client, authorizer, origin, journal)
  }

  /// The answer to a request: under way already if it was foreseen, else what was foreseen is given up.
  mutating func take(_ query: PageQuery) -> Task<FetchedPage, any Error> {
    let task: Task<FetchedPage, any Error>
    if let first = ahead.first, first.request == query.identity {
      task = first.task
      ahead.removeFirst()
    } else {
      fetchAhead([])
      task = start(query)
    }
    current = task
    return task
  }

  /// Has the requests under way that will be taken next, and no others.
  mutating func fetchAhead(_ queries: [PageQuery]) {
    let kept = zip(ahead, queries).prefix { $0.request == $1.identity }.count
    for (_, task) in ahead[kept...] { task.cancel() }
    ahead.removeSubrange(kept...)
    for query in queries[kept...] { ahead.append((query.identity, start(query))) }
  }

  mutating func cancel() {
    current?.cancel()
    fetchAhead([])
  }

  private func start(_ query: PageQuery) -> Task<FetchedPage, any Error> {
    if let bytes = journal?.take(query.name), let page = FetchedPage(journaled: bytes) {
      return Task { page }
    }
    let request = query.sent
    let (client, authorizer, origin) = (client, authorizer, origin)
    return Task {
      FetchedPage(
        response: try await client.send(
          request, home: origin, authorize: authorizer.authorize, renew: authorizer.renew))
    }
  }
}
