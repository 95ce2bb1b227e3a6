import HTTP

/// A row whose column waits for what its address leads to.
public struct PendingAsset: Sendable, Hashable {
  public let key: [StoredValue]
  public let address: String
  /// What came with the bytes that are there, if they came from this address.
  public let validator: String?

  public init(key: [StoredValue], address: String, validator: String?) {
    (self.key, self.address, self.validator) = (key, address, validator)
  }
}

/// What was downloaded for a row.
public struct FetchedAsset: Sendable, Hashable {
  public let key: [StoredValue]
  public let address: String
  public let bytes: [UInt8]
  public let validator: String?
}

/// What became of the downloads of a run.
public struct AssetReport: Sendable, Hashable {
  public var fetched = 0
  /// Asked for and found to be the same.
  public var unchanged = 0
  public var failed = 0
  /// Why the first one failed, and whether others were not even asked for.
  public var failure: String?

  public init() {}
}

/// Downloads what addresses in a table lead to: without credentials, and never failing the rows.
struct AssetFetcher: Sendable {
  let client: HTTPClient
  /// The API's own host: where it is, private addresses may be as well.
  let home: HTTPURL.Origin
  let concurrency: Int
  let redactor: Redactor

  private enum Outcome: Sendable {
    case fetched([UInt8], validator: String?)
    case unchanged
    case failed(String)
    /// Not asked for, since the origin is given up.
    case skipped(String)
  }

  /// Ends early where the task is cancelled or nothing can be saved: what is left counts as failed.
  ///
  /// - Parameter save: is given what was downloaded, some rows at a time.
  func fetch(
    _ pending: [PendingAsset], _ asset: Asset, save: ([FetchedAsset]) async throws -> Void
  ) async -> AssetReport {
    var report = AssetReport()
    do { try await fetch(pending, asset, &report, save) } catch {
      let reason = error is CancellationError ? "the run was stopped" : "\(error)"
      report.failure = report.failure ?? reason
    }
    report.failed = pending.count - report.fetched - report.unchanged
    report.failure = report.failure.map { redactor.excerpt($0.utf8, limit: 300) }
    return report
  }

  private func fetch(
    _ pending: [PendingAsset], _ asset: Asset, _ report: inout AssetReport,
    _ save: ([FetchedAsset]) async throws -> Void
  ) async throws {
    var waiting: [FetchedAsset] = []
    var firstSkipped: String?
    defer {
      if let firstSkipped { report.failure = report.failure.map { "\($0); \(firstSkipped)" } ?? firstSkipped }
    }
    let silent = SilentOrigins()
    // Rows that share an address share its download.
    let byAddress = Dictionary(grouping: pending, by: \.address)
    var addresses = byAddress.keys.sorted()[...]
    try await withThrowingTaskGroup(of: (String, Outcome).self) { group in
      func startNext() {
        guard let address = addresses.popFirst(), let rows = byAddress[address] else { return }
        // Unchanged has to be right for each of the rows.
        let validators = Set(rows.map(\.validator))
        let validator = validators.count == 1 ? rows[0].validator : nil
        group.addTask { (address, try await download(address, validator, asset, silent)) }
      }
      for _ in 0..<max(1, concurrency) { startNext() }
      while let (address, outcome) = try await group.next() {
        startNext()
        let rows = byAddress[address] ?? []
        switch outcome {
        case .unchanged: report.unchanged += rows.count
        case .failed(let reason):
          report.failure = report.failure ?? "\(HTTPURL.withoutUser(address)): \(reason)"
        case .skipped(let reason): firstSkipped = firstSkipped ?? reason
        case .fetched(let bytes, let validator):
          waiting += rows.map {
            FetchedAsset(key: $0.key, address: address, bytes: bytes, validator: validator)
          }
        }
        // Memory stays bounded: 8 MB, or 100 rows, are written at once.
        if waiting.count >= 100 || waiting.reduce(0, { $0 + $1.bytes.count }) > 8 << 20 {
          try await save(waiting)
          report.fetched += waiting.count
          waiting = []
        }
      }
    }
    if !waiting.isEmpty { try await save(waiting) }
    report.fetched += waiting.count
  }

  private func download(
    _ address: String, _ known: String?, _ asset: Asset, _ silent: SilentOrigins
  ) async throws -> Outcome {
    do {
      var url = try HTTPURL(address)
      for _ in 0...client.maxRedirects {
        var request = HTTPRequest(url: url)
        // A source may name any address: only the API's own host may lie in a private network.
        request.connectsToPublicOnly = url.origin.host != home.host
        if let known { HTTPValidator(known).condition(&request) }
        if silent.isGivenUp(url.origin) {
          return .skipped(
            "others of \(url.origin) were not asked for, since \(SilentOrigins.limit) in a row got no answer")
        }
        let response = try await send(request, asset, silent)
        if let location = response.headers["Location"], [301, 302, 303, 307, 308].contains(response.status) {
          let target = try url.resolving(location)
          if url.origin.scheme == "https" && target.origin.scheme == "http" {
            return .failed("a redirect leads from https to http")
          }
          url = target
          continue
        }
        if response.status == 304, known != nil { return .unchanged }
        guard response.status == 200 else { return .failed("HTTP \(response.status)") }
        return .fetched(response.body, validator: HTTPValidator(of: response.headers)?.text)
      }
      return .failed("more than \(client.maxRedirects) redirects")
    } catch is CancellationError {
      throw CancellationError()
    } catch { return .failed("\(error)") }
  }

  private func send(
    _ request: HTTPRequest, _ asset: Asset, _ silent: SilentOrigins
  ) async throws -> HTTPResponse {
    let origin = request.url.origin
    guard origin != home else { return try await client.send(request, limits: limits(asset)) }
    var client = client
    // The API's limits are for its own servers.
    client.limiter = nil
    do {
      let response = try await client.send(request, limits: limits(asset))
      silent.record(origin, isSilent: false)
      return response
    } catch let error as HTTPError {
      silent.record(origin, isSilent: error.kind == .connection || error.kind == .timeout)
      throw error
    }
  }

  private func limits(_ asset: Asset) -> HTTPLimits {
    var limits = client.limits
    limits.body = min(limits.body, asset.limit)
    return limits
  }
}
