import JSON

extension Walker {
  /// Takes over the rows of a page and notes their keys; returns the number of the list's elements, and of keys that are
  /// new.
  ///
  /// - Throws: ``KeptPagesUnusable`` where a page of an earlier run repeats a key that may have come on a newer one: the
  ///   older record would count. ``SpoolError``.
  func gather(
    _ decoded: DecoderPool.Page, of records: JSONValue, fetchedAt time: Int64, isResumed: Bool,
    repeatsBoundary: Bool, _ gathering: inout Gathering
  ) throws -> (count: Int, newKeys: Int) {
    let isOld = isResumed && time < gathering.newest
    gathering.newest = max(gathering.newest, time)
    let (rows, bad) = (decoded.rows, decoded.bad)
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
    let memory = try batch.memory()
    gathering.seen.index.close()
    let onlyKey = keyColumns.count == 1 ? keyColumns[0] : nil
    for row in 0..<batch.rowCount {
      let ordinal = batch.firstOrdinal + row
      if let isOne = onlyKey.map({ memory.row(row)[$0] }), isOne.kind == .integer,
        gathering.seen.index.append(
          rising: isOne.integer, ordinal: ordinal, walk: gathering.walkNumber, part: gathering.part)
      {
        newKeys += 1
        isAtBoundary = false
        continue
      }
      gathering.keyBytes.set(keyColumns, of: memory, row)
      let insertion = gathering.keyBytes.withBytes {
        gathering.seen.index.insert($0, ordinal: ordinal, walk: gathering.walkNumber, part: gathering.part)
      }
      switch insertion {
      case .new:
        newKeys += 1
        isAtBoundary = false
      case .duplicate(let earlier):
        if !isAtBoundary {
          if isOld { throw KeptPagesUnusable() }
          gathering.walk.duplicates += 1
        }
        gathering.supersede(earlier)
      case .duplicateOfOtherPart(let earlier):
        if isOld { throw KeptPagesUnusable() }
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
    return (count, newKeys)
  }

  /// Fails the run, or lets it go on with its bad records quarantined.
  func judge(_ gathering: inout Gathering) throws {
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
