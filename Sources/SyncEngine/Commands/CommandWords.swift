/// The words of a command in one line, quoted as in the Exec lines of a systemd unit (systemd.service(5)): blanks divide
/// words, single and double quotes hold them together, a backslash stands before a quote, a blank or another backslash, and
/// in `\n`, `\t` and `\s` (a blank). Nothing is expanded.
///
/// ```
/// pass show "shop/web token"     →   ["pass", "show", "shop/web token"]
/// ```
package enum CommandWords {
  /// Why a line cannot be read, as the end of "the command …".
  package struct Invalid: Error, CustomStringConvertible {
    package let description: String
  }

  package static func words(of line: String) throws(Invalid) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Unicode.Scalar?
    var scalars = line.unicodeScalars.makeIterator()
    func add(_ scalar: Unicode.Scalar) { word = (word ?? "") + String(scalar) }
    while let scalar = scalars.next() {
      switch scalar {
      case "\\":
        guard let next = scalars.next(), let meant = escapes[next] else {
          throw Invalid(description: #"has a backslash that stands before none of \ " ' n t s and a blank"#)
        }
        add(meant)
      case quote: quote = nil
      case "\"" where quote == nil, "'" where quote == nil:
        quote = scalar
        word = word ?? ""
      case " " where quote == nil, "\t" where quote == nil, "\n" where quote == nil:
        if let done = word { words.append(done) }
        word = nil
      default: add(scalar)
      }
    }
    guard quote == nil else { throw Invalid(description: "has a quote that does not end") }
    if let word { words.append(word) }
    guard words.first?.isEmpty == false else { throw Invalid(description: "names no program") }
    return words
  }

  /// The line that the words are read from.
  package static func line(_ words: [String]) -> String {
    words.map { word in
      let isPlain = !word.isEmpty && !word.unicodeScalars.contains { quoted.contains($0) }
      if isPlain { return word }
      var text = ""
      for scalar in word.unicodeScalars {
        switch scalar {
        case "\n": text += "\\n"
        case "\t": text += "\\t"
        case "\\", "\"": text += "\\\(scalar)"
        default: text.unicodeScalars.append(scalar)
        }
      }
      return "\"\(text)\""
    }.joined(separator: " ")
  }

  private static let quoted: Set<Unicode.Scalar> = [" ", "\t", "\n", "\"", "'", "\\"]
  private static let escapes: [Unicode.Scalar: Unicode.Scalar] = [
    "\\": "\\", "\"": "\"", "'": "'", " ": " ", "n": "\n", "t": "\t", "s": " ",
  ]
}
