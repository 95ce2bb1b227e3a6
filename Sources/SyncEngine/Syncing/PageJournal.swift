import HTTP

/// Pages that a run has read, kept until it commits, so that the run after one that was ended need not ask for them.
///
/// One run at a time has an entity's journal: it holds the lease of the entity's tables. What cannot be kept is asked for
/// again; that it cannot be kept fails no run.
public protocol PageJournal: AnyObject, Sendable {
  /// When the run began that read the first page, in milliseconds since 1970.
  var begun: Int64 { get }

  /// The page that was kept first under this name, and forgets it; nil if there is none.
  func take(_ name: String) -> [UInt8]?

  /// Keeps a page, whose bytes are those of both parts, at some time, off the caller's way.
  func append(_ head: [UInt8], _ body: [UInt8], as name: String)

  /// Waits until all pages are kept.
  func finish()

  /// Forgets all pages.
  func clear()
}

/// What is asked of a journal.
public struct PageJournalRequest: Sendable {
  public var entity: String
  /// What the pages belong to: those that were kept with another key are void.
  public var key: String
  /// Now, and the earliest beginning of a run whose pages are taken, in milliseconds since 1970.
  public var now: Int64
  public var notBefore: Int64
  /// The journal grows to so many bytes.
  public var limit: Int
}

/// An answer that was received, by this run or by one that was ended.
struct FetchedPage: Sendable {
  var response: HTTPResponse
  /// When an earlier run received it, in milliseconds since 1970; nil for an answer of this run.
  var resumedFrom: Int64?
}

extension FetchedPage {
  /// What stands before the body in a journal: texts, each behind its length.
  static func head(of response: HTTPResponse, at time: Int64) -> [UInt8] {
    var bytes: [UInt8] = []
    func append(_ text: String) {
      append(number: text.utf8.count)
      bytes.append(contentsOf: text.utf8)
    }
    func append(number: Int) {
      withUnsafeBytes(of: UInt32(truncatingIfNeeded: number).littleEndian) { bytes.append(contentsOf: $0) }
    }
    // No cookie is of use to another run.
    let fields = response.headers.fields.filter { $0.name.lowercased() != "set-cookie" }
    append(String(time))
    append(String(response.status))
    append(response.isEndKnown ? "1" : "0")
    append(response.url.string)
    append(number: fields.count)
    for (name, value) in fields {
      append(name)
      append(value)
    }
    return bytes
  }

  /// Nil for what is no answer of a journal.
  init?(journaled bytes: [UInt8]) {
    var rest = bytes[...]
    func number() -> Int? {
      guard rest.count >= 4 else { return nil }
      defer { rest = rest.dropFirst(4) }
      return rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    func text() -> String? {
      guard let count = number(), rest.count >= count else { return nil }
      defer { rest = rest.dropFirst(count) }
      return String(decoding: rest.prefix(count), as: UTF8.self)
    }
    guard let time = text().flatMap({ Int64($0) }), let status = text().flatMap({ Int($0) }),
      let isEndKnown = text(), let url = text().flatMap({ try? HTTPURL($0) }), let count = number()
    else { return nil }
    var fields: [(name: String, value: String)] = []
    for _ in 0..<count {
      guard let name = text(), let value = text() else { return nil }
      fields.append((name, value))
    }
    response = HTTPResponse(status: status, headers: HTTPHeaders(fields), body: Array(rest), url: url)
    (response.isEndKnown, response.attempts, response.bytesReceived) = (isEndKnown == "1", 0, 0)
    resumedFrom = time
  }
}
