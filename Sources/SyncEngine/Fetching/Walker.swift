import HTTP
import JSON

/// Fetches and decodes all pages of an entity.
struct Walker: Sendable {
  let plan: EntityPlan
  let client: HTTPClient
  let authorizer: Authorizer
  let redactor: Redactor
  var context: PagingContext
  /// The key of the hashes that name pages; nil where nothing is kept of them.
  var hashKey: String?
  /// Which texts the store can keep; nil where it keeps all.
  var textRule: TextRule?
  /// Pages that a run has read which was ended, and those of this one.
  var journal: (any PageJournal)?
  /// From when on all pages are kept in it.
  var journalsFrom = ContinuousClock.now
  /// Pages that may be asked for with a condition; nil where nothing is kept of pages.
  var kept: KeptPages?
  var increment: Increment?
  /// The table as it is beside the walk, which is shown the rows as they come.
  var survey: (any TableSurvey)?
  /// Whether rows that the table has need not be held.
  var mayDrop = false
  /// Where rows wait for the commit; nil where none follows.
  var spool: RowSpool?
  let onProgress: @Sendable (SyncProgress) -> Void

  /// Bad records that a failing run names; it counts them all.
  static let namedBadRecords = 10

  /// What is gathered across all parts of a walk.
  struct Gathering {
    var walk = Walk()
    var ledger: WalkLedger
    var seen: SeenKeys
    let walkNumber: UInt8
    /// What the source says of the number of its records.
    var total: Int?
    var badCount = 0
    var keyBytes = KeyBytes()
    /// Pages of this part, by hash, that had no new key, and records without one.
    var keylessPages: Set<Int> = []
    var part: UInt32 = 0
    var passedOver = 0
    /// When the newest page was received, in milliseconds since 1970.
    var newest: Int64 = 0
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
    // A record may go from a parent that is still to be walked to one that has been.
    let mayShift =
      plan.source.paging.makePager(context).mayShift || parents.count > 1 && plan.mayMoveBetweenParents
    let decoders = DecoderPool(plan, redactor: redactor, textRule: textRule, survey: survey)
    let reader = BodyReader(
      plan.source.format, rows: plan.source.rows, keyMembers: plan.decoding.keyMembers, redactor: redactor)
    var gathering = Gathering(
      ledger: WalkLedger(mayShift: mayShift), seen: seen, walkNumber: number)
    if let kept { gathering.seen.index.reserve(kept.keyBytes / 2) }
    let parents = parents.map { row in
      zip(row, plan.parent?.columns ?? []).map { $0.handedOn(as: $1.type) }
    }
    // The first pages of some parents are asked for at once.
    var firstPages = queue(gathering)
    defer { firstPages.cancel() }
    for (position, parent) in parents.enumerated() {
      let first = firstPages.take(query(try firstRequest(parent), parent))
      let ahead = extent == .all ? plan.source.api.concurrency - 1 : 0
      firstPages.fetchAhead(
        try parents.dropFirst(position + 1).prefix(max(0, ahead)).map { query(try firstRequest($0), $0) })
      try await walkPages(of: parent, first, decoders, reader, &gathering, extent)
      if case .records(let limit) = extent, gathering.walk.records >= limit { break }
    }
    if gathering.badCount > 0 { try judge(&gathering) }
    if gathering.walk.resumed > 0 {
      gathering.ledger.doubt("\(gathering.walk.resumed) of its pages were read by a run that did not end")
    }
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
    if walk.records > 0, walk.notModified == 0 { walk.absentColumns = decoders.absentColumns }
    seen = gathering.seen
    return walk
  }

  // MARK: Pages

