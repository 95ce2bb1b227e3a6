import SyncEngine
import Testing

/// What a run says of itself, in one line.
public func line(_ report: SyncReport) -> String {
  let run = report.record
  var text =
    "\(run.entity): \(run.pages) pages, \(run.records) records, \(run.inserted) inserted, \(run.updated) updated, \(run.unchanged) unchanged, \(run.deleted) deleted"
  if run.duplicates > 0 { text += ", \(run.duplicates) duplicates" }
  if run.rejected > 0 { text += ", \(run.rejected) rejected" }
  return "\(text), \(run.outcome.rawValue)\(run.reason.map { ": \($0)" } ?? "")"
}

/// The line of a run that fails, and that of one that does not.
public func outcome(of engine: Engine, _ entity: any Entity.Type) async -> String {
  do { return line(try await engine.sync(entity)) } catch { return "\(error)" }
}

/// Checks a text against the expected one and shows both when they differ.
public func expect(_ actual: String, is expected: String, sourceLocation: SourceLocation = #_sourceLocation) {
  #expect(actual == expected, "got:\n\(actual)\nexpected:\n\(expected)", sourceLocation: sourceLocation)
}
