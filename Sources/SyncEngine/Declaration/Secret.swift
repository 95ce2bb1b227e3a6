#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A reference to a secret. The value is read when a program starts and is never written anywhere.
public struct Secret: Sendable, Hashable, CustomStringConvertible {
  enum Place: Sendable, Hashable {
    case environment(String), file(String), credential(String)
  }

  let place: Place

  /// The value of an environment variable, without line breaks at its end.
  public static func environment(_ name: String) -> Secret { Secret(place: .environment(name)) }
  /// The content of a file, without line breaks at its end.
  public static func file(_ path: String) -> Secret { Secret(place: .file(path)) }
  /// A systemd credential: a file of that name in `$CREDENTIALS_DIRECTORY` (systemd.exec(5)).
  public static func credential(_ name: String) -> Secret { Secret(place: .credential(name)) }

  public var description: String {
    switch place {
    case .environment(let name): "environment variable \(name)"
    case .file(let path): "file \(path)"
    case .credential(let name): "systemd credential \(name)"
    }
  }

  /// - Throws: ``DeclarationError`` if there is no value, or an empty one.
  func resolve() throws(DeclarationError) -> String {
    let content: String? =
      switch place {
      case .environment(let name): getenv(name).map { String(cString: $0) }
      case .file(let path): Self.content(of: path)
      case .credential(let name):
        getenv("CREDENTIALS_DIRECTORY").flatMap { Self.content(of: "\(String(cString: $0))/\(name)") }
      }
    var value = Substring(content ?? "")
    while value.last?.isNewline == true { value.removeLast() }
    guard !value.isEmpty else {
      throw DeclarationError("its secret comes from the \(self), which is not set or empty")
    }
    return String(value)
  }

  private static func content(of path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    // A secret is short: 64 kB hold any token, key or password.
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}
