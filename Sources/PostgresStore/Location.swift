import CPostgres
import SyncEngine

/// Where a server and a database are, as libpq understands it.
package struct Location: Sendable, CustomStringConvertible {
  /// With the password, if there is one in it.
  let text: String
  /// What a person calls it: `postgresql://user@host:port/database`, as far as the location says it.
  package let description: String
  private let password: String?

  /// - Throws: ``StoreError`` for what libpq does not understand.
  package init(_ text: String) throws {
    self.text = text
    var problem: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(text, &problem) else {
      defer { PQfreemem(problem) }
      // libpq repeats the location, and what it could not read of it may be the password.
      throw Self.unreadable
    }
    defer { PQconninfoFree(options) }
    var values: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
      option += 1
    }
    // Where a password has a "/" or "@" in it that is not written as %XX, parts of it are taken for something else.
    let parts = [values["port"], values["host"], values["dbname"], values["user"]].compactMap { $0 }
    guard values["port"]?.contains(where: { !$0.isNumber && $0 != "," }) != true,
      !parts.contains(where: { $0.contains("@") || $0.contains("/") && !$0.hasPrefix("/") })
    else { throw Self.unreadable }
    password = values["password"]
    var place = values["host"] ?? values["hostaddr"] ?? ""
    if let port = values["port"] { place += ":\(port)" }
    description =
      "postgresql://\(values["user"].map { "\($0)@" } ?? "")\(place)/\(values["dbname"] ?? "")"
      + (values["service"].map { "?service=\($0)" } ?? "")
  }

  private static var unreadable: StoreError {
    StoreError(
      "the store's location is none that PostgreSQL understands; it has the form postgresql://user@host:5432/database, and what is no letter or digit in a name or password is written as %XX"
    )
  }

  /// A message in which the password, if it is in it, is not to be read.
  func withoutPassword(_ message: String) -> String {
    guard let password, !password.isEmpty else { return message }
    return message.split(separator: password, omittingEmptySubsequences: false).joined(separator: "***")
  }
}
