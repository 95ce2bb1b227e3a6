import FoundationEssentials
import SyncEngine

/// A run's line in the log as a JSON object: on standard output, and in what an alert is told.
struct RunLine: Encodable {
  var time: String
  var level: String
  var entity: String
  var outcome: String
  var run: String?
  var message: String?
  var pages, notModified, records, bytes, inserted, updated, unchanged, deleted, duplicates, skipped: Int?
  var downloads, failedDownloads: Int?
  var downloadFailure: String?
  var seconds: Double?

  init(_ result: RunResult, level: LogLevel, time: String) {
    (self.time, self.level, entity, outcome) = (time, level.rawValue, result.entity, result.outcome)
    (run, message) = (result.record?.run, result.message)
    switch result {
    case .committed(let report):
      let record = report.record
      (pages, records, bytes) = (record.pages, record.records, record.bytes)
      notModified = report.pagesNotModified
      (inserted, updated, unchanged) = (record.inserted, record.updated, record.unchanged)
      (deleted, duplicates, skipped) = (record.deleted, record.duplicates, record.rejected)
      seconds = (report.duration.seconds * 1000).rounded() / 1000
      if let assets = report.assets {
        (downloads, failedDownloads) = (assets.fetched, assets.failed)
        downloadFailure = assets.failure
      }
    case .failed(let error):
      if let record = error.record { seconds = Double(record.finished - record.started) / 1000 }
    }
  }
}

extension Duration {
  var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

/// One value as one line of JSON, keys in order.
func jsonLine(_ value: some Encodable) -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
}

/// A text as JSON.
func jsonText(_ text: String) -> String { jsonLine(text) }

extension StoredValue {
  /// The value as JSON: numbers where they are exact, text for what has a text form, JSON columns as they are.
  func json(as type: ColumnType) -> String {
    switch (self, type) {
    case (.null, _): "null"
    case (.integer(let value), .boolean): value == 0 ? "false" : "true"
    case (.integer(let value), .integer): String(value)
    case (.real(let value), _) where value.isFinite: jsonLine(value)
    case (.text(let value), .json): value
    default: text(as: type).map(jsonText) ?? "null"
    }
  }
}
