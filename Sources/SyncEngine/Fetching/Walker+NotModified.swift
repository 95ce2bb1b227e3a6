import HTTP
import JSON

extension KeptPage {
  /// The answer as a pager sees it, its records taken for new; nil where it cannot be read.
  func page(numbered number: Int, reads: PageReads) -> Page? {
    guard let outline = PageOutline(parsing: answer, reads: reads) else { return nil }
    return Page(
      number: number, status: outline.status, headers: outline.headers, root: outline.root,
      firstRecord: outline.first, lastRecord: outline.last, recordCount: outline.elements,
      newKeyCount: outline.elements)
  }

  /// What the answer to a request was, where status 304 says that it is the same.
  func outline(
    _ request: HTTPRequest, unchangedBy response: HTTPResponse, reads: PageReads
  ) throws(KeptPagesUnusable) -> PageOutline {
    // A validator is that of one resource: what a redirect leads to is perhaps another one than it was.
    guard response.url == request.url, HTTPValidator(validator).agrees(with: response.headers),
      let outline = PageOutline(parsing: answer, reads: reads)
    else { throw KeptPagesUnusable() }
    return outline
  }
}

// Pages that are as they were (RFC 9110 §13.1.2): asked for with a condition, answered with 304.
extension Walker {
  /// Walks as ``walk(parents:seen:number:confirming:extent:)`` does, and puts what came to an earlier walk of the run.
  /// Where what is kept of pages turns out to be of no use, it walks once more without.
  mutating func walk(
    _ all: inout Walk, parents: [[StoredValue]], seen: inout SeenKeys, number: UInt8,
    confirming first: ProofOfCompleteness? = nil
  ) async throws {
    let (before, seenBefore) = (all, seen)
    do {
      try all.add(await walk(parents: parents, seen: &seen, number: number, confirming: first))
      if try kept?.isTorn(all.rows, all.states, plan.decoding.allNested) == true { throw KeptPagesUnusable() }
    } catch is KeptPagesUnusable {
      if kept != nil { kept = KeptPages() }
      restartJournal()
      (all, seen) = (before, seenBefore)
      try all.add(await walk(parents: parents, seen: &seen, number: number, confirming: first))
    }
  }

  /// Forgets what an earlier run had read; this one begins now.
  mutating func restartJournal() {
    journal?.clear()
    context.startedAt = Timestamp.now
  }

  /// Whether a page may be kept outside of the tables.
  func holdsNoSecret(_ response: HTTPResponse) -> Bool {
    guard redactor.count > 0 else { return true }
    let head = FetchedPage.head(of: response, at: 0)
    return !redactor.holdsLastingSecret(response.body)
      && redactor.withoutSecrets(head).utf8.elementsEqual(String(decoding: head, as: UTF8.self).utf8)
  }

  func query(_ request: HTTPRequest, _ parent: [StoredValue]) -> PageQuery {
    let identity = RequestIdentity(request)
    guard let hashKey, kept != nil || journal != nil else { return PageQuery(request, identity) }
    let row = parent.map { "\n\($0)" }.joined()
    let name = Digest.hmacSHA256(identity.text + row, key: hashKey)
    return PageQuery(request, identity, name: name, known: kept?.pages[name])
  }

  /// Notes the keys of a page that is as it was; returns how many of them are new.
  ///
  /// - Throws: ``KeptPagesUnusable`` where an earlier page of the run has one of its keys: this page's record would be
  ///   the one that counts, and it did not come.
  func replay(
    _ known: KeptPage, _ outline: PageOutline, repeatsBoundary: Bool, _ gathering: inout Gathering
  ) throws(KeptPagesUnusable) -> Int {
    let first = gathering.seen.nextOrdinal
    var (newKeys, keptRows, keys) = (0, 0, 0)
    var isAtBoundary = repeatsBoundary
    var isUsable = true
    // What a proven run has kept differs from page to page, but for records at the boundary of two.
    let areNew = gathering.walkNumber == 1 && !repeatsBoundary && gathering.seen.index.isUnsearched
    let isRead = PageKeys.forEach(in: known.keys) { table, integer in
      guard areNew, table == 0,
        gathering.seen.index.append(
          rising: integer, ordinal: gathering.seen.nextOrdinal, walk: gathering.walkNumber,
          part: gathering.part)
      else { return false }
      gathering.seen.nextOrdinal += 1
      (keys, newKeys, keptRows) = (keys + 1, newKeys + 1, keptRows + 1)
      return true
    } _: { table, key in
      guard table == 0 else { return gathering.seen.keepNested(key, table: table - 1) }
      keys += 1
      let position = gathering.seen.nextOrdinal
      gathering.seen.nextOrdinal += 1
      if areNew {
        newKeys += 1
        keptRows += 1
        gathering.seen.index.append(
          new: key, ordinal: position, walk: gathering.walkNumber, part: gathering.part)
        return
      }
      switch gathering.seen.index.insert(
        key, ordinal: position, walk: gathering.walkNumber, part: gathering.part)
      {
      case .new:
        newKeys += 1
        keptRows += 1
        isAtBoundary = false
      case .seenBefore(let earlier):
        newKeys += 1
        if !gathering.seen.isKept(earlier) { isUsable = false }
      case .duplicate(let earlier):
        if !isAtBoundary || !gathering.seen.isKept(earlier) { isUsable = false }
      case .duplicateOfOtherPart: isUsable = false
      }
    }
    guard isRead && isUsable else { throw KeptPagesUnusable() }
    gathering.seen.keep(first..<gathering.seen.nextOrdinal, rows: keptRows, page: known.page)
    gathering.walk.records += outline.records
    gathering.walk.notModified += 1
    gathering.walk.states[known.page] = .unchanged
    // Records that a filter passes over show no key.
    return newKeys == 0 ? max(0, outline.elements - keys) : newKeys
  }

  /// What the next run may know of a page that came in full; nil where the server gave nothing to ask by, or where there
  /// is a secret in it.
  ///
  /// - Throws: ``SpoolError``
  func keep(
    _ page: Page, _ rows: PageRows?, records: Int, of query: PageQuery, _ response: HTTPResponse
  ) throws -> KeptPage? {
    guard response.url == query.request.url, let validator = HTTPValidator(of: response.headers),
      let reads = plan.source.paging.reads
    else { return nil }
    let outline = PageOutline.text(of: page, records: records, reads: reads)
    let text = String(decoding: outline, as: UTF8.self)
    guard redactor.withoutSecrets(outline) == text,
      redactor.withoutSecrets(validator.text.utf8) == validator.text
    else { return nil }
    var keys = PageKeys()
    var key = KeyBytes()
    func append(_ batch: RowBatch, _ columns: [Int], table: Int) throws {
      // Of a row that is gone there is nothing to prove.
      let gone = table == 0 ? Set(rows?.tombstones ?? []) : []
      let memory = try batch.memory()
      for row in 0..<batch.rowCount where !gone.contains(row) {
        key.set(columns, of: memory, row)
        key.withBytes { keys.append($0, table: table) }
      }
    }
    if let rows {
      try append(rows.batch, plan.decoding.keyColumns, table: 0)
      for (table, nested) in plan.decoding.allNested.enumerated() {
        try append(rows.nested[table].batch, nested.plan.keyColumns, table: table + 1)
      }
    }
    return KeptPage(page: query.name, validator: validator.text, answer: text, keys: keys.bytes)
  }
}
