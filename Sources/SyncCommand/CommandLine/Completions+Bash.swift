extension Completions {
  /// For bash from 4.0 on, with or without the package bash-completion.
  var bash: String {
    let options = CommandOption.allCases.compactMap { option -> String? in
      guard let value = option.value else { return nil }
      return switch Placeholder(value) {
      case .choice(let words): "    \(option.rawValue)) words=(\(Self.list(words))) ;;"
      case .file: "    \(option.rawValue)) compopt -o default; return ;;"
      case .other: "    \(option.rawValue)) return ;;"
      }
    }
    let commands = CommandName.allCases.flatMap { command -> [String] in
      let words = command.words(entities)
      let name = command.rawValue
      return [
        "      \(name):-*) words=(\(Self.list(command.options.map(\.rawValue)))) ;;",
        command.takesFile
          ? "      \(name):*) compopt -o default; return ;;"
          : "      \(name):*) words=(\(Self.list(words.isEmpty ? command.options.map(\.rawValue) : words))) ;;",
      ]
    }
    return """
      # bash completion for \(program)
      _\(identifier)() {
        local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} prefix= given=' ' word shown i
        local -a words=()
        COMPREPLY=()
        for ((i = 2; i < COMP_CWORD; i++)); do given+="${COMP_WORDS[i]} "; done
        # bash takes --option=value apart, unless COMP_WORDBREAKS has no "=".
        if [[ $current == '=' ]]; then
          current=
        elif [[ $previous == '=' ]]; then
          previous=${COMP_WORDS[COMP_CWORD - 2]}
        elif [[ $current == --*=* ]]; then
          previous=${current%%=*} prefix=${current%%=*}= current=${current#*=}
        fi
        if ((COMP_CWORD == 1)); then
          words=(\(Self.list(CommandName.allCases.map(\.rawValue))) --help --version)
        else
          case $previous in
      \(options.map { "  " + $0 }.joined(separator: "\n"))
          *)
            case ${COMP_WORDS[1]}:$current in
      \(commands.joined(separator: "\n"))
            esac
            ;;
          esac
        fi
        for word in "${words[@]}"; do
          printf -v shown %q "$word"
          if [[ $given != *" $shown "* && ($word == "$current"* || $shown == "$current"*) ]]; then
            COMPREPLY+=("$prefix$shown")
          fi
        done
      }
      complete -F _\(identifier) \(Self.list([program]))
      """
  }
}
