/// What a person typed wrong, in one sentence.
struct UsageError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// A parsed command line.
struct Invocation {
  enum Action {
    case help(CommandName?)
    case version
    case command(CommandName)
  }

  let action: Action
  private(set) var entities: [String] = []
  /// The word behind a command that takes one which is no entity.
  private(set) var operand: String?
  private var values: [CommandOption: String] = [:]

  subscript(option: CommandOption) -> String? { values[option] }

  init(parsing arguments: [String]) throws {
    guard let first = arguments.first else { throw UsageError("a command is missing: \(Self.commands)") }
    if first == "--help" || first == "-h" || first == "help" {
      action = .help(arguments.dropFirst().first.flatMap { CommandName(rawValue: $0) })
      return
    }
    if first == "--version" {
      action = .version
      return
    }
    guard let command = CommandName(rawValue: first) else {
      let known = CommandName.allCases.map(\.rawValue)
      throw UsageError(
        "there is no command \"\(first)\"\(hint(first, among: known)); there are \(Self.commands)")
    }
    let known = command.options.map(\.rawValue)
    var rest = arguments.dropFirst()
    var isHelp = false
    while let word = rest.popFirst() {
      guard word.hasPrefix("-") else {
        entities.append(word)
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let name = parts[0] == "-h" ? "--help" : parts[0]
      guard let option = CommandOption(rawValue: name), command.options.contains(option) else {
        throw UsageError(
          "\(command.rawValue) has no option \(name)\(hint(name, among: known)); there are \(known.joined(separator: ", "))"
        )
      }
      guard let value = option.value else {
        if parts.count > 1 { throw UsageError("\(name) takes no value") }
        if option == .help { isHelp = true }
        values[option] = ""
        continue
      }
      let given = parts.count > 1 ? parts[1] : rest.popFirst() ?? ""
      guard !given.isEmpty, !given.hasPrefix("--") else {
        throw UsageError("\(name) needs a value: \(name) \(value)")
      }
      values[option] = given
    }
    if let placeholder = command.operand, !isHelp {
      guard let word = entities.popLast(), entities.isEmpty else {
        throw UsageError("\(command.rawValue) needs one word behind it: \(command.rawValue) \(placeholder)")
      }
      if case .choice(let words) = Placeholder(placeholder), !words.contains(word) {
        throw UsageError(
          "\(command.rawValue) does not know \"\(word)\"\(hint(word, among: words)); there are \(words.joined(separator: ", "))"
        )
      }
      operand = word
    }
    if !command.takesEntities, let entity = entities.first, !isHelp {
      throw UsageError("\(command.rawValue) takes no entity, but \"\(entity)\" was given")
    }
    action = isHelp ? .help(command) : .command(command)
  }

  private static var commands: String { CommandName.allCases.map(\.rawValue).joined(separator: ", ") }
}

/// ` (did you mean "once"?)`, where one of the words is near.
func hint(_ word: String, among known: [String]) -> String {
  let nearest = known.map { ($0, editDistance(word.lowercased(), $0.lowercased())) }.min { $0.1 < $1.1 }
  guard let (name, distance) = nearest, distance <= max(1, word.count / 3) else { return "" }
  return " (did you mean \"\(name)\"?)"
}

/// Insertions, deletions, replacements and swaps of neighbours that make one word of the other.
private func editDistance(_ a: String, _ b: String) -> Int {
  let (a, b) = (Array(a), Array(b))
  var rows = [Array(0...b.count)]
  for i in a.indices {
    var row = [i + 1]
    for j in b.indices {
      var best = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, rows[i - 1][j - 1] + 1) }
      row.append(best)
    }
    rows.append(row)
  }
  return rows[a.count][b.count]
}
