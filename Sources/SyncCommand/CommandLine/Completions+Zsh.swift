extension Completions {
  /// For a folder of `fpath`, or to be read by `source`.
  var zsh: String {
    let commands = CommandName.allCases.map {
      "    " + Self.quoted("\($0.rawValue):\(Self.withoutColons($0.summary))")
    }
    let cases = CommandName.allCases.map { command -> String in
      var specifications = command.options.map { Self.quoted(Self.specification(of: $0)) }
      switch command.operand.map(Placeholder.init) {
      case .choice(let words)?: specifications.append(Self.quoted("1: :(\(words.joined(separator: " ")))"))
      case .file?: specifications.append(Self.quoted("1:file:_files"))
      case .other?: break
      case nil: if command.takesEntities { specifications.append("'*:entity:compadd -F line -a entities'") }
      }
      return """
            \(command.rawValue))
              _arguments -S \(specifications.joined(separator: " \\\n            "))
              ;;
        """
    }
    return """
      #compdef \(program)
      # zsh completion for \(program)
      _\(identifier)() {
        local context state state_descr line curcontext="$curcontext"
        typeset -A opt_args
        local -a commands entities
        commands=(
      \(commands.joined(separator: "\n"))
        )
        entities=(\(Self.list(entities)))
        _arguments -C '(- *)--help[\(Self.escaped(CommandOption.help.summary))]' \\
          '(- *)--version[\(Self.escaped(CommandOption.version.summary))]' '1:command:->command' '*::word:->word'
        case $state in
        command) _describe -t commands command commands ;;
        word)
          case $line[1] in
      \(cases.joined(separator: "\n"))
          esac
          ;;
        esac
      }
      if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
        _\(identifier) "$@"
      else
        compdef _\(identifier) \(Self.list([program]))
      fi
      """
  }

  /// `--wait=[how long to wait]:DURATION: `
  private static func specification(of option: CommandOption) -> String {
    let summary = "[\(escaped(option.summary))]"
    guard let value = option.value else {
      return (option == .help ? "(- *)" : "") + option.rawValue + summary
    }
    let action =
      switch Placeholder(value) {
      case .choice(let words): "(\(words.joined(separator: " ")))"
      case .file: "_files"
      case .other: " "
      }
    return "\(option.rawValue)=\(summary):\(escaped(value)):\(action)"
  }

  /// In a specification of `_arguments`.
  private static func escaped(_ text: String) -> String {
    var text = withoutColons(text)
    for character in ["[", "]"] { text = text.replacing(character, with: "\\" + character) }
    return text
  }

  private static func withoutColons(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
  }
}
