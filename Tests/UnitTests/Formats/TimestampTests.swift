import TestSupport
import Testing

@testable import SyncEngine

/// RFC 3339 instants.
@Suite(.once)
struct TimestampTests {
  static func parse(_ text: String) -> Int64? {
    var text = text
    return text.withUTF8 { Timestamp.parse($0) }
  }

  @Test(
    "instants",
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("1985-04-12T23:20:50.52Z", 482_196_050_520),
      ("1996-12-19T16:39:57-08:00", 851_042_397_000), ("1990-12-31T23:59:60Z", 662_688_000_000),
      ("1990-12-31T15:59:60-08:00", 662_688_000_000), ("1937-01-01T12:00:27.87+00:20", -1_041_337_172_130),
      ("2000-02-29T12:00:00Z", 951_825_600_000), ("2024-02-29T00:00:00Z", 1_709_164_800_000),
      ("1970-01-01t00:00:00z", 0), ("1970-01-01 00:00:00Z", 0), ("1970-01-01T00:00:00-00:00", 0),
      ("1970-01-01T00:00:00+23:59", -86_340_000), ("1970-01-01T00:00:00-23:59", 86_340_000),
      ("0001-01-01T00:00:00Z", -62_135_596_800_000), ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
      ("9999-12-31T23:59:59.9999Z", 253_402_300_799_999), ("0001-01-01T01:00:00+01:00", -62_135_596_800_000),
    ] as [(String, Int64)])
  func instants(_ text: String, _ expected: Int64) { #expect(Self.parse(text) == expected) }

  @Test(
    "fractions are cut toward the past, before 1970 too",
    arguments: [
      ("1970-01-01T00:00:00.0009Z", 0), ("1970-01-01T00:00:00.9999999999999999999999999Z", 999),
      ("1970-01-01T00:00:00.1Z", 100), ("1969-12-31T23:59:59.9999Z", -1),
      ("1969-12-31T23:59:59.0001Z", -1000),
      ("1969-12-31T23:59:59.5Z", -500), ("1969-12-31T23:59:59.9991Z", -1),
      ("1970-01-01T00:00:00." + String(repeating: "0", count: 500) + "1Z", 0),
    ] as [(String, Int64)])
  func fractions(_ text: String, _ expected: Int64) { #expect(Self.parse(text) == expected) }

  @Test(
    "no instants",
    arguments: [
      "", "1970", "1970-01-01", "1970-01-01T", "1970-01-01T00:00:00", "1970-01-01T00:00:00.5",
      "2023-02-29T00:00:00Z",
      "1900-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2024-02-30T00:00:00Z", "2024-04-31T00:00:00Z",
      "2024-00-01T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-00T00:00:00Z", "2024-01-32T00:00:00Z",
      "2024-01-01T24:00:00Z", "2024-01-01T23:60:00Z", "2024-01-01T23:59:61Z", "2024-01-01T00:00:00.Z",
      "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+00:60", "2024-01-01T00:00:00+01:",
      "2024-01-01T00:00:00+",
      "2024-01-01T00:00:00+1", "2024-01-01T00:00:00ZZ", "2024-01-01T00:00:00Z ", " 2024-01-01T00:00:00Z",
      "2024-01-01T00:00:00 Z", "2024-1-01T00:00:00Z", "24-01-01T00:00:00Z", "02024-01-01T00:00:00Z",
      "-2024-01-01T00:00:00Z", "+2024-01-01T00:00:00Z", "2024-01-01T0:00:00Z", "2024-01-01T00:00:0Z",
      "2024-01-01T-1:00:00Z", "2024-01-01T00:00:+1Z", "2024/01/01T00:00:00Z", "2024-01-01X00:00:00Z",
      "2024-01-01T00:00:00X", "2024-01-01T00:00:00UTC", "2024-01-01T00:00:00.5.5Z",

      "0000-12-31T23:59:59Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
      "9999-12-31T23:59:60Z",
      "２０２４-01-01T00:00:00Z", "2024-01-01T00:00:00−01:00",
    ])
  func refused(_ text: String) {
    #expect(Self.parse(text) == nil)
    #expect(Self.parse(text + "\0") == nil)
  }

  @Test("a leap second comes only where one can be: in the last minute of a day of UTC (RFC 3339 §5.7)")
  func leapSecond() {
    #expect(Self.parse("2016-12-31T23:59:60.5Z") == 1_483_228_800_500)
    #expect(Self.parse("2017-01-01T05:29:60+05:30") == 1_483_228_800_000)
    #expect(Self.parse("2016-12-31T12:30:60Z") == nil)
    #expect(Self.parse("2016-12-31T23:59:60+01:00") == nil)
  }

  @Test("every day of every year has the parts that it was made of")
  func days() {
    var expected = -719_162
    for year in 1...9999 {
      for month in 1...12 {
        for day in [1, 28, 29, 30, 31] {
          guard let days = Timestamp.days(year: year, month: month, day: day) else { continue }
          if day == 1 {
            if days != expected { Issue.record("\(year)-\(month)") }
          } else if days != expected + day - 1 {
            Issue.record("\(year)-\(month)-\(day)")
          }
        }
        let isLeap = year % 400 == 0 || year % 4 == 0 && year % 100 != 0
        expected += month == 2 ? isLeap ? 29 : 28 : [4, 6, 9, 11].contains(month) ? 30 : 31
      }
    }
  }

  @Test("text and instants as Python's datetime has them")
  func oracle() throws {
    var random = SeededBytes(7)
    var instants = (0..<3000).map { _ in random.number(in: Timestamp.first...Timestamp.last) }
    instants += (0..<500).map { _ in random.number(in: -200_000...200_000) }
    instants += [Timestamp.first, Timestamp.last, 0, -1, 1, 86_399_999, -86_400_001]
    let program = """
      import sys
      from datetime import datetime, timedelta
      for line in sys.stdin.readlines():
          t = datetime(1970, 1, 1) + timedelta(milliseconds=int(line))
          print(t.isoformat(timespec="milliseconds") + "Z")
      """
    for (instant, text) in zip(instants, try PythonOracle.lines(program, instants.map { String($0) })) {
      if Timestamp.text(instant) != text || Self.parse(text) != instant {
        Issue.record("\(instant): \(Timestamp.text(instant)), not \(text), reads \(Self.parse(text) ?? -1)")
      }
    }
  }

  @Test("offsets as Python's datetime has them")
  func offsets() throws {
    var random = SeededBytes(8)
    let texts = (0..<2000).map { _ in
      func two(_ low: Int, _ high: Int) -> String {
        let value = low + random.below(high - low)
        return (value < 10 ? "0" : "") + String(value)
      }
      let date =
        "\(two(10, 98))\(two(0, 100))-\(two(1, 13))-\(two(1, 29))T\(two(0, 24)):\(two(0, 60)):\(two(0, 60))"
      return
        "\(date).\(random.digits(1 + random.below(6)))\(random.pick(["+", "-"]))\(two(0, 24)):\(two(0, 60))"
    }
    let program = """
      import sys
      from datetime import datetime, timedelta, timezone
      for line in sys.stdin.readlines():
          t = datetime.fromisoformat(line.strip())
          print((t - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1))
      """
    for (text, expected) in zip(texts, try PythonOracle.lines(program, texts)) {
      if Self.parse(text) != Int64(expected) { Issue.record("\(text) is not \(expected)") }
    }
  }
}
