import JSON

/// What decides which records an answer holds, and what is done with each before it is mapped.
struct RecordSource: Sendable {
  let rows: Rows
  var filter: RecordFilter?
  var prepare: Preparation?
  var tombstone: Tombstone?
  /// The column that the watermark is taken from, among those of a batch.
  var watermark: Int?

  /// Whether records are decoded as they stand: the loop then asks for nothing else.
  var isPlain: Bool { filter == nil && prepare == nil && tombstone == nil }
}

extension RecordDecoder {
  /// Decodes a record that passes the filter, prepared if that is declared.
  func decodeRecord(
    _ tape: JSONTape, _ record: Int, of source: RecordSource, _ context: RecordContext,
    into batch: inout RowBatchBuilder, onBad: (BadRecord) -> Void
  ) {
    guard let document else { return }
    let value = JSONValue(document: document, index: record)
    do {
      if let filter = source.filter, try !filter.passes(value) { return }
      if try source.tombstone?.isOne(value) == true {
        var context = context
        context.isTombstone = true
        context.watermark = source.watermark
        return decodeRecord(tape, record, context, into: &batch, onBad: onBad)
      }
      guard let prepare = source.prepare, value.kind == .object else {
        return decodeRecord(tape, record, context, into: &batch, onBad: onBad)
      }
      var (bytes, position, context) = (try prepare.prepared(value), 0, context)
      if context.key >= 0 {
        // The record's key stands in front of it again.
        bytes = Array("{\(tape.text(context.key)):".utf8) + bytes + [UInt8(ascii: "}")]
        (context.key, position) = (1, 2)
      }
      let prepared = try JSONDocument.parse(bytes)
      self.document = prepared
      defer { self.document = document }
      prepared.withTape { decodeRecord($0, position, context, into: &batch, onBad: onBad) }
    } catch {
      onBad(
        BadRecord(
          page: batch.page, position: context.position + 1, key: nil, column: nil, path: nil,
          reason: excerpt("\(error)"), record: rejected(tape, record)))
    }
  }
}
