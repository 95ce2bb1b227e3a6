import CPostgres
import Foundation

/// A session of a PostgreSQL server, in which a test looks and prepares. Used by one thread at a time.
public final class PostgresSession {
  private let handle: OpaquePointer
  private let words: Bool

  /// - Parameters:
  ///   - url: where, perhaps with a search path.
  ///   - speaksSQLite: whether statements are those of SQLite, in words that ``Dialect`` and `sqlite_words` know.
  public init(_ url: String, speaksSQLite: Bool = true) throws {
    guard let handle = PQconnectdb(url) else { throw TestFailure("libpq has no memory") }
    guard PQstatus(handle) == CONNECTION_OK else {
      defer { PQfinish(handle) }
      throw TestFailure("\(url): \(String(cString: PQerrorMessage(handle)))")
    }
    (self.handle, words) = (handle, speaksSQLite)
    PQsetNoticeProcessor(handle, { _, _ in }, nil)
    _ = try rows(
      """
      SET client_encoding = 'UTF8'; SET TimeZone = 'UTC'; SET DateStyle = 'ISO';
      SET extra_float_digits = 1; SET bytea_output = 'hex'; SET client_min_messages = 'error'
      """, in: nil)
    if words {
      _ = try rows(
        "SELECT set_config('search_path', current_setting('search_path') || ', sqlite_words', false)", in: nil
      )
    }
  }

  deinit { PQfinish(handle) }

  /// The process of the server that serves this session.
  public var serverProcess: Int { Int(PQbackendPID(handle)) }

  /// The rows of all statements as ``SQLiteFile/text(_:_:patience:)`` shows those of SQLite.
  public func rows(_ sql: String) throws -> String { try rows(words ? Dialect.postgres(sql) : sql, in: sql) }

  private func rows(_ sql: String, in original: String?) throws -> String {
    guard PQsendQuery(handle, sql) == 1 else { throw TestFailure(String(cString: PQerrorMessage(handle))) }
    var lines: [String] = []
    var failure: TestFailure?
    while let result = PQgetResult(handle) {
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_TUPLES_OK:
        for row in 0..<PQntuples(result) {
          lines.append(
            (0..<PQnfields(result)).map { column in
              PQgetisnull(result, row, column) != 0
                ? "∅"
                : Self.text(String(cString: PQgetvalue(result, row, column)), type: PQftype(result, column))
            }.joined(separator: " | "))
        }
      case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: break
      default:
        failure = TestFailure("\(String(cString: PQresultErrorMessage(result))): \(original ?? sql)")
      }
    }
    if let failure { throw failure }
    return lines.joined(separator: "\n")
  }

  // MARK: Values

  /// A value as SQLite's table shows the same one. Types have fixed numbers (pg_type.dat).
  private static func text(_ value: String, type: Oid) -> String {
    switch type {
    case 16: value == "t" ? "1" : "0"
    case 17: bytes(value)
    case 700, 701: real(value)
    case 1114, 1184: instant(value)
    case 114, 3802: compact(value)
    default: value
    }
  }

  /// `\x6162` as the text that the bytes are, up to a NUL.
  private static func bytes(_ value: String) -> String {
    let digits = Array(value.utf8.dropFirst(2))
    let bytes = stride(from: 0, to: digits.count, by: 2).map {
      UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16) ?? 0
    }
    return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }

  /// Fifteen digits and always a point (sqlite.org/printf.html: `%!.15g`).
  private static func real(_ value: String) -> String {
    guard let number = Double(value), number.isFinite else {
      return value == "Infinity" ? "Inf" : value == "-Infinity" ? "-Inf" : value
    }
    let text = String(format: "%.15g", number == 0 ? 0 : number)
    let mantissa = text.prefix { $0 != "e" }
    return mantissa.contains(".") ? text : mantissa + ".0" + text.dropFirst(mantissa.count)
  }

  /// `2026-02-02 01:01:01.5+00` as `2026-02-02T01:01:01.500Z`.
  private static func instant(_ value: String) -> String {
    let parts = value.split(separator: " ")
    guard parts.count == 2 else { return value }
    let time = parts[1].prefix { $0 != "+" }.split(separator: ".")
    let fraction = time.count > 1 ? String(time[1]) : ""
    return
      "\(parts[0])T\(time[0]).\(fraction.padding(toLength: max(3, fraction.count), withPad: "0", startingAt: 0))Z"
  }

  /// JSON without the blanks that `jsonb` writes.
  private static func compact(_ value: String) -> String {
    var (out, isText, isEscaped) = ([UInt8](), false, false)
    for byte in value.utf8 {
      if isText {
        if byte == UInt8(ascii: "\""), !isEscaped { isText = false }
        isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
      } else if byte == UInt8(ascii: "\"") {
        isText = true
      } else if byte == UInt8(ascii: " ") {
        continue
      }
      out.append(byte)
    }
    return String(decoding: out, as: UTF8.self)
  }
}
