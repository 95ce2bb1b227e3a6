/// How a length of time is written at the source. Kept to the microsecond; what is finer does not fit.
enum DurationFormat: Sendable {
  case seconds, milliseconds

  /// Microseconds; nil for what is no length of time, or not a whole number of them.
  func parse(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
    let power = self == .seconds ? 6 : 3
    if let number = NumberToken(text) { return number.integer(timesTenTo: power) }
    return Self.iso8601(text) ?? Self.clock(text)
  }

  /// `PT1H30M`, `P2DT0.5S`, `-P1W`. A day has 24 hours here; years and months have no fixed length and are refused.
  private static func iso8601(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
    var rest = Slice(base: text, bounds: text.indices)
    let isNegative = rest.first == UInt8(ascii: "-")
    if isNegative || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
    guard rest.first == UInt8(ascii: "P") else { return nil }
    rest = rest.dropFirst()
    var units: [(letter: UInt8, seconds: Int64)] = [
      (UInt8(ascii: "W"), 604_800), (UInt8(ascii: "D"), 86_400),
    ]
    var total: Int64 = 0
    var isInTime = false
    var count = 0
    while let first = rest.first {
      if first == UInt8(ascii: "T"), !isInTime {
        isInTime = true
        units = [(UInt8(ascii: "H"), 3600), (UInt8(ascii: "M"), 60), (UInt8(ascii: "S"), 1)]
        rest = rest.dropFirst()
        if rest.isEmpty { return nil }
        continue
      }
      let number = rest.prefix { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
      let behind = rest[number.endIndex...]
      // Each unit once, the larger ones first; only the last one may have a fraction (ISO 8601-1 §5.5.2.4).
      guard let letter = behind.first, let place = units.firstIndex(where: { $0.letter == letter }),
        let value = NumberToken(UnsafeBufferPointer(rebasing: number), mayPad: true)?.integer(timesTenTo: 6),
        behind.count == 1 || !number.contains(UInt8(ascii: "."))
      else { return nil }
      let (product, overflow) = value.multipliedReportingOverflow(by: units[place].seconds)
      let (sum, overflow2) = total.addingReportingOverflow(product)
      if overflow || overflow2 { return nil }
      total = sum
      count += 1
      units.removeSubrange(...place)
      rest = behind.dropFirst()
    }
    return count == 0 ? nil : isNegative ? -total : total
  }

  /// `1:30:00.5` or `90:00`: hours (or minutes) of any number, then two digits each.
  private static func clock(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
    let isNegative = text.first == UInt8(ascii: "-")
    let parts = text.dropFirst(isNegative ? 1 : 0).split(
      separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count) else { return nil }
    var total: Int64 = 0
    for (index, part) in parts.enumerated() {
      let digits = part.prefix { (0x30...0x39).contains($0) }
      let isLast = index == parts.count - 1
      // Behind the last digits a point can be, but no exponent.
      guard index == 0 ? !digits.isEmpty : digits.count == 2,
        digits.count == part.count || (isLast && part[digits.endIndex...].allSatisfy { $0 < 0x3A }),
        let value = NumberToken(UnsafeBufferPointer(rebasing: part), mayPad: true)?.integer(timesTenTo: 6),
        index == 0 || value < 60_000_000
      else { return nil }
      let (product, overflow) = total.multipliedReportingOverflow(by: 60)
      let (sum, overflow2) = product.addingReportingOverflow(value)
      if overflow || overflow2 { return nil }
      total = sum
    }
    return isNegative ? -total : total
  }

  /// A decimal number of the unit.
  func string(_ microseconds: Int64) -> String {
    let digits = self == .seconds ? 6 : 3
    let scale: UInt64 = self == .seconds ? 1_000_000 : 1000
    let (whole, rest) = microseconds.magnitude.quotientAndRemainder(dividingBy: scale)
    var text = (microseconds < 0 ? "-" : "") + String(whole)
    if rest > 0 {
      let fraction = String(rest)
      text += "." + String(repeating: "0", count: digits - fraction.utf8.count) + fraction
      while text.hasSuffix("0") { text.removeLast() }
    }
    return text
  }
}
