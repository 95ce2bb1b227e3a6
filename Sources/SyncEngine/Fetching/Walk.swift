import HTTP
import JSON

/// What a walk over all pages brought.
struct Walk: Sendable {
  /// The rows of each page.
  var rows: [PageRows] = []
  var outcome: WalkOutcome = .unproven([])
  var pages = 0
  var records = 0
  var bytes = 0
  var duplicates = 0
  var rejects: [BadRecord] = []
  /// Positions of rows whose key came again later.
  var superseded: Set<Int> = []
  var absentColumns: [String] = []
  /// Pages that were the same as at an earlier run.
  var notModified = 0
  /// Positions of rows that stand for rows which are gone.
  var tombstones: Set<Int> = []
  /// What the source handed out for the next run to ask with.
  var token: String?
  /// The source's clock when the first page was answered, in milliseconds since 1970.
  var serverTime: Int64?
  /// What the next run may know of the pages, by their names.
  var states: [String: PageState] = [:]

  /// Adds a later walk of the same run, whose outcome counts.
  ///
  /// - Throws: ``KeptPagesUnusable`` for a page that came in full and then is said to be what it was before: its rows
  ///   are not those that are kept.
  mutating func add(_ later: Walk) throws(KeptPagesUnusable) {
    for (name, state) in later.states {
      if case .fresh? = states[name], case .unchanged = state { throw KeptPagesUnusable() }
      states[name] = state
    }
    rows += later.rows
    pages += later.pages
    records += later.records
    bytes += later.bytes
    duplicates += later.duplicates
    rejects += later.rejects
    superseded.formUnion(later.superseded)
    tombstones.formUnion(later.tombstones)
    notModified += later.notModified
    (token, serverTime) = (token ?? later.token, serverTime ?? later.serverTime)
    (outcome, absentColumns) = (later.outcome, later.absentColumns)
  }
}

extension Walk {
  /// Notes what a page hands out for the next run: a header field of the first one, or what the last body says that says
  /// anything.
  mutating func note(_ place: TokenPlace?, _ page: Page) throws(PagingError) {
    guard let place, let found = try place.token(in: page, "token")?.text else { return }
    if case .header = place, token != nil { return }
    token = found
  }
}

/// How far a run is, for those who watch it.
public struct SyncProgress: Sendable, Hashable {
  public var entity: String
  public var pages = 0
  public var records = 0
  public var bytes = 0
  /// A request that is going to be repeated, and why.
  public var retry: String?
  /// The page that was read last.
  public var step: WalkStep?
}

/// What became of one page of a walk.
public struct WalkStep: Sendable, Hashable {
  /// Counted from 1, over all parents.
  public var page: Int
  public var method: String
  /// The address without what authentication adds to it.
  public var url: String
  public var status: Int
  public var attempts: Int
  public var duration: Duration
  /// Of the body, as it came over the wire.
  public var bytes: Int
  /// Records on the page, and those of them that the walk had not seen.
  public var records: Int
  public var newRecords: Int
  /// What the paging made of it, in words.
  public var decision: String
}

/// How far a walk goes.
enum WalkExtent: Sendable, Hashable {
  case all
  /// It stops behind the page on which this many records are reached, and proves nothing.
  case records(Int)
}

/// Why a walk cannot go on. Nothing of the run is committed.
struct WalkFailure: Error, CustomStringConvertible {
  let description: String

  init(page: Int, url: HTTPURL?, _ reason: String) {
    description = "page \(page)\(url.map { " (\($0))" } ?? ""): \(reason)"
  }

  init(_ description: String) { self.description = description }
}

/// Fetches and decodes all pages of an entity.
struct Walker: Sendable {
  let plan: EntityPlan
  let client: HTTPClient
  let authorizer: Authorizer
  let redactor: Redactor
  let context: PagingContext
  /// Pages that may be asked for with a condition; nil where nothing is kept of pages.
  var kept: KeptPages?
  var increment: Increment?
  let onProgress: @Sendable (SyncProgress) -> Void

  /// Bad records that a failing run names; it counts them all.
  private static let namedBadRecords = 10

  /// What is gathered across all parts of a walk.
  struct Gathering {
    var walk = Walk()
    var ledger: WalkLedger
    var seen: SeenKeys
    let walkNumber: UInt8
    var badCount = 0
    var keyBytes = KeyBytes()
    /// Pages of this part, by hash, that had no new key, and records without one.
    var keylessPages: Set<Int> = []
    var part: UInt32 = 0
    var passedOver = 0
    /// Why the first parent was passed over.
    var firstPassedOver = ""

