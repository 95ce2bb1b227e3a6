import HTTP
import Testing

/// By what a server tells a changed answer (RFC 9110 §8.8).
struct HTTPValidatorTests {
  @Test(
    arguments: [
      ([("ETag", #""a""#)], #""a""#), ([("etag", #"W/"a""#)], #"W/"a""#), ([("ETag", #""""#)], #""""#),
      ([("ETag", "a")], nil), ([("ETag", #""a"#)], nil), ([("ETag", #""a"b""#)], nil),
      ([("ETag", #"""#)], nil),
      ([("ETag", #"w/"a""#)], nil), ([("ETag", "")], nil), ([("ETag", "W/")], nil),
      ([("Last-Modified", "Mon, 05 Jan 2026 00:00:00 GMT")], nil),
      (
        [("Last-Modified", "Mon, 05 Jan 2026 00:00:00 GMT"), ("Date", "Mon, 05 Jan 2026 00:00:01 GMT")],
        "Mon, 05 Jan 2026 00:00:00 GMT"
      ),
      (
        [
          ("ETag", "a"), ("Last-Modified", "Mon, 05 Jan 2026 00:00:00 GMT"),
          ("Date", "Tue, 06 Jan 2026 00:00:00 GMT"),
        ],
        "Mon, 05 Jan 2026 00:00:00 GMT"
      ),
      (
        [
          ("ETag", #""a""#), ("Last-Modified", "Mon, 05 Jan 2026 00:00:00 GMT"),
          ("Date", "Mon, 05 Jan 2026 00:00:00 GMT"),
        ], nil
      ),
      ([], nil),
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
    #expect(HTTPValidator("Mon, 05 Jan 2026 00:00:00 GMT").agrees(with: ["ETag": #""b""#]))
  }
}
