import FoundationEssentials

/// How an instant is written at the source.
enum TimestampFormat: Sendable {
  /// RFC 3339; a text without zone is read in the given one.
  case iso8601(Zone?)
  /// A number since 1970, `perSecond` of them in a second: 1 or 1000.
  case unix(perSecond: Int)
  case pattern(DatePattern, Zone)
  /// RFC 9110 §5.6.7.
  case http

  /// Why the format cannot work; the start of the program refuses it.
  var fault: String? {
    switch self {
    case .iso8601(let zone): zone?.fault
    case .unix, .http: nil
    case .pattern(let pattern, let zone): pattern.fault ?? zone.fault
    }
  }

  func string(_ milliseconds: Int64) -> String {
    switch self {
    case .iso8601: Timestamp.text(milliseconds)
    case .unix(let perSecond):
      String(milliseconds.floorDivided(by: Int64(1000 / perSecond)))
    case .pattern(let pattern, let zone): pattern.string(milliseconds, in: zone)
    case .http: HTTPDate.string(milliseconds)
    }
  }
}

/// A date of fixed width: `yyyy`, `MM`, `dd`, `HH`, `mm`, `ss`, `SSS` and literal characters, in UTC.
struct DatePattern: Sendable {
  private enum Part: Sendable { case year, month, day, hour, minute, second, millisecond, literal(UInt8) }

  private let parts: [Part]
  /// Why the pattern cannot work; the start of the program refuses it.
  let fault: String?

  init(_ pattern: String) {
    let names: [(String, Part)] = [
      ("yyyy", .year), ("MM", .month), ("dd", .day), ("HH", .hour), ("mm", .minute), ("ss", .second),
      ("SSS", .millisecond),
    ]
    var parts: [Part] = []
    var rest = Substring(pattern)
    var fault: String?
    // Names of parts, literals left out.
    var order: [String] = []
    while let first = rest.first {
      if let (name, part) = names.first(where: { rest.hasPrefix($0.0) }) {
        parts.append(part)
        order.append(name)
        rest = rest.dropFirst(name.count)
      } else {
        if first.isLetter && first != "T" && first != "Z" {
          fault =
            "the date pattern \"\(pattern)\" holds \"\(first)\": it knows yyyy, MM, dd, HH, mm, ss and SSS"
        }
        parts += first.utf8.map { .literal($0) }
        rest = rest.dropFirst()
      }
    }
    self.parts = parts
    self.fault = fault ?? Self.fault(in: order).map { "the date pattern \"\(pattern)\" \($0)" }
  }

  /// What of the parts is missing, doubled, or a month where a minute is meant.
  private static func fault(in order: [String]) -> String? {
    if !order.contains("yyyy") { return "has no yyyy" }
    if let part = order.first(where: { part in order.filter { $0 == part }.count > 1 }) {
      return "has \(part) twice"
    }
    let hour = order.firstIndex(of: "HH")
    if let minute = order.firstIndex(of: "mm"), hour.map({ abs($0 - minute) }) != 1 {
      return "has mm, minutes, but no HH beside it: a month is MM"
    }
    if let month = order.firstIndex(of: "MM"), let hour, month == hour + 1 {
      return "has MM, a month, behind HH: minutes are mm"
    }
    return nil
  }

  func parse(_ text: UnsafeBufferPointer<UInt8>, in zone: Zone = .utc) -> Int64? {
    var scanner = DigitScanner(text)
    var (year, month, day, hour, minute, second, millisecond) = (0, 1, 1, 0, 0, 0, 0)
    for part in parts {
      switch part {
      case .literal(let byte): guard scanner.take(byte) else { return nil }
      case .year: guard let value = scanner.number(width: 4) else { return nil }; year = value
      case .month: guard let value = scanner.number(width: 2) else { return nil }; month = value
      case .day: guard let value = scanner.number(width: 2) else { return nil }; day = value
      case .hour: guard let value = scanner.number(width: 2), value < 24 else { return nil }; hour = value
      case .minute: guard let value = scanner.number(width: 2), value < 60 else { return nil }; minute = value
      case .second: guard let value = scanner.number(width: 2), value < 60 else { return nil }; second = value
      case .millisecond: guard let value = scanner.number(width: 3) else { return nil }; millisecond = value
      }
    }
    guard scanner.isAtEnd, let days = Timestamp.days(year: year, month: month, day: day) else { return nil }
    return zone.instant(local: ((days * 24 + hour) * 60 + minute) * 60 + second)
      .flatMap { Timestamp.instant(seconds: $0, milliseconds: millisecond) }
  }

  func string(_ milliseconds: Int64, in zone: Zone = .utc) -> String {
    let values = Timestamp.Parts(milliseconds + Int64(zone.offset(at: milliseconds)) * 1000)
    var bytes: [UInt8] = []
    for part in parts {
      switch part {
      case .literal(let byte): bytes.append(byte)
      case .year: bytes += padded(values.year, 4)
      case .month: bytes += padded(values.month, 2)
      case .day: bytes += padded(values.day, 2)
      case .hour: bytes += padded(values.hour, 2)
      case .minute: bytes += padded(values.minute, 2)
      case .second: bytes += padded(values.second, 2)
      case .millisecond: bytes += padded(values.millisecond, 3)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func padded(_ value: Int, _ width: Int) -> [UInt8] {
    let digits = Array(String(value).utf8)
    return Array(repeating: UInt8(ascii: "0"), count: max(0, width - digits.count)) + digits
  }
}