    /// A record came for a key that an earlier position has.
    mutating func supersede(_ position: Int) {
      walk.superseded.insert(position)
      seen.supersede(position)
    }
  }

  /// Walks over the pages for each of the parents (one without columns where the source has none).
  ///
  /// - Parameters:
  ///   - seen: the keys of earlier walks of the same run; this walk's are added.
  ///   - first: the proof of an earlier walk of this run.
  ///   - extent: where to stop.
  /// - Throws: ``KeptPagesUnusable`` too.
  func walk(
    parents: [[StoredValue]], seen: inout SeenKeys, number: UInt8,
    confirming first: ProofOfCompleteness? = nil, extent: WalkExtent = .all
  ) async throws -> Walk {
    let mayShift = plan.source.paging.makePager(context).mayShift
    let decoder = RecordDecoder(plan.decoding, redactor: redactor)
    let reader = BodyReader(
      plan.source.format, rows: plan.source.rows, keyMembers: plan.decoding.keyMembers, redactor: redactor)
    var gathering = Gathering(
      ledger: WalkLedger(mayShift: mayShift), seen: seen, walkNumber: number)
    let parents = parents.map { row in
      zip(row, plan.parent?.columns ?? []).map { $0.handedOn(as: $1.type) }
    }
    // The first pages of some parents are asked for at once.
    var firstPages = FetchQueue(client: client, authorizer: authorizer, origin: plan.requests.origin)
    defer { firstPages.cancel() }
    for (position, parent) in parents.enumerated() {
      let first = firstPages.take(conditional(try firstRequest(parent), parent))
      let ahead = extent == .all ? plan.source.api.concurrency - 1 : 0
      firstPages.fetchAhead(
        try parents.dropFirst(position + 1).prefix(max(0, ahead)).map {
          conditional(try firstRequest($0), $0)
        })
      try await walkPages(of: parent, first, decoder, reader, &gathering, extent)
      if case .records(let limit) = extent, gathering.walk.records >= limit { break }
    }
    if gathering.badCount > 0 { try judge(&gathering) }
    if gathering.passedOver > 0 {
      let parents = gathering.passedOver == 1 ? "a parent was" : "\(gathering.passedOver) parents were"
      gathering.ledger.doubt("\(parents) passed over: \(gathering.firstPassedOver)")
    }
    // Between two increments it is usual, and proves nothing else than before.
    if gathering.walk.duplicates > 0, increment?.isFull != false {
      gathering.ledger.doubt("\(gathering.walk.duplicates) records came twice")
    }
    var walk = gathering.walk
    walk.outcome = gathering.ledger.outcome(confirming: first)
    if walk.records > 0, walk.notModified == 0 { walk.absentColumns = decoder.absentColumns }
    seen = gathering.seen
    return walk
  }

  // MARK: Pages

  private func begin(_ pager: any Pager) -> PageRequest {
    increment?.address.map { .address($0) } ?? pager.firstRequest()
  }

  /// The first request for a parent.
  private func firstRequest(_ parent: [StoredValue]) throws -> HTTPRequest {
    let pager = plan.source.paging.makePager(context)
    let home: HTTPRequest
    do { home = try plan.requests.request(parent: parent) } catch { throw WalkFailure(quoted("\(error)")) }
    return try request(begin(pager), parent: parent, home: home, current: home.url, page: 1)
  }

