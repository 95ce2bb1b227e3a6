import Foundation
import TestSupport
import Testing

@testable import SyncEngine

/// Instants and numbers, read from text.
@Suite("Instants and number tokens")
struct InstantTests {
  private func instant(_ text: String) -> String? {
    var text = text
    return text.withUTF8 { Timestamp.parse($0) }.map { Timestamp.text($0) }
  }

  @Test(
    "RFC 3339 and its relatives",
    arguments: [
      ("2013-11-13T05:33:02.965Z", "2013-11-13T05:33:02.965Z"),
      ("2014-04-29T14:18:17-0400", "2014-04-29T18:18:17.000Z"),
      ("2011-12-15T15:35:06.000+1300", "2011-12-15T02:35:06.000Z"),
      ("2024-10-27T02:30:00+02", "2024-10-27T00:30:00.000Z"),
      ("2024-05-02 00:00:00.000Z", "2024-05-02T00:00:00.000Z"),
      ("2024-02-29t23:59:59.9999z", "2024-02-29T23:59:59.999Z"),
      ("1969-12-31T23:59:59.9995Z", "1969-12-31T23:59:59.999Z"),
      ("1900-03-01T00:00:00Z", "1900-03-01T00:00:00.000Z"),
      ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
      ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999Z"),
      ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"), ("2024-01-01T10:30Z", "2024-01-01T10:30:00.000Z"),
      ("2024-01-01T00:00:00,5Z", "2024-01-01T00:00:00.500Z"),
      ("2024-03-01T00:15:00+00:30", "2024-02-29T23:45:00.000Z"),
    ])
  func accepted(_ text: String, _ expected: String) { #expect(instant(text) == expected) }

  @Test(
    "other forms, days that are none and times without a zone are refused",
    arguments: [
      "", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z",
      "2024-04-31T00:00:00Z",
      "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z", "2024-01-01T00:00:61Z", "2024-01-01T00:00:00",
      "2024-01-01", "2024-1-1T00:00:00Z",
      "2024-W01-1T00:00:00Z", "2024-001T00:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00",
      "9999-12-31T23:59:59-00:01", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00Zx", " 2024-01-01T00:00:00Z",
      "2024-01-01T00:00:00+2400",
      "2024-01-01T00:00:00+01:60", "20240101T000000Z", "-024-01-01T00:00:00Z",
    ])
  func refused(_ text: String) { #expect(instant(text) == nil) }

  @Test("text that was written is read back, and sorts as the instants do")
  func roundTrip() {
    var generator = SeededGenerator(7)
    let instants = (0..<5000).map { _ in Int64.random(in: Timestamp.first...Timestamp.last, using: &generator)
    }.sorted()
    let texts = instants.map { Timestamp.text($0) }
    #expect(texts == texts.sorted())
    for (instant, text) in zip(instants, texts) {
      var copy = text
      #expect(copy.withUTF8 { Timestamp.parse($0) } == instant, "\(text)")
      // Foundation's calendar is the oracle for the days it shares with the proleptic one.
      if instant > -12_219_292_800_000 {
        let date = Date(timeIntervalSince1970: Double(instant.floorDivided(by: 1000)))
        #expect(date.formatted(.iso8601).dropLast() == text.prefix(19), "\(text)")
      }
    }
  }

  @Test("fixed patterns read and write the same text")
  func patterns() throws {
    func read(_ pattern: String, _ text: String) -> String? {
      var text = text
      let pattern = DatePattern(pattern)
      let value = text.withUTF8 { pattern.parse($0) }
      if let value { #expect(pattern.string(value) == text) }
      return value.map { Timestamp.text($0) }
    }
    #expect(read("yyyyMMdd", "20240229") == "2024-02-29T00:00:00.000Z")
    #expect(read("yyyy-MM-ddTHH:mm:ss.SSS", "2016-09-21T15:45:00.007") == "2016-09-21T15:45:00.007Z")
    #expect(read("dd.MM.yyyy HH:mm", "31.12.1999 23:59") == "1999-12-31T23:59:00.000Z")
    #expect(read("yyyyMMdd", "20230229") == nil)
    #expect(read("yyyyMMdd", "2024022") == nil)
    #expect(read("yyyyMMdd", "202402290") == nil)
    #expect(DatePattern("yyyyMMdd").fault == nil)
    #expect(DatePattern("dd MMM yy").fault != nil)
    #expect(DatePattern("MMdd").fault != nil)
  }

  @Test("number tokens: integers without loss, other scales rounded toward the past")
  func tokens() {
    func token(_ text: String) -> NumberToken? {
      var text = text
      return text.withUTF8 { NumberToken($0) }
    }
    let integers: [(String, Int64?)] = [
      ("0", 0), ("-0", 0), ("-0.0", 0), ("12", 12), ("12.0", 12), ("1.2e1", 12), ("1200e-2", 12),
      ("0.00012e5", 12),
      ("12.5", nil), ("1e-1", nil), ("9223372036854775807", .max), ("-9223372036854775808", .min),
      ("9223372036854775808", nil), ("-9223372036854775809", nil), ("9.223372036854775807e18", .max),
      ("1e18", 1_000_000_000_000_000_000),
      ("1e19", nil), ("1e999999999999", nil), ("0e999999999999", 0), ("1e-999999999999", nil),
    ]
    for (text, value) in integers { #expect(token(text)?.integer == value, "\(text)") }
    for text in ["", "-", "+1", "01", "1.", ".1", "1e", "0x1", " 1", "1 ", "1,0", "NaN"] {
      #expect(token(text) == nil, "\(text)")
    }
    #expect(token("1.0005")?.floored(timesTenTo: 3) == 1000)
    #expect(token("-1.0005")?.floored(timesTenTo: 3) == -1001)
    #expect(token("-1")?.floored(timesTenTo: 3) == -1000)
    #expect(token("1478198296090")?.floored(timesTenTo: 0) == 1_478_198_296_090)
    #expect(token("0.0001")?.floored(timesTenTo: 3) == 0)
    #expect(token("-0.0001")?.floored(timesTenTo: 3) == -1)
  }
}
