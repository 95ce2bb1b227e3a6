import CPostgres
import SyncEngine

/// Has `pg_dump` write a schema into a file, in its custom format.
///
/// The location goes to it by variables (postgresql.org/docs/15/libpq-envars.html): everyone may read the arguments of a
/// process.
struct Dump {
  private let place: Location
  private let schema: String

  init(of place: Location, schema: String) { (self.place, self.schema) = (place, schema) }

  func run(to file: String, _ cancellation: Cancellation) throws -> Backup {
    if let beginning = try PartialFile.beginning(of: file, 5), !beginning.isEmpty,
      beginning != Array("PGDMP".utf8)
    {
      throw StoreError(
        "\(file) is there and is no dump of PostgreSQL: it is not replaced; give another name, or remove it")
    }
    let environment = try place.environment()
    let partial = try PartialFile(for: file)
    // In quotes a name is no pattern (postgresql.org/docs/15/app-psql.html#APP-PSQL-PATTERNS).
    try call(
      [
        "pg_dump", "--format=custom", "--no-password", "--schema=\(quoted(schema))",
        "--exclude-table-data=\(quoted(schema)).syncd_journal", "--file=\(partial.path)",
      ], environment, cancellation)
    try call(["pg_restore", "--list", "--file=/dev/null", partial.path], environment, cancellation)
    try cancellation.check()
    let backup = Backup(file: file, bytes: partial.size)
    try partial.putInPlace()
    return backup
  }

  private func call(
    _ words: [String], _ environment: [String: String], _ cancellation: Cancellation
  ) throws {
    switch try Tool.run(words, environment: environment, cancellation) {
    case .ended(0, _): return
    case .absent:
      throw StoreError(
        "there is no \(words[0]) on the PATH: install the client programs of PostgreSQL, of the server's version or a later one (Debian: postgresql-client)"
      )
    case .ended(let status, let errors):
      let text = place.withoutPassword(errors.split(separator: "\n").prefix(5).joined(separator: "; "))
      throw StoreError("\(words[0]) ended with status \(status): \(text)")
    case .signalled(let signal, _): throw StoreError("\(words[0]) was ended by signal \(signal)")
    }
  }
}

extension Location {
  /// What the location says, in the variables that libpq reads; what it does not say they say already.
  ///
  /// - Throws: ``StoreError`` for a password of a key, which has none.
  func environment() throws -> [String: String] {
    guard let options = PQconninfoParse(text, nil) else { return [:] }
    defer { PQconninfoFree(options) }
    var variables: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      defer { option += 1 }
      guard let value = option.pointee.val else { continue }
      if let variable = option.pointee.envvar {
        variables[String(cString: variable)] = String(cString: value)
      } else if String(cString: keyword) == "sslpassword" {
        throw StoreError(
          "pg_dump cannot be given the password of a TLS key (sslpassword) unseen: use a key without one for backups"
        )
      }
    }
    return variables
  }
}