  private func queue(_ gathering: Gathering) -> FetchQueue {
    FetchQueue(
      client: client, authorizer: authorizer, origin: plan.requests.origin,
      journal: gathering.walkNumber == 1 ? journal : nil)
  }

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
    of parent: [StoredValue], _ first: Task<FetchedPage, any Error>, _ decoders: DecoderPool,
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
    var query = query(request, parent)
    let errors = plan.source.api.errors + plan.source.errors
    var queue = queue(gathering)
    defer { queue.cancel() }
    var foreseen = ForeseenPages()
    let readsRecords = plan.source.paging.reads.map { !$0.record.isEmpty } ?? true
    var pending = first
    /// Pages that are being decoded, the first one first.
    var decoding: [DecodingPage] = []
    /// Waits for pages until so many are left. What is known of later ones is said after what is known of these.
    func settle(leaving count: Int = 0) async throws {
      while decoding.count > count {
        do { try await self.settle(decoding.removeFirst(), &gathering) } catch {
          // Nothing is said of those behind it.
          decoding.removeAll()
          throw error
        }
      }
    }

    do {
      while true {
        try Task.checkCancellation()
        let number = gathering.walk.pages + 1
        let (sent, asking) = (request, query)
        partPages += 1
        let fetched = pending
        let received: FetchedPage
        do {
          received = try await withTaskCancellationHandler {
            try await fetched.value
          } onCancel: {
            fetched.cancel()
          }
        } catch let error as HTTPError {
          throw WalkFailure(page: number, url: sent.url, quoted("\(error)"))
        }
        RunStep.next()
        let response = received.response
        if received.resumedFrom != nil { gathering.walk.resumed += 1 }
        current = response.url
        gathering.walk.pages += 1
        gathering.walk.bytes += response.bytesReceived

        var page = Page(number: partPages, status: response.status, headers: response.headers)
        let known = response.status == 304 ? asking.known : nil
        let outline = try known.map {
          try $0.outline(sent, unchangedBy: response, reads: plan.source.paging.reads ?? PageReads())
        }
        if let outline { (page.status, page.headers) = (outline.status, outline.headers) }
        let isPage = pager.isPage(status: page.status)
        if !isPage, partPages == 1, plan.source.parents?.skippedStatuses.contains(response.status) == true {
          try await settle()
          if gathering.passedOver == 0 { gathering.firstPassedOver = "\(statusText(response)) (\(sent.url))" }
          gathering.passedOver += 1
          report(page, number, sent, response, "stop: the parent is passed over", gathering)
          return
        }
        /// The run cannot go on from this answer.
        func failure(_ reason: String) async throws -> WalkFailure {
          try await settle()
          report(page, number, sent, response, "stop: it fails the run", gathering)
          return WalkFailure(page: number, url: sent.url, reason)
        }
        if gathering.walk.serverTime == nil { gathering.walk.serverTime = response.date }
        if partPages == 1, increment?.isFull == false, increment?.expired.contains(response.status) == true {
          throw IncrementExpired()
        }
        guard isPage || pager.isEnd(status: response.status, page: partPages) else {
          // What leads to the next page may be out of date where its page was not sent again.
          if gathering.walk.notModified + gathering.walk.resumed > 0,
            [400, 404, 410, 422].contains(response.status)
          {
            throw KeptPagesUnusable()
          }
          throw try await failure(statusText(response))
        }
        let repeatsBoundary = pager.repeatsBoundary
        var coming = DecodingPage(
          number: number, page: page, sent: sent, asking: asking, response: response, isPage: isPage,
          mayBeJournaled: isPage && response.status != 304 && received.resumedFrom == nil)
        var decision: PageDecision?
        /// What follows the page; the request for it is under way when this returns.
        func decide() async throws {
          let decided: PageDecision
          do { decided = try pager.decide(after: page) } catch { throw try await failure(quoted("\(error)")) }
          decision = decided
          if plan.parent == nil { gathering.total = pager.total }
          guard case .next(let next) = decided else { return }
          request = try self.request(next, parent: parent, home: home, current: current, page: number)
          try check(request, current, page: number, partPages: partPages, mayRepeat: !isPage, &asked)
          query = self.query(request, parent)
          if outline == nil, foreseen.isInUse {
            // Records may have gone from this page to one that was answered before it.
            foreseen = ForeseenPages()
            queue.fetchAhead([])
          }
          pending = queue.take(query)
          // Where it is known which pages follow, some are asked for at once.
          let room = max(0, min(plan.source.api.concurrency, plan.source.maxPages - partPages) - 1)
          var ahead = try pager.upcoming(room).map {
            self.query(
              try self.request($0, parent: parent, home: home, current: current, page: number), parent)
          }
          if ahead.isEmpty, outline != nil {
            ahead = foreseen.pages(
              after: query, partPages + 1, pager, upTo: room, reads: plan.source.paging.reads
            ) {
              next, current in
              self.query(
                try self.request(next, parent: parent, home: home, current: current, page: number), parent)
            }
          } else if !ahead.isEmpty {
            // A record may go from a page that is under way to one that was answered before it.
            gathering.ledger.mayShift = true
          }
          queue.fetchAhead(ahead)
        }

        if isPage {
          var records: JSONValue?
          if let outline {
            (page.root, page.firstRecord, page.lastRecord) = (outline.root, outline.first, outline.last)
          } else {
            let list: RecordList
            let root: JSONValue
            do { root = try reader.document(of: response).root } catch {
              throw try await failure(quoted("\(error)"))
            }
            page.root = root
            do { list = try RecordList(in: root, rows: plan.source.rows, errors: errors) } catch {
              throw try await failure(redactor.excerpt("\(error)".utf8, limit: 500))
            }
            for doubt in [reader.doubt(about: response), list.errorMember.map(carried)].compactMap(\.self) {
              gathering.ledger.doubt(doubt)
            }
            if readsRecords { (page.firstRecord, page.lastRecord) = list.ends }
            records = list.value
          }
          do { try gathering.walk.note(increment?.tokenPlace, page) } catch {
            throw try await failure(quoted("\(error)"))
          }
          // The next page is on its way while this one is decoded.
          if !pager.needsRecords && extent == .all && increment?.known == nil { try await decide() }
          if let known, let outline {
            try await settle()
            page.newKeyCount = try replay(known, outline, repeatsBoundary: repeatsBoundary, &gathering)
            page.recordCount = outline.elements
          } else if let records {
            let time = received.resumedFrom ?? Timestamp.now
            let context = RecordContext(fetchedAt: time, parent: parent)
            coming.records = DecodingPage.Records(
              value: records, fetchedAt: time, isResumed: received.resumedFrom != nil,
              repeatsBoundary: repeatsBoundary,
              task: Task { decoders.decode(records, page: number, context) })
          }
        }
        keep(coming, walkNumber: gathering.walkNumber)
        if let decision, coming.records != nil {
          // What the paging makes of the page is known: others are read while it is decoded.
          coming.decision = decision
          (coming.page, coming.isDoubtedIfEmpty) = (page, !pager.mayBeEmptyMidway)
          decoding.append(coming)
          try await settle(leaving: Self.pagesBeingDecoded)
          guard case .end(let end) = decision else { continue }
          try await settle()
          gathering.ledger.endPart(end)
          return
        }
        try await settle()
        coming.page = page
        var rows: PageRows?
        (page, rows) = try await gather(coming, &gathering)
        if isPage, try increment?.isKnown(rows) == true { decision = .end(.proven) }
        let isFull = if case .records(let limit) = extent { gathering.walk.records >= limit } else { false }
        if !isFull && decision == nil { try await decide() }
        coming.page = page
        (coming.isDoubtedIfEmpty, coming.decision) = (!pager.mayBeEmptyMidway, isFull ? nil : decision)
        conclude(coming, &gathering)
        if isFull { return }
        if case .end(let end)? = decision {
          gathering.ledger.endPart(end)
          return
        }
      }
    } catch let error where !(error is CancellationError) {
      // What is wrong with an earlier page comes first.
      try await settle()
      throw error
    }
  }

  func report(
    _ page: Page, _ number: Int, _ request: HTTPRequest, _ response: HTTPResponse, _ decision: String,
    _ gathering: Gathering
  ) {
    let walk = gathering.walk
    var progress = SyncProgress(
      entity: plan.name, pages: number, records: walk.records, total: gathering.total, bytes: walk.bytes)
    progress.step = WalkStep(
      page: number, method: request.method, url: redactor.redact("\(request.url)"),
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
}
