import CSimdJSON

/// Why a body is not a JSON document (RFC 8259), and where.
public struct JSONError: Error, Equatable, CustomStringConvertible {
  public enum Reason: String, Sendable {
    case empty = "the body is empty"
    case truncated = "the document ends too early"
    case invalidUTF8 = "the body is not UTF-8"
    case controlCharacter = "a string holds a control character"
    case invalidEscape = "a string holds an escape that JSON does not have"
    case invalidNumber = "a number is not written as JSON writes them"
    case invalidToken = "a word is neither true, false nor null"
    case unexpected = "a value, key, comma or bracket stands where it may not"
    case trailing = "something follows the end of the document"
    case tooDeep = "the document is nested more than 1,024 levels deep"
    case tooLarge = "the document has 4 GB or more"
    case memory = "there is not enough memory for the document"
  }

  public var reason: Reason
  /// Byte offset of the fault, counted from 0; nil where only the whole is known to be damaged.
  public var offset: Int?

  public var description: String {
    offset.map { "\(reason.rawValue) (at byte \($0))" } ?? reason.rawValue
  }

  init(_ code: csj_error, offset: Int) {
    let (reason, known): (Reason, Bool) =
      switch code {
      case CSJ_EMPTY: (.empty, false)
      case CSJ_TRUNCATED: (.truncated, true)
      case CSJ_BAD_UTF8: (.invalidUTF8, false)
      case CSJ_BAD_STRING: (.controlCharacter, false)
      case CSJ_BAD_ESCAPE: (.invalidEscape, true)
      case CSJ_BAD_NUMBER: (.invalidNumber, true)
      case CSJ_BAD_TOKEN: (.invalidToken, true)
      case CSJ_TRAILING: (.trailing, true)
      case CSJ_TOO_DEEP: (.tooDeep, true)
      case CSJ_TOO_LARGE: (.tooLarge, false)
      case CSJ_MEMORY: (.memory, false)
      default: (.unexpected, true)
      }
    self.reason = reason
    self.offset = known ? offset : nil
  }
}
