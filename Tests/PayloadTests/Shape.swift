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
let notYet: [String: String] = [:]
