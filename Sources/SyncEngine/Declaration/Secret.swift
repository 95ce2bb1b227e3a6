#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A reference to a secret. The value is read when a program starts and is never written anywhere; one of a file or a
/// command is read again when a server refuses it with 401.
public struct Secret: Sendable, Hashable, CustomStringConvertible {
  enum Place: Sendable, Hashable {
    case environment(String), file(String), credential(String)
    case command([String], timeLimit: Duration)
  }

  let place: Place

  /// The value of an environment variable, without line breaks at its end.
  public static func environment(_ name: String) -> Secret { Secret(place: .environment(name)) }
  /// The content of a file, without line breaks at its end.
  public static func file(_ path: String) -> Secret { Secret(place: .file(path)) }
  /// A systemd credential: a file of that name in `$CREDENTIALS_DIRECTORY` (systemd.exec(5)).
  public static func credential(_ name: String) -> Secret { Secret(place: .credential(name)) }

  /// What a program prints, without line breaks at its end. No shell is involved: the words reach the program as they
  /// are. It has no standard input, and its error output is thrown away.
  ///
  /// ```swift
  /// .command(["pass", "show", "shop/token"])
  /// ```
  ///
  /// - Parameters:
  ///   - words: the program, looked up in `$PATH`, and its arguments.
  ///   - timeLimit: after it the program is killed, and there is no secret.
  public static func command(_ words: [String], timeLimit: Duration = .seconds(10)) -> Secret {
    Secret(place: .command(words, timeLimit: timeLimit))
  }

  public var description: String {
    switch place {
    case .environment(let name): "environment variable \(name)"
    case .file(let path): "file \(path)"
    case .credential(let name): "systemd credential \(name)"
    // Arguments may say more than a message should.
    case .command(let words, _): "command \"\(words.first ?? "")\""
    }
  }

  /// Whether another reading may bring another value.
  var mayChange: Bool { if case .environment = place { false } else { true } }

  /// Whether there is a value; a command, which is not run for that, is taken at its word.
  package var isPresent: Bool {
    if case .command = place { return true }
    return (try? resolve()) != nil
  }

  /// - Throws: ``DeclarationError`` if there is no value, or an empty one.
  func resolve() throws(DeclarationError) -> String {
    var content: String?
    var fault = "is not set or empty"
    switch place {
    case .environment(let name): content = getenv(name).map { String(cString: $0) }
    case .file(let path): content = Self.content(of: path)
    case .credential(let name):
      content = getenv("CREDENTIALS_DIRECTORY").flatMap { Self.content(of: "\(String(cString: $0))/\(name)") }
    case .command(let words, let timeLimit):
      switch CommandOutput.of(words, timeLimit: timeLimit) {
      case .success(let output):
        content = output
        fault = "printed nothing"
      case .failure(let failure):
        throw DeclarationError("its secret comes from the \(self), which \(failure)")
      }
    }
    var value = Substring(content ?? "")
    while value.last?.isNewline == true { value.removeLast() }
    guard !value.isEmpty else {
      throw DeclarationError("its secret comes from the \(self), which \(fault)")
    }
    return String(value)
  }

  /// A secret is short: 64 kB hold any token, key or password.
  static let sizeLimit = 64 << 10

  static func content(of path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: sizeLimit)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}
