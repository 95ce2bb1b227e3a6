/// A struct whose stored properties are the columns of a table, and whose mapping fills them from JSON.
///
/// An ``Entity`` is a record with a source of its own; records without one come inside others, by ``Children`` and
/// ``Embedded``.
public protocol Record: Sendable {
  init()

  /// The name of the table: the type's name in snake case by default.
  static var table: String { get }

  /// How the JSON keys of statements that name no path are written: in snake case by default.
  static var keyStyle: KeyStyle { get }

  /// How each column is filled. The first statement is a ``Key``.
  @MappingBuilder<Self> static var mapping: Mapping<Self> { get }
}

extension Record {
  public static var table: String { snakeCased(String(describing: Self.self)) }
  public static var keyStyle: KeyStyle { .snake }
}

/// How JSON keys are made of property names.
public enum KeyStyle: Sendable, Hashable {
  /// `innerID` reads `inner_id`.
  case snake
  /// `innerID` reads `innerId`.
  case camel
  /// `innerID` reads `innerID`.
  case property

  /// - Parameter column: the column's name, which is meant where the property has none.
  func key(property: String?, column: String) -> String {
    guard let property else { return column }
    switch self {
    case .snake: return snakeCased(property)
    case .property: return property
    case .camel:
      let words = snakeCased(property).split(separator: "_", omittingEmptySubsequences: false)
      return words.enumerated().map { index, word in
        index == 0 ? String(word) : word.prefix(1).uppercased() + word.dropFirst()
      }.joined()
    }
  }
}

/// `wordCount` → `word_count`, `innerID` → `inner_id`, `HTTPRoute` → `http_route`.
func snakeCased(_ name: String) -> String {
  let characters = Array(name)
  var out = ""
  for (index, character) in characters.enumerated() {
    if character.isUppercase, index > 0 {
      let before = characters[index - 1]
      let isNextLower = index + 1 < characters.count && characters[index + 1].isLowercase
      if before.isLowercase || before.isNumber || (before.isUppercase && isNextLower) { out.append("_") }
    }
    out.append(contentsOf: character.lowercased())
  }
  return out
}