  private func walkPages(
    of parent: [StoredValue], _ first: Task<HTTPResponse, any Error>, _ decoder: RecordDecoder,
    _ reader: BodyReader, _ gathering: inout Gathering,
    _ extent: WalkExtent
  ) async throws {
    var pager = plan.source.paging.makePager(context)
    gathering.ledger.beginPart()
    gathering.part += 1
    gathering.keylessPages.removeAll()
    let home: HTTPRequest
    do { home = try plan.requests.request(parent: parent) } catch { throw WalkFailure(quoted("\(error)")) }
    var current = home.url
    // Each page has a request of its own; one that comes again is a loop (of any length).
    var asked: [RequestIdentity: Int] = [:]
    var partPages = 0
    var request = try self.request(
      begin(pager), parent: parent, home: home, current: current, page: gathering.walk.pages + 1)
    asked[RequestIdentity(request)] = 1
    let errors = plan.source.api.errors + plan.source.errors
    var queue = FetchQueue(client: client, authorizer: authorizer, origin: plan.requests.origin)
    defer { queue.cancel() }
    var pending = first

    while true {
      try Task.checkCancellation()
      let number = gathering.walk.pages + 1
      let sent = request
      partPages += 1
      let fetched = pending
      let response: HTTPResponse
      do {
        response = try await withTaskCancellationHandler {
          try await fetched.value
        } onCancel: {
          fetched.cancel()
        }
      } catch let error as HTTPError {
        throw WalkFailure(page: number, url: sent.url, quoted("\(error)"))
      }
      current = response.url
      gathering.walk.pages += 1
      gathering.walk.bytes += response.bytesReceived

      var page = Page(number: partPages, status: response.status, headers: response.headers)
      let known = response.status == 304 ? kept?[sent, parent] : nil
      let outline = try known.map {
        try $0.outline(sent, unchangedBy: response, reads: plan.source.paging.reads ?? PageReads())
      }
      if let outline { (page.status, page.headers) = (outline.status, outline.headers) }
      let isPage = pager.isPage(status: page.status)
      if !isPage, partPages == 1, plan.source.parents?.skippedStatuses.contains(response.status) == true {
        if gathering.passedOver == 0 { gathering.firstPassedOver = "\(statusText(response)) (\(sent.url))" }
        gathering.passedOver += 1
        report(page, sent, response, "stop: the parent is passed over", gathering)
        return
      }
      /// The run cannot go on from this answer.
      func failure(_ reason: String) -> WalkFailure {
        report(page, sent, response, "stop: it fails the run", gathering)
        return WalkFailure(page: number, url: sent.url, reason)
      }
      if gathering.walk.serverTime == nil { gathering.walk.serverTime = response.date }
      if partPages == 1, increment?.isFull == false, increment?.expired.contains(response.status) == true {
        throw IncrementExpired()
      }
      guard isPage || pager.isEnd(status: response.status, page: partPages) else {
        // What leads to the next page may be out of date where its page was not sent again.
        if gathering.walk.notModified > 0, [400, 404, 410, 422].contains(response.status) {
          throw KeptPagesUnusable()
        }
        throw failure(statusText(response))
      }
      let repeatsBoundary = pager.repeatsBoundary
      var decision: PageDecision?
      /// What follows the page; the request for it is under way when this returns.
      func decide() throws {
        let decided: PageDecision
        do { decided = try pager.decide(after: page) } catch { throw failure(quoted("\(error)")) }
        decision = decided
        guard case .next(let next) = decided else { return }
        request = try self.request(next, parent: parent, home: home, current: current, page: number)
        try check(request, current, page: number, partPages: partPages, mayRepeat: !isPage, &asked)
        pending = queue.take(conditional(request, parent))
        // Where it is known which pages follow, some are asked for at once.
        let room = min(plan.source.api.concurrency, plan.source.maxPages - partPages) - 1
        queue.fetchAhead(
          try pager.upcoming(max(0, room)).map {
            conditional(
              try self.request($0, parent: parent, home: home, current: current, page: number), parent)
          })
      }

      if isPage {
        var records: JSONValue?
        if let outline {
          (page.root, page.firstRecord, page.lastRecord) = (outline.root, outline.first, outline.last)
        } else {
          let list: RecordList
          let root: JSONValue
          do { root = try reader.document(of: response).root } catch { throw failure(quoted("\(error)")) }
          page.root = root
          do { list = try RecordList(in: root, rows: plan.source.rows, errors: errors) } catch {
            throw failure(redactor.excerpt("\(error)".utf8, limit: 500))
          }
          for doubt in [reader.doubt(about: response), list.errorMember.map(carried)].compactMap(\.self) {
            gathering.ledger.doubt(doubt)
          }
          (page.firstRecord, page.lastRecord) = list.ends
          records = list.value
        }
        do { try gathering.walk.note(increment?.tokenPlace, page) } catch {
          throw failure(quoted("\(error)"))
        }
        // The next page is on its way while this one is decoded.
        if !pager.needsRecords && extent == .all && increment?.known == nil { try decide() }
        if let known, let outline {
          page.newKeyCount = try replay(known, outline, repeatsBoundary: repeatsBoundary, &gathering)
          page.recordCount = outline.elements
        } else {
          let before = gathering.walk.records
          var rows: PageRows?
          if let records {
            (page.recordCount, page.newKeyCount, rows) = decode(
              records, page: number, parent: parent, repeatsBoundary: repeatsBoundary, decoder, &gathering)
          }
          if increment?.isKnown(rows) == true { decision = .end(.proven) }
          if let name = kept?.name(sent, parent) {
            gathering.walk.states[name] = .fresh(
              keep(page, rows, records: gathering.walk.records - before, of: sent, response, as: name))
          }
        }
        if let limit = plan.source.maxRecords, gathering.walk.records > limit {
          throw failure("more than \(limit) records came (maxRecords)")
        }
      }
      let isFull = if case .records(let limit) = extent { gathering.walk.records >= limit } else { false }
      if !isFull && decision == nil { try decide() }
      if isPage, page.recordCount == 0, !pager.mayBeEmptyMidway, case .next? = decision {
        gathering.ledger.doubt("page \(number) is empty, but others follow")
      }
      report(page, sent, response, isFull ? "stop: enough records" : decision?.description ?? "", gathering)
      if isFull { return }
      if case .end(let end)? = decision {
        gathering.ledger.endPart(end)
        return
      }
    }
  }

