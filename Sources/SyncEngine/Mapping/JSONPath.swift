import JSON

/// A path into a JSON value: keys separated by dots, array positions in brackets.
///
/// `"geometry.coordinates[0]"` is a literal of it; ``key(_:)`` is one key that may itself hold dots.
public struct JSONPath: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  enum Component: Sendable, Hashable {
    case key(String)
    case index(Int)
  }

  let components: [Component]

  /// The value itself.
  public static let root = JSONPath(components: [])

  public static func key(_ key: String) -> JSONPath { JSONPath(components: [.key(key)]) }

  /// A path below this one.
  public func appending(_ path: JSONPath) -> JSONPath { JSONPath(components: components + path.components) }

  init(components: [Component]) { self.components = components }

  /// The text of a path that cannot be read; the start of the program refuses it.
  var fault: String? {
    for case .key(let key) in components where key.isEmpty || key.contains("[") || key.contains("]") {
      return key.isEmpty
        ? "the path \"\(self)\" has an empty part" : "the path \"\(self)\" has a bracket without a position"
    }
    return nil
  }

  public init(stringLiteral value: String) { self.init(parsing: value) }

  init(parsing text: String) {
    guard !text.isEmpty else {
      components = []
      return
    }
    var components: [Component] = []
    for part in text.split(separator: ".", omittingEmptySubsequences: false) {
      var key = part
      var indexes: [Int] = []
      while key.hasSuffix("]"), let open = key.lastIndex(of: "["),
        let index = Int(key[key.index(after: open)...].dropLast()), index >= 0
      {
        indexes.insert(index, at: 0)
        key = key[..<open]
      }
      if !key.isEmpty || indexes.isEmpty { components.append(.key(String(key))) }
      components += indexes.map { .index($0) }
    }
    self.components = components
  }

  public var description: String {
    components.reduce("") { text, component in
      switch component {
      case .key(let key): text.isEmpty ? key : "\(text).\(key)"
      case .index(let index): "\(text)[\(index)]"
      }
    }
  }

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
    var walked: [Component] = []
    for component in components {
      if value.isNull { return nil }
      switch component {
      case .key(let key):
        guard value.kind == .object else { throw .wrongKind(at: Self.text(walked), found: value.kind) }
        guard let member = value.member(key) else { return nil }
        walked.append(component)
        if member.count > 1 { throw .ambiguous(Self.text(walked)) }
        value = member.value
      case .index(let index):
        guard value.kind == .array else { throw .wrongKind(at: Self.text(walked), found: value.kind) }
        guard let element = value[index] else { return nil }
        walked.append(component)
        value = element
      }
    }
    return value
  }

  private static func text(_ components: [Component]) -> String {
    JSONPath(components: components).description
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
