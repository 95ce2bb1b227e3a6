/// Text with values in it: `"{thumbnail.path}.{thumbnail.extension}"`. `{{` and `}}` stand for single braces.
struct Template: Sendable, Hashable, CustomStringConvertible {
  enum Part: Sendable, Hashable {
    case literal(String)
    case path(JSONPath)
  }

  let parts: [Part]
  let description: String
  /// Why the template cannot be read; the start of the program refuses it.
  let fault: String?

  init(_ text: String) {
    description = text
    var parts: [Part] = []
    var literal = ""
    var fault: String?
    var rest = Substring(text)
    while let character = rest.popFirst() {
      if (character == "{" || character == "}") && rest.first == character {
        literal.append(character)
        rest.removeFirst()
      } else if character == "{" {
        guard let close = rest.firstIndex(of: "}") else {
          fault = "the template \"\(text)\" has an opening brace without a closing one"
          break
        }
        if !literal.isEmpty { parts.append(.literal(literal)) }
        literal = ""
        let name = String(rest[..<close])
        let path = JSONPath(parsing: name)
        fault =
          fault ?? path.fault ?? (name.isEmpty ? "the template \"\(text)\" has empty braces" : nil)
          ?? (name.contains("{") ? "the template \"\(text)\" has a brace inside of braces" : nil)
        parts.append(.path(path))
        rest = rest[rest.index(after: close)...]
      } else if character == "}" {
        fault = "the template \"\(text)\" has a closing brace without an opening one"
      } else {
        literal.append(character)
      }
    }
    if !literal.isEmpty { parts.append(.literal(literal)) }
    self.parts = parts
    self.fault = fault
  }

  /// Text that is data: it holds no values, whatever its braces look like.
  init(literal text: String) {
    (description, fault) = (text, nil)
    parts = text.isEmpty ? [] : [.literal(text)]
  }

  var paths: [JSONPath] {
    parts.compactMap { if case .path(let path) = $0 { path } else { nil } }
  }
}