  private func report(
    _ page: Page, _ request: HTTPRequest, _ response: HTTPResponse, _ decision: String, _ gathering: Gathering
  ) {
    let walk = gathering.walk
    var progress = SyncProgress(
      entity: plan.name, pages: walk.pages, records: walk.records, bytes: walk.bytes)
    progress.step = WalkStep(
      page: walk.pages, method: request.method, url: redactor.redact("\(request.url)"),
      status: response.status,
      attempts: response.attempts, duration: response.duration, bytes: response.bytesReceived,
      records: page.recordCount, newRecords: page.newKeyCount,
      decision: redactor.excerpt(decision.utf8, limit: 300))
    onProgress(progress)
  }

  /// - Throws: ``WalkFailure`` for a request that was made already, and for one beyond the limit of pages.
  private func check(
    _ request: HTTPRequest, _ current: HTTPURL, page: Int, partPages: Int, mayRepeat: Bool,
    _ asked: inout [RequestIdentity: Int]
  ) throws {
    if let earlier = asked[RequestIdentity(request)] {
      // The page behind the last one may be asked for twice on purpose, at once, but no third time.
      guard mayRepeat && earlier == partPages else {
        throw WalkFailure(
          page: page, url: current,
          "the next page is one that was asked for already (\(request.url)): the pages go round in a loop")
      }
    }
    guard partPages < plan.source.maxPages else {
      throw WalkFailure(
        page: page, url: current,
        "the limit of \(plan.source.maxPages) pages is reached, and more are pending (maxPages)")
    }
    asked[RequestIdentity(request)] = mayRepeat ? 0 : partPages + 1
  }

  private func request(
    _ request: PageRequest, parent: [StoredValue], home: HTTPRequest, current: HTTPURL, page: Int
  ) throws -> HTTPRequest {
    switch request {
    case .items(let items):
      // What the paging says stands in place of what asks for changes.
      let others = (increment?.items ?? []).filter { other in !items.contains { $0.name == other.name } }
      do { return try plan.requests.request(parent: parent, adding: others + items) } catch {
        throw WalkFailure(page: page, url: current, quoted("\(error)"))
      }
    case .address(let text):
      let url: HTTPURL
      do { url = try current.resolving(text) } catch {
        throw WalkFailure(page: page, url: current, "the next link: \(quoted("\(error)"))")
      }
      guard url.origin == plan.requests.origin || client.foreignOrigins.contains(url.origin) else {
        throw WalkFailure(
          page: page, url: current,
          "the next link leads to another origin, \(url.origin); if that is right, declare it: foreignOrigins: [\"\(url.origin)\"]"
        )
      }
      if current.origin.scheme == "https" && url.origin.scheme == "http" {
        throw WalkFailure(page: page, url: current, "the next link leads from https to http")
      }
      var request = home
      request.url = url
      return request
    }
  }

  /// `HTTP 404 Not Found`, with what the server says about it.
  private func statusText(_ response: HTTPResponse) -> String {
    let names = [
      204: "No Content", 206: "Partial Content", 304: "Not Modified", 400: "Bad Request", 401: "Unauthorized",
      403: "Forbidden",
      404: "Not Found", 408: "Request Timeout", 410: "Gone", 422: "Unprocessable Content",
      429: "Too Many Requests",
      500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
    ]
    var text = "HTTP \(response.status)\(names[response.status].map { " \($0)" } ?? "")"
    if response.attempts > 1 { text += " (after \(response.attempts) attempts)" }
    if let wait = response.refusedWait {
      let longest = plan.source.api.retry.longestWait.components.seconds
      text +=
        ", and it asks for a wait of \(wait.components.seconds) s (Retry-After), longer than retry.longestWait (\(longest) s)"
    }
    if let said = said(by: response) { text += ": \(redactor.excerpt(said.utf8, limit: 300))" }
    return text
  }

