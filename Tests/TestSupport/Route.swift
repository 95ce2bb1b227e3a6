import Foundation

/// One answer of an ``AnswerServer``; the fields are described in `Tests/Support/answers.py`.
public struct Route: Encodable, Sendable {
  public var path: String
  public var query: [String: String]?
  public var headers: [String: String]?
  public var status: Int?
  public var answer: [String: String]?
  public var body: String?
  public var file: String?
  public var times: Int?
  public var fault: String?
  public var pause: Double?
  public var encoding: String?
  public var replace: [String: String]?

  public init(
    _ path: String, query: [String: String]? = nil, headers: [String: String]? = nil, status: Int? = nil,
    answer: [String: String]? = nil, body: String? = nil, file: String? = nil, times: Int? = nil,
    fault: String? = nil, pause: Double? = nil, encoding: String? = nil, replace: [String: String]? = nil
  ) {
    (self.path, self.query, self.headers, self.status) = (path, query, headers, status)
    (self.answer, self.body, self.file, self.times) = (answer, body, file, times)
    (self.fault, self.pause, self.encoding, self.replace) = (fault, pause, encoding, replace)
  }
}
