import CPostgres
import SyncEngine

/// Where a server and a database are, as libpq understands it.
struct Location: Sendable, CustomStringConvertible {
  /// With the password, if there is one in it.
  let text: String
  /// What a person calls it: `postgresql://user@host:port/database`, as far as the location says it.
  let description: String
  private let password: String?

  /// - Throws: ``StoreError`` for what libpq does not understand.
  init(_ text: String) throws {
    self.text = text
    var problem: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(text, &problem) else {
      defer { PQfreemem(problem) }
      // libpq repeats the location, and what it could not read of it may be the password.
      throw StoreError(
        "the store's location is none that PostgreSQL understands; it has the form postgresql://user@host:5432/database, and what is no letter or digit in a name or password is written as %XX"
      )
    }
    defer { PQconninfoFree(options) }
    var values: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
      option += 1
    }
    password = values["password"]
    var place = values["host"] ?? values["hostaddr"] ?? ""
    if let port = values["port"] { place += ":\(port)" }
    description =
      "postgresql://\(values["user"].map { "\($0)@" } ?? "")\(place)/\(values["dbname"] ?? "")"
      + (values["service"].map { "?service=\($0)" } ?? "")
  }

  /// A message in which the password, if it is in it, is not to be read.
  func withoutPassword(_ message: String) -> String {
    guard let password, !password.isEmpty else { return message }
    return message.split(separator: password, omittingEmptySubsequences: false).joined(separator: "***")
  }
}
