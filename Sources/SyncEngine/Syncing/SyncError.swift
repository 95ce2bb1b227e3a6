/// Why a run ended without a commit. The table is as it was.
public struct SyncError: Error, Sendable, CustomStringConvertible {
  public enum Kind: Sendable, Hashable {
    /// The source, the network or the store failed.
    case failed
    /// The guard refused the deletions; a person decides.
    case refused
    /// Another run holds the table longer than this one waits.
    case busy
  }

  public var kind: Kind
  public var entity: String
  public var message: String
  /// The number of rows that the guard did not let go.
  public var deletions: Int?
  /// What is kept of the run; nil where it did not come to have one.
  public var record: RunRecord?

  package init(
    kind: Kind, entity: String, message: String, deletions: Int? = nil, record: RunRecord? = nil
  ) {
    (self.kind, self.entity, self.message) = (kind, entity, message)
    (self.deletions, self.record) = (deletions, record)
  }

  public var description: String { "\(entity): \(message)" }
}
