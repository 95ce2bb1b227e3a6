/// Secrets as a configuration names them: a text that says where the value is, and never the value.
///
/// ```
/// env:NAME           an environment variable
/// file:PATH          the content of a file
/// credential:NAME    a systemd credential
/// command:WORDS      what a program prints: command:pass show "shop/web token"
/// ```
extension Secret {
  package enum Reference: String, CaseIterable, Sendable {
    case env, file, credential, command
  }

  /// The kind that the text begins with; nil where it is no reference.
  package static func referenceKind(of text: String) -> Reference? {
    Reference.allCases.first { text.hasPrefix("\($0.rawValue):") }
  }

  /// - Throws: ``DeclarationError``, which does not quote the text: it may be the secret that somebody put in its place.
  package init(reference text: String) throws(DeclarationError) {
    guard let kind = Self.referenceKind(of: text) else {
      throw DeclarationError(
        "a secret has to be a reference: env:NAME, file:PATH, credential:NAME or command:WORDS")
    }
    let rest = String(text.dropFirst(kind.rawValue.count + 1))
    guard !rest.isEmpty, !rest.utf8.contains(0) else {
      throw DeclarationError("nothing that can be used stands behind \"\(kind.rawValue):\"")
    }
    switch kind {
    case .env:
      guard !rest.contains("=") else {
        throw DeclarationError("\"env:\" has to be followed by the name of a variable, not by its value")
      }
      self = .environment(rest)
    case .file: self = .file(rest)
    case .credential:
      guard !rest.contains("/"), rest != ".", rest != ".." else {
        throw DeclarationError("\"credential:\" has to be followed by a name, not by a path")
      }
      self = .credential(rest)
    case .command:
      do { self = .command(try CommandWords.words(of: rest)) } catch {
        throw DeclarationError("the words behind \"command:\" cannot be read: the command \(error)")
      }
    }
  }

  /// The text that names the secret; a command's time limit is not in it.
  package var reference: String {
    switch place {
    case .environment(let name): "env:\(name)"
    case .file(let path): "file:\(path)"
    case .credential(let name): "credential:\(name)"
    case .command(let words, _): "command:\(CommandWords.line(words))"
    }
  }

  /// Whether a program is run for the value.
  package var runsCommand: Bool { if case .command = place { true } else { false } }
}
