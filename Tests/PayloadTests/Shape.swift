import SyncEngine
import TestSupport
import Testing

/// One API's answers, the entity that reads them, and what has to come of it.
struct Shape: CustomTestStringConvertible, Sendable {
  /// Folder of the recorded answers.
  let folder: String
  let paging: String
  let entity: any Entity.Type
  let api: String
  let routes: [Route]
  let requests: Int
  let rows: Int
  /// A query and the text of its rows, worked out from the recorded files by hand.
  let spot: (sql: String, text: String)

  var testDescription: String { "\(folder) (\(paging))" }
}

/// What cannot be synced yet, and what it needs.
let notYet = [
  "csv": "CSV as a record source (step 3)",
  "odata-v2-atom-xml": "XML as a record source (step 3)",
  "open-meteo": "parallel arrays zipped into rows: a prepare hook for the answer (step 2)",
  "rec-kinto": "a next link in a header of its own name, Next-Page (step 3)",
  "stripe": "keyset paging by the last record's id (step 3)",
]
