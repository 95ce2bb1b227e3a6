/// A declaration or configuration that cannot work, found before any request.
public struct DeclarationError: Error, Sendable, CustomStringConvertible {
  /// One sentence that names the entity, the statement and what to do.
  public var message: String
  public init(_ message: String) { self.message = message }
  public var description: String { message }
}
