import HTTP
import SyncEngine

/// An API of the entities that are looked at, with the address that the configuration gives it.
struct APIUnderCheck: Sendable {
  let api: API
  /// Those that are asked of it.
  let entities: [any Entity.Type]
  var name: String { api.name }

  static func all(of entities: [any Entity.Type], urls: [String: String]) -> [APIUnderCheck] {
    var found: [APIUnderCheck] = []
    for entity in entities {
      var api = entity.source.api
      if found.contains(where: { $0.name == api.name }) { continue }
      if let url = urls[api.name] { api.url = url }
      found.append(APIUnderCheck(api: api, entities: entities.filter { $0.source.api.name == api.name }))
    }
    return found
  }
}

/// What came of one request to an API, without credentials, and of a look at its certificate.
struct APIAnswer: Sendable {
  let api: APIUnderCheck
  var findings: [Finding] = []
  /// How far the server's clock is before this one, in milliseconds; nil where it did not tell.
  var clockDifference: Int64?

  /// Asks all at the same time.
  static func ask(_ apis: [APIUnderCheck]) async -> [APIAnswer] {
    let transport = CurlTransport()
    return await withTaskGroup(of: (Int, APIAnswer).self) { group in
      for (index, api) in apis.enumerated() { group.addTask { (index, await ask(api, transport)) } }
      var answers: [(Int, APIAnswer)] = []
      for await answer in group { answers.append(answer) }
      return answers.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  private static func ask(_ api: APIUnderCheck, _ transport: CurlTransport) async -> APIAnswer {
    var answer = APIAnswer(api: api)
    let subject = "API \(api.name)"
    let url: HTTPURL
    do { url = try api.api.bareAddress() } catch {
      answer.findings = [Finding(.failure, subject, error.message, advice: "correct its url")]
      return answer
    }
    let tls = api.api.tlsFiles
    do {
      let (status, milliseconds, difference) = try await head(url, tls, transport)
      answer.findings = [Finding(.ok, subject, "\(url.origin) answers (HTTP \(status), \(milliseconds) ms)")]
      answer.clockDifference = difference
    } catch {
      answer.findings = [
        Finding(
          .failure, subject, "\(url.origin) gives no answer: \(error)",
          advice:
            "see whether this machine has a network and resolves names (curl -I \(url.origin)), whether a proxy or firewall is between, and whether the service is up; runs try again by themselves"
        )
      ]
    }
    if url.origin.scheme == "https" {
      answer.findings += [await CertificateCheck.server(of: api, url, tls)].compactMap(\.self)
    }
    return answer
  }

  private static func head(
    _ url: HTTPURL, _ tls: TLSFiles?, _ transport: CurlTransport
  ) async throws -> (status: Int, milliseconds: Int, clockDifference: Int64?) {
    let limits = HTTPLimits(connect: .seconds(10), idle: .seconds(10), total: .seconds(15), body: 64 << 10)
    var request = HTTPRequest("HEAD", url: url)
    request.tls = tls
    var begun = Timestamp.now
    let response: HTTPResponse
    do { response = try await transport.send(request, limits: limits) } catch let error as HTTPError {
      if error.kind == .permanent { throw error }
      // Some servers never answer a HEAD.
      request.method = "GET"
      begun = Timestamp.now
      response = try await transport.send(request, limits: limits)
    }
    let ended = Timestamp.now
    // What a cache has kept is dated when it was made (RFC 9111 §5.1).
    let age = response.headers["Age"].flatMap { Int64($0) } ?? 0
    let difference = response.date.map { $0 + max(0, min(age, 1 << 31)) * 1000 - (begun + ended) / 2 }
    return (response.status, Int(ended - begun), difference)
  }
}
