extension Completions {
  /// For a folder of `fish_complete_path`, or to be read by `source`.
  var fish: String {
    let name = Self.fishQuoted(program)
    let test = "__\(identifier)_command"
    func line(_ command: String, _ rest: String, _ description: String) -> String {
      let condition = Self.fishQuoted(command.isEmpty ? test : "\(test) \(command)")
      return "complete -c \(name) -n \(condition) \(rest) -d \(Self.fishQuoted(description))"
    }
    func option(_ option: CommandOption, of command: String) -> String {
      var rest = "-l \(option.rawValue.dropFirst(2))"
      switch option.value.map(Placeholder.init) {
      case .choice(let words)?: rest += " -x -a \(Self.fishQuoted(words.joined(separator: " ")))"
      case .file?: rest += " -r -F"
      case .other?: rest += " -x"
      case nil: break
      }
      return line(command, rest, option.summary)
    }

    var lines: [String] = []
    for command in CommandName.allCases {
      lines.append(line("", "-a \(command.rawValue)", command.summary))
    }
    for each in [CommandOption.help, .version] { lines.append(option(each, of: "")) }
    for command in CommandName.allCases {
      for each in command.options { lines.append(option(each, of: command.rawValue)) }
      if command.takesFile {
        lines.append("complete -c \(name) -n \(Self.fishQuoted("\(test) \(command.rawValue)")) -F")
      }
      let words = command.words(entities)
      if !words.isEmpty {
        // Fish reads the list as it reads a command line: words are quoted in it.
        let list = Self.fishQuoted(words.map(Self.fishQuoted).joined(separator: " "))
        lines.append(
          line(command.rawValue, "-a \(list)", command.takesEntities ? "entity" : command.rawValue))
      }
    }
    return """
      # fish completion for \(program)
      function \(test)
        set -l words (commandline -opc)
        if set -q argv[1]
          test (count $words) -gt 1; and test $words[2] = $argv[1]
        else
          test (count $words) -eq 1
        end
      end
      complete -c \(name) -f
      \(lines.joined(separator: "\n"))
      """
  }

  private static func fishQuoted(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
  }
}
