/// A day of the Gregorian calendar without a time or zone: `2026-02-28`.
///
/// Years 1 to 9999. Days compare in their order.
public struct Day: Sendable, Hashable, Comparable, CustomStringConvertible {
  public let year: Int
  public let month: Int
  public let day: Int

  /// 1970-01-01, as the initial value of a property.
  public init() { (year, month, day) = (1970, 1, 1) }

  /// Nil for a day that the calendar does not have.
  public init?(year: Int, month: Int, day: Int) {
    guard Timestamp.days(year: year, month: month, day: day) != nil else { return nil }
    (self.year, self.month, self.day) = (year, month, day)
  }

  /// Reads `2026-02-28`; nil for anything else.
  public init?(_ text: String) {
    var text = text
    guard let day = text.withUTF8({ Self.parse($0) }) else { return nil }
    self = day
  }

  static func parse(_ text: UnsafeBufferPointer<UInt8>) -> Day? {
    var scanner = DigitScanner(text)
    guard let year = scanner.number(width: 4), scanner.take(UInt8(ascii: "-")),
      let month = scanner.number(width: 2), scanner.take(UInt8(ascii: "-")),
      let day = scanner.number(width: 2), scanner.isAtEnd
    else { return nil }
    return Day(year: year, month: month, day: day)
  }

  public var description: String {
    // Midnight of the day in UTC has its date in front.
    let days = Timestamp.days(year: year, month: month, day: day) ?? 0
    return String(Timestamp.text(Int64(days) * 86_400_000).prefix(10))
  }

  public static func < (a: Day, b: Day) -> Bool {
    (a.year, a.month, a.day) < (b.year, b.month, b.day)
  }
}

extension Day: KeyValue {
  public static var reading: Reading { Reading(.day) }
  public var stored: StoredValue { .text(description) }
  public init(stored: StoredValue) throws {
    guard case .text(let text) = stored, let day = Day(text) else { throw UnreadableValue(stored, Self.self) }
    self = day
  }
}
