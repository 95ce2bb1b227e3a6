/// Why there is no answer, or none that can be used.
public struct HTTPError: Error, Sendable, CustomStringConvertible {
  public enum Kind: Sendable, Equatable {
    /// No connection, a broken one, or an answer cut short: worth another attempt.
    case connection
    /// One of ``HTTPLimits`` ended it: worth another attempt.
    case timeout
    /// A header field that cannot be sent: nothing was.
    case header
    /// The body is larger than allowed.
    case tooLarge
    /// The body's content encoding is unknown or damaged.
    case encoding
    /// A redirect that is not followed.
    case redirect
    /// Credentials could not be had or renewed: another attempt would end the same way.
    case credentials
    /// Not sent, since the API is known to be down (``BreakerPolicy``).
    case unavailable
    /// TLS or the address itself: another attempt would end the same way.
    case permanent
  }

  public var kind: Kind
  public var message: String
  /// How many attempts were made in all.
  public var attempts = 1

  public init(_ kind: Kind, _ message: String) { (self.kind, self.message) = (kind, message) }

  public var description: String { attempts > 1 ? "\(message) (after \(attempts) attempts)" : message }
}
