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
  /// are. It has no standard input, its error output is thrown away, and what it
  /// leaves running ends with it.
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

  /// Reads the value; this thread waits for a command.
  ///
  /// - Throws: ``DeclarationError`` if there is no value, or an empty one.
  package func resolve() throws(DeclarationError) -> String {
    guard let run else { return try value(content, fault: "is not set or empty") }
    let output: [UInt8]
    do { output = try run.outputBlocking() } catch { throw fault(error.description) }
    return try printed(output)
  }

  /// As ``resolve()``, but no thread of tasks waits for a command, which ends when the task is cancelled.
  package func resolved() async throws(DeclarationError) -> String {
    guard let run else { return try resolve() }
    let output: [UInt8]
    do { output = try await run.output() } catch { throw fault(error.description) }
    return try printed(output)
  }

  private var run: CommandRun? {
    guard case .command(let words, let timeLimit) = place else { return nil }
    var run = CommandRun(words, timeLimit: timeLimit)
    run.outputLimit = Self.sizeLimit
    return run
  }

  private var content: String? {
    switch place {
    case .environment(let name): getenv(name).map { String(cString: $0) }
    case .file(let path): Self.content(of: path)
    case .credential(let name):
      getenv("CREDENTIALS_DIRECTORY").flatMap { Self.content(of: "\(String(cString: $0))/\(name)") }
    case .command: nil
    }
  }

  private func printed(_ output: [UInt8]) throws(DeclarationError) -> String {
    try value(String(decoding: output, as: UTF8.self), fault: "printed nothing")
  }

  private func value(_ content: String?, fault: String) throws(DeclarationError) -> String {
    var value = Substring(content ?? "")
    while value.last?.isNewline == true { value.removeLast() }
    guard !value.isEmpty else { throw self.fault(fault) }
    return String(value)
  }

  private func fault(_ text: String) -> DeclarationError {
    DeclarationError("its secret comes from the \(self), which \(text)")
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
