import HTTP
import JSON

/// Makes of an answer's body the document that rows, paths and fields work on.
///
/// One reader serves one walk: it keeps its parser's working memory in between.
final class BodyReader {
  private let format: BodyFormat
  private let rows: Rows
  private let redactor: Redactor
  private let keyMembers: [[String]]
  private let parser = JSONParser()

  /// - Parameter keyMembers: members of which every record has one each; a header without is that of something else.
  init(_ format: BodyFormat, rows: Rows, keyMembers: [[String]] = [], redactor: Redactor) {
    (self.format, self.rows, self.keyMembers, self.redactor) = (format, rows, keyMembers, redactor)
  }

  /// - Throws: ``BodyError`` that says what came instead, and how it begins.
  func document(of response: HTTPResponse) throws(BodyError) -> JSONDocument {
    do throws(BodyError) {
      return try parse(response)
    } catch {
      throw BodyError(account(of: response, error))
    }
  }

  /// What keeps an answer from proving that it is whole; nil where nothing does.
  func doubt(about response: HTTPResponse) -> String? {
    guard format.needsKnownEnd, !response.isEndKnown else { return nil }
    return "an answer came without its length, and \(format.name) alone cannot show that it is whole"
  }

  private func parse(_ response: HTTPResponse) throws(BodyError) -> JSONDocument {
    var body = response.body
    var charset = Charset.declared(by: response.headers["Content-Type"])
    if case .xml = format.form, charset == nil { charset = Charset.declaredByXML(body) }
    if charset == nil, body.starts(with: [0xFF, 0xFE]) || body.starts(with: [0xFE, 0xFF]) {
      charset = "UTF-16"
    }
    if let charset, !Charset.isUTF8(charset) { body = try Charset.utf8(body, from: charset) }
    switch format.form {
    case .json: break
    case .lines: return try JSONLines.document(body, parser)
    case .csv(let separator, let header):
      if Self.isHTML(body) { throw BodyError("it is HTML") }
      body = try DelimitedText.json(
        body, separator: separator, header: header, needed: rows.path.components.isEmpty ? keyMembers : [],
        isEndKnown: response.isEndKnown)
    case .xml(let convention):
      body = try XMLText.json(body, convention, rows: rows)
    }
    do { return try parser.parse(body) } catch {
      // Where the JSON was made here, its offsets are nobody's business.
      if case .json = format.form { throw BodyError("\(error)") }
      throw BodyError(error.reason.rawValue)
    }
  }

  // MARK: Saying what came

  private func account(of response: HTTPResponse, _ error: BodyError) -> String {
    let body = response.body
    let type = response.headers["Content-Type"].map { ", \(redactor.excerpt($0.utf8, limit: 80))" } ?? ""
    let sent = "(HTTP \(response.status)\(type))"
    if body.allSatisfy({ Self.isBlank($0) }) { return "the body is empty, not \(format.name) \(sent)" }
    let begins = Self.beginning(of: body).map { "; it begins with \(redactor.excerpt($0, limit: 80))" } ?? ""
    if Self.isHTML(body) { return "the body is HTML, not \(format.name) \(sent)\(begins)" }
    return "the body is not \(format.name) \(sent): \(error)\(begins)"
  }

  /// The first bytes, if they are text. They are more than is shown, so that no secret is cut before it is removed.
  private static func beginning(of body: [UInt8]) -> [UInt8]? {
    var start = body.drop(while: isBlank).prefix(2000)
    if body.starts(with: [0xEF, 0xBB, 0xBF]) { start = body[3...].prefix(2000) }
    // A character may be cut at the end of the excerpt, but nowhere else.
    for cut in 0..<4 where String(validating: start.dropLast(cut), as: UTF8.self) != nil {
      return start.contains(0) ? nil : Array(start.dropLast(cut))
    }
    return nil
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  private static func isHTML(_ body: [UInt8]) -> Bool {
    let start = body.drop { isBlank($0) || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF }.prefix(14)
      .map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
    return start.starts(with: "<!doctype html".utf8) || start.starts(with: "<html".utf8)
  }
}