  /// What a server says about a failure: a member of a JSON object that is there for it, or plain text.
  private func said(by response: HTTPResponse) -> String? {
    if let root = (try? JSONDocument.parse(response.body))?.root {
      return ["message", "detail", "error_description", "error", "errors", "title"].lazy
        .compactMap { root[$0] }.map { $0.string ?? $0.text }.first {
          !["null", "", "[]", "{}"].contains($0)
        }
    }
    guard response.headers["Content-Type"]?.lowercased().hasPrefix("text/plain") == true else { return nil }
    let line = String(decoding: response.body.prefix(2000), as: UTF8.self)
    return line.allSatisfy(\.isWhitespace) ? nil : line
  }

  private func carried(_ errorMember: String) -> String {
    "the answer carries \(redactor.excerpt(errorMember.utf8, limit: 120))"
  }

  /// A message that quotes the source and says at its end what is wrong.
  private func quoted(_ message: String) -> String {
    redactor.excerpt(message.utf8, limit: 500, keepingEnd: 150)
  }

  // MARK: Records

  /// Decodes a page's records and notes their keys; returns the number of the list's elements, and of keys that are
  /// new.
  private func decode(
    _ records: JSONValue, page: Int, parent: [StoredValue], repeatsBoundary: Bool, _ decoder: RecordDecoder,
    _ gathering: inout Gathering
  ) -> (count: Int, newKeys: Int, rows: PageRows) {
    var bad: [BadRecord] = []
    let rows = decoder.decode(
      records, of: plan.recordSource, page: page,
      context: RecordContext(fetchedAt: Timestamp.now, parent: parent)
    ) { bad.append($0) }
    let batch = rows.batch
    let keptBad = max(plan.source.badRecords.quarantineLimit ?? 0, Self.namedBadRecords)
    gathering.badCount += bad.count
    gathering.walk.rejects += bad.prefix(max(0, keptBad - gathering.walk.rejects.count))

    batch.firstOrdinal = gathering.seen.nextOrdinal
    gathering.seen.nextOrdinal += batch.rowCount
    for row in rows.tombstones { gathering.walk.tombstones.insert(batch.firstOrdinal + row) }
    let keyColumns = plan.decoding.keyColumns
    var newKeys = 0
    var isAtBoundary = repeatsBoundary
    for row in 0..<batch.rowCount {
      gathering.keyBytes.set(keyColumns, of: batch, row)
      let ordinal = batch.firstOrdinal + row
      let insertion = gathering.keyBytes.withBytes {
        gathering.seen.index.insert($0, ordinal: ordinal, walk: gathering.walkNumber, part: gathering.part)
      }
      switch insertion {
      case .new:
        newKeys += 1
        isAtBoundary = false
      case .duplicate(let earlier):
        if !isAtBoundary { gathering.walk.duplicates += 1 }
        gathering.supersede(earlier)
      case .duplicateOfOtherPart(let earlier):
        newKeys += 1
        gathering.walk.duplicates += 1
        gathering.supersede(earlier)
      case .seenBefore(let earlier):
        newKeys += 1
        gathering.supersede(earlier)
      }
    }
    // An element behind which a wildcard finds several records, or none, is one of the page nevertheless.
    let count = plan.source.rows.recordPath.isEmpty ? rows.recordCount : records.count
    // Bad records, and those that a filter passes over, show no key: they are new unless the very same page came
    // before.
    if newKeys == 0, count > batch.rowCount, gathering.keylessPages.insert(records.contentHash).inserted {
      newKeys = count - batch.rowCount
    }
    gathering.walk.records += rows.recordCount
    if batch.rowCount > 0 || !rows.nested.isEmpty { gathering.walk.rows.append(rows) }
    return (count, newKeys, rows)
  }

  /// Fails the run, or lets it go on with its bad records quarantined.
  private func judge(_ gathering: inout Gathering) throws {
    let count = gathering.badCount
    let named = gathering.walk.rejects.prefix(Self.namedBadRecords).map { "\n  \($0)" }.joined()
    let more = count > Self.namedBadRecords ? "\n  and \(count - Self.namedBadRecords) more" : ""
    guard let limit = plan.source.badRecords.quarantineLimit else {
      throw WalkFailure(
        "\(count) bad \(count == 1 ? "record" : "records"), nothing was written:\(named)\(more)")
    }
    guard count <= limit else {
      throw WalkFailure(
        "\(count) bad records, more than the \(limit) that may be quarantined:\(named)\(more)")
    }
    let share = plan.source.badRecords.quarantineShare
    guard Double(count) <= share * Double(gathering.walk.records) else {
      throw WalkFailure(
        "\(count) of \(gathering.walk.records) records are bad, more than the share of \(share) that may be quarantined:\(named)\(more)"
      )
    }
    gathering.ledger.doubt("\(count) \(count == 1 ? "record was" : "records were") skipped as bad")
  }
}
