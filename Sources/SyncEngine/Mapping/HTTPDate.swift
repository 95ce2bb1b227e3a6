import FoundationEssentials

/// The date of an HTTP header field (RFC 9110 §5.6.7).
enum HTTPDate {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let longDays = [
    "Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday",
  ]

  /// Reads `Sun, 06 Nov 1994 08:49:37 GMT` and the two obsolete forms, `Sunday, 06-Nov-94 08:49:37 GMT` and
  /// `Sun Nov  6 08:49:37 1994`. The day of the week has to be that of the date.
  ///
  /// - Parameter now: seconds since 1970: a year of two digits is never more than 50 years ahead of it.
  static func parse(_ text: UnsafeBufferPointer<UInt8>, now: Int = Int(Date().timeIntervalSince1970))
    -> Int64?
  {
    let words = String(decoding: text, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
      .map(String.init)
    switch words.count {
    case 6 where words[5] == "GMT" && words[0].hasSuffix(","):
      return instant(
        weekday: String(words[0].dropLast()), among: days, day: words[1], month: words[2],
        year: number(words[3], width: 4), time: words[4])
    case 4 where words[3] == "GMT" && words[0].hasSuffix(","):
      let date = words[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
      guard date.count == 3, let short = number(date[2], width: 2) else { return nil }
      let thisYear = Timestamp.Parts(Int64(now) * 1000).year
      var year = thisYear / 100 * 100 + short
      if year > thisYear + 50 { year -= 100 }
      return instant(
        weekday: String(words[0].dropLast()), among: longDays, day: date[0], month: date[1], year: year,
        time: words[2])
    case 5, 6:
      // The day is padded with a blank, which leaves an empty word.
      guard words.count == 5 || words[2].isEmpty else { return nil }
      let rest = words.suffix(3)
      guard let day = rest.first, let year = words.last,
        words.count == 5 ? day.utf8.count == 2 : day.utf8.count == 1
      else { return nil }
      return instant(
        weekday: words[0], among: days, day: words.count == 5 ? day : "0" + day, month: words[1],
        year: number(year, width: 4), time: words[words.count - 2])
    default: return nil
    }
  }

  private static func instant(
    weekday: String, among weekdays: [String], day: String, month: String, year: Int?, time: String
  ) -> Int64? {
    let clock = time.split(separator: ":", omittingEmptySubsequences: false).map {
      number(String($0), width: 2)
    }
    guard let year, let day = number(day, width: 2), let month = months.firstIndex(of: month),
      let days = Timestamp.days(year: year, month: month + 1, day: day),
      weekdays[(days % 7 + 7) % 7] == weekday,
      clock.count == 3, let hour = clock[0], hour < 24, let minute = clock[1], minute < 60,
      let second = clock[2], second <= 60
    else { return nil }
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second
    if second == 60 && seconds % 86_400 != 0 { return nil }
    return Timestamp.instant(seconds: seconds)
  }

  private static func number(_ text: String, width: Int) -> Int? {
    text.utf8.count == width && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
  }

  static func string(_ milliseconds: Int64) -> String {
    let parts = Timestamp.Parts(milliseconds)
    let day = Int(milliseconds.floorDivided(by: 86_400_000))
    func padded(_ value: Int, _ width: Int = 2) -> String {
      let text = String(value)
      return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
    return
      "\(days[(day % 7 + 7) % 7]), \(padded(parts.day)) \(months[parts.month - 1]) \(padded(parts.year, 4)) \(padded(parts.hour)):\(padded(parts.minute)):\(padded(parts.second)) GMT"
  }
}
