import TestSupport
import Testing

@testable import SyncEngine

/// Dates of fixed width.
@Suite(.once)
struct DatePatternTests {
  private func parse(_ pattern: String, _ text: String) -> Int64? {
    var text = text
    return text.withUTF8 { DatePattern(pattern).parse($0) }
  }

  @Test("texts that fit")
  func fitting() {
    #expect(parse("yyyy-MM-dd", "1970-01-02") == 86_400_000)
    #expect(parse("dd.MM.yyyy HH:mm", "02.01.1970 00:01") == 86_460_000)
    #expect(parse("yyyyMMddTHHmmssSSSZ", "19700101T000001002Z") == 1002)
    #expect(parse("yyyy", "2000") == 946_684_800_000)
    #expect(parse("MM/yyyy", "02/1970") == 2_678_400_000)
    #expect(parse("yyyy-MM-dd HH:mm:ss.SSS", "1969-12-31 23:59:59.999") == -1)
    #expect(parse("yyyy-MM-dd", "0001-01-01") == Timestamp.first)
    #expect(parse("yyyy–MM", "1970–01") == 0)
  }

  @Test(
    "texts that do not fit",
    arguments: [
      "", "1970-01-1", "1970-1-01", "1970-01-01 ", " 1970-01-01", "1970-13-01", "1970-00-01", "1970-02-29",
      "0000-01-01", "70-01-01", "1970/01/01", "1970-01-01T00:00:00Z", "+970-01-01", "197O-01-01",
    ])
  func misfits(_ text: String) { #expect(parse("yyyy-MM-dd", text) == nil) }

  @Test("times that do not exist")
  func times() {
    #expect(parse("yyyy HH:mm:ss", "1970 24:00:00") == nil)
    #expect(parse("yyyy HH:mm:ss", "1970 00:60:00") == nil)
    #expect(parse("yyyy HH:mm:ss", "1970 00:00:60") == nil)
  }

  @Test(
    "patterns that cannot work",
    arguments: [
      "", "MM-dd", "yyyy-MMM", "yyyyy", "yy", "yyyy-D", "EEE yyyy", "yyyy h", "yyyy-mm-dd",
      "yyyy-mm-dd HH:MM:ss",
      "dd.mm.yyyy HH:MM", "yyyy-MM-dd HH:MM", "yyyy-dd HH:MM", "yyyyMMdd mm:ss", "yyyy-MM-dd yyyy",
      "yyyyMMMMdd",
    ])
  func faults(_ pattern: String) { #expect(DatePattern(pattern).fault != nil) }

  @Test("a written date reads back")
  func writing() {
    var random = SeededBytes(9)
    for pattern in ["yyyy-MM-dd HH:mm:ss.SSS", "SSSssmmHHddMMyyyy", "yyyyMMddTHHmmssSSSZ"] {
      #expect(DatePattern(pattern).fault == nil)
      for _ in 0..<300 {
        let instant = random.number(in: Timestamp.first...Timestamp.last)
        #expect(parse(pattern, DatePattern(pattern).string(instant)) == instant)
      }
    }
    #expect(DatePattern("dd.MM.yyyy").string(-1) == "31.12.1969")
    #expect(DatePattern("yyyy").string(Timestamp.first) == "0001")
  }

  @Test("a literal beyond ASCII is written as it stands in the pattern")
  func literals() {
    #expect(DatePattern("yyyy–MM").fault == nil)
    #expect(DatePattern("yyyy–MM").string(0) == "1970–01")
  }

  @Test("instants since 1970 are cut toward the past")
  func unix() {
    #expect(TimestampFormat.unix(perSecond: 1).string(-1) == "-1")
    #expect(TimestampFormat.unix(perSecond: 1).string(1999) == "1")
    #expect(TimestampFormat.unix(perSecond: 1000).string(-1999) == "-1999")
    #expect(TimestampFormat.iso8601(nil).string(-1) == "1969-12-31T23:59:59.999Z")
  }
}
