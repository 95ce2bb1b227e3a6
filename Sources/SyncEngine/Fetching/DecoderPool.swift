import JSON
import Synchronization

/// The decoders of a walk, several of which work at once: each page takes one that is free.
final class DecoderPool: Sendable {
  /// A decoder on its way from one page to the next.
  private struct Free: @unchecked Sendable {
    // Sendable: it is in the list while nobody works with it, and out of it while one task does.
    let decoder: RecordDecoder
  }

  private let plan: DecodingPlan
  private let source: RecordSource
  private let redactor: Redactor
  private let textRule: TextRule?
  private let survey: (any TableSurvey)?
  private let free = Mutex<[Free]>([])

  /// - Parameter survey: is shown the rows of each page.
  init(_ plan: EntityPlan, redactor: Redactor, textRule: TextRule?, survey: (any TableSurvey)?) {
    (self.plan, source) = (plan.decoding, plan.recordSource)
    (self.redactor, self.textRule, self.survey) = (redactor, textRule, survey)
  }

  /// What became of the records of one page.
  struct Page: Sendable {
    let rows: PageRows
    let bad: [BadRecord]
  }

  func decode(_ records: JSONValue, page: Int, _ context: RecordContext) -> Page {
    let taken = free.withLock { $0.popLast() }
    let decoder = taken?.decoder ?? RecordDecoder(plan, redactor: redactor, textRule: textRule)
    var bad: [BadRecord] = []
    let rows = decoder.decode(records, of: source, page: page, context: context) { bad.append($0) }
    survey?.compare(rows.batch)
    let back = Free(decoder: decoder)
    free.withLock { $0.append(back) }
    return Page(rows: rows, bad: bad)
  }

  /// Columns that no record had a value for; those of nested records with their table in front.
  var absentColumns: [String] {
    free.withLock { free in
      guard let first = free.first else { return [] }
      for other in free.dropFirst() { first.decoder.learn(from: other.decoder) }
      return first.decoder.absentColumns
    }
  }
}
