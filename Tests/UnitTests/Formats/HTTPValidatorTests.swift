import HTTP
import TestSupport
import Testing

/// By what a server tells a changed answer (RFC 9110 §8.8).
@Suite(.once)
struct HTTPValidatorTests {
  private static let changed = ("Last-Modified", "Mon, 05 Jan 2026 00:00:00 GMT")
  private static func date(_ text: String) -> (String, String) { ("Date", text) }

  @Test(
    arguments: [
      ([("ETag", #""a""#)], #""a""#), ([("etag", #"W/"a""#)], #"W/"a""#), ([("ETag", #""""#)], #""""#),
      ([("ETag", "a")], nil), ([("ETag", #""a"#)], nil), ([("ETag", #""a"b""#)], nil),
      ([("ETag", #"""#)], nil),
      ([("ETag", #"w/"a""#)], nil), ([("ETag", "")], nil), ([("ETag", "W/")], nil), ([], nil),
      // A date, if the answer says when it was given, and that was a minute later.
      ([changed], nil), ([changed, date("Mon, 05 Jan 2026 00:01:00 GMT")], changed.1),
      ([changed, date("Mon, 05 Jan 2026 00:00:59 GMT")], nil),
      ([changed, date("Sun, 04 Jan 2026 00:00:00 GMT")], nil),
      ([("Last-Modified", "yesterday"), date("Mon, 05 Jan 2026 00:01:00 GMT")], nil),
      ([("ETag", "a"), changed, date("Tue, 06 Jan 2026 00:00:00 GMT")], changed.1),
      // A tag may be made of the date.
      ([("ETag", #""a""#), changed, date("Mon, 05 Jan 2026 00:00:01 GMT")], nil),
      ([("ETag", #""a""#), changed, date("Mon, 05 Jan 2026 00:00:02 GMT")], #""a""#),
      ([("ETag", #""a""#), changed], #""a""#),
    ] as [([(String, String)], String?)])
  func validator(_ headers: [(String, String)], _ expected: String?) {
    #expect(HTTPValidator(of: HTTPHeaders(headers))?.text == expected)
  }

  @Test func condition() throws {
    var request = HTTPRequest(url: try HTTPURL("http://a.example/"))
    HTTPValidator(#"W/"a""#).condition(&request)
    HTTPValidator("Mon, 05 Jan 2026 00:00:00 GMT").condition(&request)
    #expect(
      request.headers.fields.map { "\($0.name): \($0.value)" } == [
        #"If-None-Match: W/"a""#, "If-Modified-Since: Mon, 05 Jan 2026 00:00:00 GMT",
      ])
  }

  @Test("a 304 may leave the tag out or weaken it, but not name another")
  func agreement() {
    let tag = HTTPValidator(#""a""#)
    #expect(tag.agrees(with: [:]))
    #expect(tag.agrees(with: ["ETag": #"W/"a""#]))
    #expect(!tag.agrees(with: ["ETag": #""b""#]))
    let date = HTTPValidator("Mon, 05 Jan 2026 00:00:00 GMT")
    #expect(date.agrees(with: ["ETag": #""b""#]))
    #expect(date.agrees(with: ["Last-Modified": "Mon, 05 Jan 2026 00:00:00 GMT"]))
    #expect(!date.agrees(with: ["Last-Modified": "Sun, 04 Jan 2026 00:00:00 GMT"]))
  }
}
