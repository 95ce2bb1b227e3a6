/// Reads a netrc file: words between blanks, a word in double quotes may hold any.
///
/// libcurl could read it too, but then the engine would not know what to keep out of its messages.
enum Netrc {
  /// Login and password for a host, or those of `default`; nil if there are none.
  static func credentials(for host: String, in text: String) -> (login: String, password: String)? {
    var words = Words(text)
    var isMine = false
    var login = ""
    var password: String?
    while let word = words.next() {
      switch word {
      case "machine", "default":
        // The first entry that fits counts.
        if isMine, let password { return (login, password) }
        (login, password) = ("", nil)
        isMine = word == "default" || words.next()?.lowercased() == host
      case "login": login = words.next() ?? ""
      case "password": password = words.next()
      case "account": _ = words.next()
      case "macdef": words.skipParagraph()
      default: break
      }
    }
    return isMine ? password.map { (login, $0) } : nil
  }

  private struct Words {
    private var rest: Substring.UnicodeScalarView
    /// A `#` begins a comment only there; in a password it is a character.
    private var isAtLineStart = true

    init(_ text: String) { rest = Substring(text).unicodeScalars }

    private mutating func skipBlanks() {
      let blanks = rest.prefix(while: \.properties.isWhitespace)
      if blanks.contains("\n") { isAtLineStart = true }
      rest = rest[blanks.endIndex...]
    }

    mutating func next() -> String? {
      skipBlanks()
      while isAtLineStart && rest.first == "#" {
        rest = rest.drop { $0 != "\n" }
        skipBlanks()
      }
      isAtLineStart = false
      guard let first = rest.first else { return nil }
      guard first == "\"" else {
        let word = rest.prefix { !$0.properties.isWhitespace }
        rest = rest[word.endIndex...]
        return String(word)
      }
      var word = String.UnicodeScalarView()
      rest.removeFirst()
      while let scalar = rest.popFirst(), scalar != "\"" {
        guard scalar == "\\", let escaped = rest.popFirst() else {
          word.append(scalar)
          continue
        }
        word.append(escaped == "n" ? "\n" : escaped == "r" ? "\r" : escaped == "t" ? "\t" : escaped)
      }
      return String(word)
    }

    /// A macro ends with an empty line.
    mutating func skipParagraph() {
      var last: Unicode.Scalar = " "
      while let scalar = rest.popFirst() {
        if scalar == "\n" && last == "\n" { break }
        if scalar != "\r" { last = scalar }
      }
      isAtLineStart = true
    }
  }
}
