import struct FoundationEssentials.Date

/// Instants as milliseconds since 1970, in the proleptic Gregorian calendar and UTC.
package enum Timestamp {
  /// 0001-01-01T00:00:00.000Z
  static let first: Int64 = -62_135_596_800_000
  /// 9999-12-31T23:59:59.999Z
  static let last: Int64 = 253_402_300_799_999

  package static var range: ClosedRange<Int64> { first...last }

  package static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

  /// Days since 1970-01-01 of a date that exists, else nil.
  package static func days(year: Int, month: Int, day: Int) -> Int? {
    guard (1...9999).contains(year), (1...12).contains(month), day >= 1, day <= length(of: month, in: year)
    else {
      return nil
    }
    // Counts in years that begin in March, so that February 29 is the last day
    // (howardhinnant.github.io/date_algorithms.html#days_from_civil).
    let shifted = month > 2 ? year : year - 1
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func length(of month: Int, in year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// The parts of an instant in the years 1 to 9999.
  struct Parts {
    var year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, millisecond = 0

    @inline(__always)
    init(_ milliseconds: Int64) {
      let dayCount = Int(milliseconds.floorDivided(by: 86_400_000))
      var rest = Int(milliseconds) - dayCount * 86_400_000
      let shifted = dayCount + 719_468
      let era = shifted.floorDivided(by: 146_097)
      let dayOfEra = shifted - era * 146_097
      let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
      let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
      let marchMonth = (5 * dayOfYear + 2) / 153
      day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
      month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
      year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
      (hour, rest) = rest.quotientAndRemainder(dividingBy: 3_600_000)
      (minute, rest) = rest.quotientAndRemainder(dividingBy: 60_000)
      (second, millisecond) = rest.quotientAndRemainder(dividingBy: 1000)
    }
  }

  /// Length of the text that ``write(_:into:)`` makes.
  package static let textLength = 24

  /// Writes `2026-02-02T01:01:01.001Z`: text that sorts as the instants do.
  package static func write(_ milliseconds: Int64, into out: UnsafeMutablePointer<UInt8>) {
    let parts = Parts(milliseconds)
    @inline(__always)
    func pair(_ value: Int, at start: Int) {
      let value = UInt32(truncatingIfNeeded: value)
      let tens = value / 10
      out[start] = UInt8(truncatingIfNeeded: 48 + tens)
      out[start + 1] = UInt8(truncatingIfNeeded: 48 + value - tens * 10)
    }
    let century = parts.year / 100
    pair(century, at: 0)
    pair(parts.year - century * 100, at: 2)
    out[4] = UInt8(ascii: "-")
    pair(parts.month, at: 5)
    out[7] = UInt8(ascii: "-")
    pair(parts.day, at: 8)
    out[10] = UInt8(ascii: "T")
    pair(parts.hour, at: 11)
    out[13] = UInt8(ascii: ":")
    pair(parts.minute, at: 14)
    out[16] = UInt8(ascii: ":")
    pair(parts.second, at: 17)
    out[19] = UInt8(ascii: ".")
    let tens = parts.millisecond / 10
    pair(tens, at: 20)
    out[22] = UInt8(truncatingIfNeeded: 48 + parts.millisecond - tens * 10)
    out[23] = UInt8(ascii: "Z")
  }

  package static func text(_ milliseconds: Int64) -> String {
    String(unsafeUninitializedCapacity: textLength) { buffer in
      guard let base = buffer.baseAddress else { return 0 }
      write(milliseconds, into: base)
      return textLength
    }
  }

  /// Reads RFC 3339 and its near relatives; nil for anything else. A time without zone is one of `zone`, and nil
  /// where none is declared.
  package static func parse(_ text: UnsafeBufferPointer<UInt8>, zone: Zone? = nil) -> Int64? {
    var scanner = DigitScanner(text)
    guard let year = scanner.number(width: 4), scanner.take(UInt8(ascii: "-")),
      let month = scanner.number(width: 2), scanner.take(UInt8(ascii: "-")),
      let day = scanner.number(width: 2),
      let days = days(year: year, month: month, day: day),
      scanner.take(UInt8(ascii: "T")) || scanner.take(UInt8(ascii: " ")) || scanner.take(UInt8(ascii: "t")),
      let hour = scanner.number(width: 2), hour < 24, scanner.take(UInt8(ascii: ":")),
      let minute = scanner.number(width: 2), minute < 60
    else { return nil }
    var second = 0
    var milliseconds = 0
    if scanner.take(UInt8(ascii: ":")) {
      // 60 is a leap second, read as the instant that follows it (RFC 3339 §5.7).
      guard let value = scanner.number(width: 2), value <= 60 else { return nil }
      second = value
      if scanner.take(UInt8(ascii: ".")) || scanner.take(UInt8(ascii: ",")) {
        guard let fraction = scanner.fraction() else { return nil }
        milliseconds = fraction
      }
    }
    let local = days * 86_400 + hour * 3600 + minute * 60 + second
    let seconds: Int
    if scanner.isAtEnd {
      guard let instant = zone?.instant(local: local) else { return nil }
      seconds = instant
    } else {
      guard let offset = scanner.offset(), scanner.isAtEnd else { return nil }
      seconds = local - offset
    }
    // A leap second can only be the last second of a day of UTC.
    if second == 60 && seconds.floorDivided(by: 86_400) * 86_400 != seconds { return nil }
    return instant(seconds: seconds, milliseconds: milliseconds)
  }

  /// An instant as milliseconds; nil outside the years 1 to 9999.
  static func instant(seconds: Int, milliseconds: Int = 0) -> Int64? {
    let instant = Int64(seconds) * 1000 + Int64(milliseconds)
    return (first...last).contains(instant) ? instant : nil
  }
}

extension BinaryInteger {
  /// Rounded toward negative infinity; `divisor` is positive.
  @inline(__always)
  func floorDivided(by divisor: Self) -> Self {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}

/// Reads digits and single characters off a text.
struct DigitScanner {
  private let text: UnsafeBufferPointer<UInt8>
  private var position = 0

  @inline(__always)
  init(_ text: UnsafeBufferPointer<UInt8>) { self.text = text }

  @inline(__always)
  var isAtEnd: Bool { position == text.count }

  /// Exactly `width` digits.
  @inline(__always)
  mutating func number(width: Int) -> Int? {
    guard position + width <= text.count else { return nil }
    var value = 0
    for byte in text[position..<position + width] {
      guard byte >= 0x30, byte <= 0x39 else { return nil }
      value = value * 10 + Int(byte & 15)
    }
    position += width
    return value
  }

  @inline(__always)
  mutating func take(_ byte: UInt8) -> Bool {
    guard position < text.count, text[position] == byte else { return false }
    position += 1
    return true
  }

  /// `Z`, `+02:00`, `-0400` or `+13`, in seconds east of UTC.
  @inline(__always)
  mutating func offset() -> Int? {
    if take(UInt8(ascii: "Z")) || take(UInt8(ascii: "z")) { return 0 }
    let isEast = take(UInt8(ascii: "+"))
    guard isEast || take(UInt8(ascii: "-")), let hours = number(width: 2), hours < 24 else { return nil }
    var minutes = 0
    if !isAtEnd {
      _ = take(UInt8(ascii: ":"))
      guard let value = number(width: 2), value < 60 else { return nil }
      minutes = value
    }
    return (hours * 60 + minutes) * (isEast ? 60 : -60)
  }

  /// One or more digits behind a decimal point, as milliseconds; further digits are cut.
  mutating func fraction() -> Int? {
    var milliseconds = 0
    var weight = 100
    let start = position
    while position < text.count, text[position] >= 0x30, text[position] <= 0x39 {
      milliseconds += Int(text[position] & 15) * weight
      weight /= 10
      position += 1
    }
    return position > start ? milliseconds : nil
  }
}
