/// A record that does not fit its mapping, with all that is needed to find it.
public struct BadRecord: Sendable, Hashable, CustomStringConvertible {
  /// Number of the page, counted from 1.
  public var page: Int
  /// Position of the record in its page, counted from 1.
  public var position: Int
  /// The record's key as far as it could be read, such as `id 5`.
  public var key: String?
  /// The column; nil where the record as a whole is at fault.
  public var column: String?
  /// Path or template of the value.
  public var path: String?
  public var reason: String
  /// The record as JSON text.
  public var record: String

  public init(
    page: Int, position: Int, key: String?, column: String?, path: String?, reason: String, record: String
  ) {
    (self.page, self.position, self.key, self.column) = (page, position, key, column)
    (self.path, self.reason, self.record) = (path, reason, record)
  }

  public var description: String {
    var text = "page \(page), record \(position)"
    if let key { text += " (\(key))" }
    if let column { text += ", field \"\(column)\"" }
    if let path, path != column { text += " at \"\(path)\"" }
    return "\(text): \(reason)"
  }
}
