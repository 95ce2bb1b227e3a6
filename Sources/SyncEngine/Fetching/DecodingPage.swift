import HTTP
import JSON

/// A page whose records are being decoded beside the walk, which takes the rows over in the order of the pages.
struct DecodingPage {
  /// Counted from 1, over all parents.
  let number: Int
  var page: Page
  let sent: HTTPRequest
  let asking: PageQuery
  let response: HTTPResponse
  /// Whether it is a page, and not the answer behind the last one.
  let isPage: Bool
  /// Whether a run that goes on from this one could take the answer.
  let mayBeJournaled: Bool
  /// Nil where it has none, or they are those of an earlier run.
  var records: Records?
  /// What the paging makes of the page; nil where the walk ends for another reason.
  var decision: PageDecision?
  /// Whether an empty page before others is a doubt.
  var isDoubtedIfEmpty = false

  struct Records {
    let value: JSONValue
    let fetchedAt: Int64
    let isResumed: Bool
    let repeatsBoundary: Bool
    let task: Task<DecoderPool.Page, Never>
  }
}

extension Walker {
  /// Pages that are being decoded while the walk reads others.
  static let pagesBeingDecoded = 2

  /// Waits for a page and takes over its rows.
  ///
  /// - Returns: the page with its counts, and its rows.
  /// - Throws: ``WalkFailure``, ``KeptPagesUnusable``, ``SpoolError``
  func gather(
    _ coming: DecodingPage, _ gathering: inout Gathering
  ) async throws -> (page: Page, rows: PageRows?) {
    var page = coming.page
    let before = gathering.walk.records
    var rows: PageRows?
    if let records = coming.records {
      let decoded = await records.task.value
      (page.recordCount, page.newKeyCount) = try gather(
        decoded, of: records.value, fetchedAt: records.fetchedAt, isResumed: records.isResumed,
        repeatsBoundary: records.repeatsBoundary, &gathering)
      rows = decoded.rows
    }
    if kept != nil, coming.response.status != 304, coming.isPage {
      let state = try keep(
        page, rows, records: gathering.walk.records - before, of: coming.asking, coming.response)
      gathering.walk.states[coming.asking.name] = .fresh(state)
      if let state { spool?.hold(state.size) }
    }
    if let rows {
      if mayDrop, survey?.holds(rows.batch) == true {
        rows.batch.drop()
        spool?.hold(rows.batch.size)
      } else {
        try spool?.keep(rows, besides: gathering.seen.index.memory)
      }
    }
    if let limit = plan.source.maxRecords, gathering.walk.records > limit {
      report(page, coming.number, coming.sent, coming.response, "stop: it fails the run", gathering)
      throw WalkFailure(
        page: coming.number, url: coming.sent.url, "more than \(limit) records came (maxRecords)")
    }
    return (page, rows)
  }

  /// Keeps the answer for a run that goes on from this one.
  func keep(_ coming: DecodingPage, walkNumber: UInt8) {
    guard coming.mayBeJournaled, walkNumber == 1, let journal,
      coming.response.duration >= Resume.quick || ContinuousClock.now >= journalsFrom,
      holdsNoSecret(coming.response)
    else { return }
    journal.append(
      FetchedPage.head(of: coming.response, at: Timestamp.now), coming.response.body, as: coming.asking.name)
  }

  /// Waits for a page of which all is known but its rows.
  func settle(_ coming: DecodingPage, _ gathering: inout Gathering) async throws {
    var coming = coming
    coming.page = try await gather(coming, &gathering).page
    conclude(coming, &gathering)
  }

  /// Says what became of a page.
  func conclude(_ coming: DecodingPage, _ gathering: inout Gathering) {
    if coming.isPage, coming.page.recordCount == 0, coming.isDoubtedIfEmpty, case .next? = coming.decision {
      gathering.ledger.doubt("page \(coming.number) is empty, but others follow")
    }
    report(
      coming.page, coming.number, coming.sent, coming.response,
      coming.decision?.description ?? "stop: enough records", gathering)
  }
}
