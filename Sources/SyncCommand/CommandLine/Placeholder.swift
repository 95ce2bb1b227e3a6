/// What a word may be, read from the way that the command table writes it: `FILE`, `text|json`, `DURATION`.
enum Placeholder {
  case choice([String])
  /// A file, or what may be one.
  case file
  case other

  init(_ text: String) {
    let words = text.split(separator: "|").map(String.init)
    if words.count > 1 {
      self = .choice(words)
    } else {
      self = text == "FILE" || text == "LOCATION" ? .file : .other
    }
  }
}
