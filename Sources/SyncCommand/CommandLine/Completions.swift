/// The scripts that complete a program's commands, options and entities, made from the command table.
///
/// ```
/// $ source <(syncd completions bash)
/// $ syncd once b⇥        → book
/// $ syncd once --log⇥    → --log-format, and then text or json
/// ```
struct Completions {
  enum Shell: String, CaseIterable { case bash, zsh, fish }

  /// What the program is called.
  let program: String
  let entities: [String]

  func script(for shell: Shell) -> String {
    switch shell {
    case .bash: bash
    case .zsh: zsh
    case .fish: fish
    }
  }

  /// The program's name as a part of a function's name.
  var identifier: String {
    String(program.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
  }

  /// A word that bash and zsh read as it is.
  static func quoted(_ text: String) -> String {
    "'" + text.replacing("'", with: "'\\''") + "'"
  }

  /// Words behind each other, as a shell's list holds them.
  static func list(_ words: [String]) -> String {
    words.map { isPlain($0) ? $0 : quoted($0) }.joined(separator: " ")
  }

  private static func isPlain(_ word: String) -> Bool {
    !word.isEmpty && word.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }
  }
}

extension CommandName {
  /// The words that may stand behind the command: its entities, or one of a choice.
  func words(_ entities: [String]) -> [String] {
    if takesEntities { return entities }
    guard case .choice(let words)? = operand.map(Placeholder.init) else { return [] }
    return words
  }

  /// Whether a file may stand behind the command.
  var takesFile: Bool {
    if case .file? = operand.map(Placeholder.init) { true } else { false }
  }
}
