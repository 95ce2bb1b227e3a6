import JSON

/// A path into a JSON value: keys separated by dots, array positions in brackets.
///
/// ```swift
/// "geometry.coordinates[0]"  // a member, and a position in its array
/// "tags[*].name"             // the names of all elements, as a list
/// "meta['a.b']"              // a key that holds a dot
/// "@key"                     // the record's key, where the records are the values of an object
/// "@index"                   // the record's position in its list, counted from 0
/// "@parent.id"               // a column of the parent's or owner's row
/// "@fetchedAt"               // when the page was received
/// ```
///
/// ``key(_:)`` is one key, whatever it holds.
public struct JSONPath: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  enum Component: Sendable, Hashable {
    case key(String)
    case index(Int)
    /// All elements of an array.
    case wildcard
    case builtin(Builtin)
  }

  /// What a record does not hold itself.
  enum Builtin: Sendable, Hashable {
    case recordKey, index, fetchedAt
    case parent(String)
  }

  let components: [Component]
  /// Why the text cannot be read as a path; the start of the program refuses it.
  let fault: String?

  /// The value itself.
  public static let root = JSONPath(components: [])

  public static func key(_ key: String) -> JSONPath { JSONPath(components: [.key(key)]) }

  /// A path below this one.
  public func appending(_ path: JSONPath) -> JSONPath {
    JSONPath(components: components + path.components, fault: fault ?? path.fault)
  }

  init(components: [Component], fault: String? = nil) { (self.components, self.fault) = (components, fault) }

  public init(stringLiteral value: String) { self.init(parsing: value) }

  init(parsing text: String) {
    if let builtin = Self.builtin(text) {
      self.init(components: [.builtin(builtin)])
      return
    }
    var components: [Component] = []
    var fault: String?
    // Scalars rather than characters: a combining mark must not hide a dot or a bracket.
    var rest = Substring(text).unicodeScalars
    var expectsPart = !text.isEmpty
    while let scalar = rest.first, fault == nil {
      switch scalar {
      case ".":
        if expectsPart { fault = "the path \"\(text)\" has an empty part" }
        expectsPart = true
        rest.removeFirst()
      case "[":
        guard let (component, end) = Self.bracket(rest) else {
          fault = "the path \"\(text)\" has a bracket that holds no position, no * and no quoted key"
          break
        }
        components.append(component)
        rest = rest[end...]
        expectsPart = false
      default:
        let key = rest.prefix { $0 != "." && $0 != "[" }
        if key.contains("]") { fault = "the path \"\(text)\" has a closing bracket without an opening one" }
        if !expectsPart { fault = "the path \"\(text)\" goes on behind a bracket without a dot" }
        components.append(.key(String(key)))
        rest = rest[key.endIndex...]
        expectsPart = false
      }
    }
    if expectsPart { fault = fault ?? "the path \"\(text)\" has an empty part" }
    self.init(components: components, fault: fault)
  }

  /// `[3]`, `[*]` or `['a.b']` at the beginning of a text, and where it ends.
  private static func bracket(
    _ text: Substring.UnicodeScalarView
  ) -> (Component, Substring.UnicodeScalarView.Index)? {
    let inner = text.dropFirst()
    if inner.first == "'" {
      let key = inner.dropFirst().prefix { $0 != "'" }
      let behind = text[key.endIndex...].dropFirst()
      guard key.endIndex < text.endIndex, behind.first == "]" else { return nil }
      return (.key(String(key)), text.index(after: behind.startIndex))
    }
    let content = inner.prefix { $0 != "]" }
    guard content.endIndex < text.endIndex else { return nil }
    let end = text.index(after: content.endIndex)
    if content.elementsEqual("*".unicodeScalars) { return (.wildcard, end) }
    // Written as JSON writes integers; nine digits are more than any array has elements.
    guard (1...9).contains(content.count), content.allSatisfy({ ("0"..."9").contains($0) }),
      content.first != "0" || content.count == 1, let index = Int(String(content))
    else { return nil }
    return (.index(index), end)
  }

  private static func builtin(_ text: String) -> Builtin? {
    switch text {
    case "@key": return .recordKey
    case "@index": return .index
    case "@fetchedAt": return .fetchedAt
    default:
      guard text.hasPrefix("@parent."), text.utf8.count > 8 else { return nil }
      return .parent(String(text.dropFirst(8)))
    }
  }

  /// The one thing the path names that is not in the record.
  var builtin: Builtin? {
    if case .builtin(let builtin)? = components.first { builtin } else { nil }
  }

  /// The column of `@parent.column`.
  var parentColumn: String? { if case .parent(let name)? = builtin { name } else { nil } }

  var hasWildcard: Bool { components.contains(.wildcard) }

  public var description: String { Self.text(components) }

  private static func text(_ components: [Component]) -> String {
    components.reduce("") { text, component in
      switch component {
      case .key(let key):
        key.isEmpty || key.contains { ".[]'".contains($0) }
          ? "\(text)['\(key)']" : text.isEmpty ? key : "\(text).\(key)"
      case .index(let index): "\(text)[\(index)]"
      case .wildcard: "\(text)[*]"
      case .builtin(.recordKey): "@key"
      case .builtin(.index): "@index"
      case .builtin(.fetchedAt): "@fetchedAt"
      case .builtin(.parent(let name)): "@parent.\(name)"
      }
    }
  }

  // MARK: Following a path

  /// Why a value cannot be reached.
  enum Obstacle: Error, Equatable {
    /// A key on the way stands twice in one object, so that it is not known which value is meant.
    case ambiguous(String)
    /// A scalar or the wrong container where the path goes on.
    case wrongKind(at: String, found: JSONKind)
  }

  /// The value at the path; nil where a key or position is missing, or null is on the way.
  func value(in root: JSONValue) throws(Obstacle) -> JSONValue? {
    var value = root
    for (walked, component) in components.enumerated() {
      if value.isNull { return nil }
      func wrongKind() -> Obstacle {
        .wrongKind(at: Self.text(Array(components[..<walked])), found: value.kind)
      }
      switch component {
      case .key(let key):
        guard value.kind == .object else { throw wrongKind() }
        guard let member = value.member(key) else { return nil }
        if member.count > 1 { throw .ambiguous(Self.text(Array(components[...walked]))) }
        value = member.value
      case .index(let index):
        guard value.kind == .array else { throw wrongKind() }
        guard let element = value[index] else { return nil }
        value = element
      case .wildcard, .builtin:
        // Validators refuse them where one value is meant.
        return nil
      }
    }
    return value
  }
}

extension JSONPath.Obstacle: CustomStringConvertible {
  var description: String {
    switch self {
    case .ambiguous(let path): "the key \"\(path)\" stands twice"
    case .wrongKind(let path, let found):
      path.isEmpty ? "the answer is \(found.name)" : "\"\(path)\" is \(found.name)"
    }
  }
}
