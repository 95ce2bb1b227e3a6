/// Text of a manual page in the macros of man(7).
enum Roff {
  /// A paragraph in lines of at most 76 bytes where its words allow it.
  static func paragraph(_ text: String) -> String {
    var lines: [String] = []
    var line = ""
    for word in text.split(whereSeparator: \.isWhitespace).map({ escaped(String($0)) }) {
      if !line.isEmpty, line.utf8.count + 1 + word.utf8.count > 76 {
        lines.append(line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    if !line.isEmpty { lines.append(line) }
    return lines.map(guarded).joined(separator: "\n")
  }

  /// What is shown as it stands, line by line.
  static func example(_ text: String) -> String {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return ".RS 4\n.nf\n" + lines.map { guarded(escaped(String($0))) }.joined(separator: "\n") + "\n.fi\n.RE"
  }

  /// A term in bold, what may stand for its value in italics, and below it what it means.
  static func item(_ term: String, value: String? = nil, _ meaning: String) -> String {
    ".TP\n" + "\\fB\(escaped(term))\\fR" + (value.map { " \\fI\(escaped($0))\\fR" } ?? "") + "\n"
      + paragraph(meaning)
  }

  static func section(_ name: String, _ blocks: [String]) -> String {
    ".SH \(name)\n" + blocks.joined(separator: "\n")
  }

  /// An argument of a macro.
  static func argument(_ text: String) -> String { "\"\(escaped(text))\"" }

  /// The letters that roff has a meaning for, and those that a terminal could not paste back. groff_char(7)
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\e"
      case "-": result += "\\-"
      case "'": result += "\\(aq"
      case "\"": result += "\\(dq"
      case "^": result += "\\(ha"
      case "~": result += "\\(ti"
      case "`": result += "\\(ga"
      case "…": result += "..."
      default:
        if scalar.isASCII {
          result.unicodeScalars.append(scalar)
        } else {
          let digits = String(scalar.value, radix: 16, uppercase: true)
          result += "\\[u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "]"
        }
      }
    }
    return result
  }

  /// A line that begins with a dot is text all the same.
  private static func guarded(_ line: String) -> String { line.hasPrefix(".") ? "\\&" + line : line }
}
