/// HTML, to which text can only be added escaped.
///
/// ```swift
/// var html = HTMLText()
/// html.add(markup: "<b>")
/// html.add("1 < 2")                       // 1 &lt; 2
/// html.element("i", class: "late", "2 d ago")
/// ```
struct HTMLText {
  private(set) var source = ""

  /// - Parameter markup: never what came from elsewhere.
  mutating func add(markup: StaticString) {
    markup.withUTF8Buffer { source += String(decoding: $0, as: UTF8.self) }
  }

  /// Text, or an attribute's value between double quotes.
  mutating func add(_ text: String) {
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": source += "&amp;"
      case "<": source += "&lt;"
      case ">": source += "&gt;"
      case "\"": source += "&quot;"
      case "'": source += "&#39;"
      case "\n", "\t": source.unicodeScalars.append(scalar)
      // Control characters may not stand in HTML, and a page that is copied to a terminal obeys them.
      case "\u{0}"..<" ", "\u{7F}"..<"\u{A0}": source += "\u{FFFD}"
      default: source.unicodeScalars.append(scalar)
      }
    }
  }

  mutating func add(_ other: HTMLText) { source += other.source }

  /// An element with text in it, whose direction of writing is its own.
  mutating func element(_ name: StaticString, class style: StaticString = "", _ text: String) {
    open(name, style)
    add(text)
    close(name)
  }

  mutating func open(_ name: StaticString, _ style: StaticString = "") {
    source += "<\(name)"
    if style.utf8CodeUnitCount > 0 { source += " class=\"\(style)\"" }
    source += ">"
  }

  mutating func close(_ name: StaticString) { source += "</\(name)>" }

}
