import TestSupport
import Testing

@testable import HTTP

/// Header fields and waits.
@Suite(.once)
struct HTTPPartsTests {
  @Test("fields compare without case, only letters do")
  func names() {
    var headers = HTTPHeaders([("Link", "a"), ("ETag", "x"), ("LINK", "b")])
    #expect(headers["link"] == "a, b")
    #expect(headers["etag"] == "x")
    #expect(headers["lin"] == nil)
    headers["lInK"] = "c"
    #expect(headers["Link"] == "c")
    headers.append("link", "")
    #expect(headers["Link"] == "c, ")
    headers["LINK"] = nil
    #expect(headers["Link"] == nil)
    #expect(headers.fields.map(\.name) == ["ETag"])
    // `@` and backtick, `[` and `{`, `^` and `~` differ by the same bit as letters of two cases.
    #expect(HTTPHeaders([("a^", "1")])["A~"] == nil)
    #expect(HTTPHeaders([("a-1", "1")])["A\r\u{11}"] == nil)
    #expect(HTTPHeaders([("a_", "1")])["A\u{7F}"] == nil)
  }

  @Test("waits double and are never below their base")
  func waits() {
    let policy = RetryPolicy(retries: 3, base: .milliseconds(100))
    for retry in 0..<12 {
      let base = Duration.milliseconds(100 << retry)
      #expect(policy.wait(before: retry, fraction: 0) == base)
      for fraction in [0.0, 0.001, 0.3, 0.999, 1] {
        let wait = policy.wait(before: retry, fraction: fraction)
        #expect(wait >= base && wait <= base * 1.5)
      }
    }
    #expect(policy.wait(before: 1000, fraction: 1) > .zero)
  }

  @Test("statuses that are asked again")
  func statuses() {
    let policy = RetryPolicy()
    let retried = (100...599).filter(policy.isRetried)
    #expect(retried == [408, 425, 429] + Array(500...599))
    #expect(!policy.isRetried(0) && !policy.isRetried(600))
  }

  @Test("Retry-After in seconds and as the three forms of a date (RFC 9110 §5.6.7)")
  func retryAfter() {
    let now = 784_111_700
    for (field, seconds) in [
      ("0", 0), ("120", 120), ("007", 7), ("Sun, 06 Nov 1994 08:49:37 GMT", 77),
      ("Sunday, 06-Nov-94 08:49:37 GMT", 77), ("Sun Nov  6 08:49:37 1994", 77),
      ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
    ] { #expect(RetryPolicy.retryAfter(field, now: now) == .seconds(seconds), "\(field)") }
    for field in ["", "soon", "-1", "+1", "1.5", "3 s", "1e3", "0x10", "٣", "Sun", "06 Nov", "NaN", "null"] {
      #expect(RetryPolicy.retryAfter(field, now: now) == nil, "\(field)")
    }
    let endless = RetryPolicy.retryAfter("99999999999999999999999999", now: now)
    #expect(endless.map { $0 > .seconds(86_400) } == true)
  }
}
