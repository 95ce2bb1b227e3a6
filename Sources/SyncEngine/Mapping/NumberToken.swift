/// The exact value of a JSON number token: an integer times a power of ten.
struct NumberToken {
  private let isNegative: Bool
  /// Significant digits, without leading and trailing zeros.
  private let digits: [UInt8]
  /// value = digits × 10^exponent
  private let exponent: Int
  /// Digits behind the decimal point as it was written, the exponent applied; negative for zeros in front of it.
  private let scale: Int
  private let hasExponent: Bool

  /// Nil unless the text is a number as JSON writes them (RFC 8259 §6).
  ///
  /// - Parameter mayPad: whether zeros may stand in front, as in the parts of a clock's time.
  init?(_ text: UnsafeBufferPointer<UInt8>, mayPad: Bool = false) {
    var index = 0
    func isDigit(_ index: Int) -> Bool { index < text.count && text[index] >= 0x30 && text[index] <= 0x39 }
    var digits: [UInt8] = []
    var exponent = 0
    isNegative = text.first == UInt8(ascii: "-")
    if isNegative { index += 1 }
    guard isDigit(index) else { return nil }
    if text[index] == 0x30 && !mayPad {
      index += 1
    } else {
      while isDigit(index) {
        digits.append(text[index] & 15)
        index += 1
      }
    }
    if index < text.count, text[index] == UInt8(ascii: ".") {
      index += 1
      guard isDigit(index) else { return nil }
      while isDigit(index) {
        digits.append(text[index] & 15)
        exponent -= 1
        index += 1
      }
    }
    hasExponent = index < text.count && text[index] | 0x20 == UInt8(ascii: "e")
    if hasExponent {
      index += 1
      var sign = 1
      if index < text.count, text[index] == UInt8(ascii: "+") || text[index] == UInt8(ascii: "-") {
        sign = text[index] == UInt8(ascii: "-") ? -1 : 1
        index += 1
      }
      guard isDigit(index) else { return nil }
      var value = 0
      while isDigit(index) {
        // Beyond any type's range already; more digits change nothing.
        value = min(value * 10 + Int(text[index] & 15), 1_000_000_000)
        index += 1
      }
      exponent += sign * value
    }
    guard index == text.count else { return nil }
    scale = -exponent
    while digits.last == 0 {
      digits.removeLast()
      exponent += 1
    }
    self.digits = Array(digits.drop { $0 == 0 })
    self.exponent = exponent
  }

  /// The value, if it is an integer of 64 bits.
  var integer: Int64? { integer(timesTenTo: 0) }

  /// The value × 10^power, if that is an integer of 64 bits.
  func integer(timesTenTo power: Int) -> Int64? {
    if digits.isEmpty { return 0 }
    return exponent + power >= 0 ? floored(timesTenTo: power) : nil
  }

  /// The value × 10^power, rounded toward negative infinity; nil beyond 64 bits.
  func floored(timesTenTo power: Int) -> Int64? {
    let shift = exponent + power
    if digits.isEmpty { return 0 }
    guard digits.count + shift <= 19 else { return nil }
    let kept = max(0, min(digits.count, digits.count + shift))
    var value: Int64 = 0
    for digit in digits[..<kept] {
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, overflow2) = product.subtractingReportingOverflow(Int64(digit))
      if overflow || overflow2 { return nil }
      value = sum  // negative: Int64.min has no positive counterpart
    }
    for _ in 0..<max(0, shift) {
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      if overflow { return nil }
      value = product
    }
    // A fraction was cut: the digits are all significant, so what was cut is not zero.
    if isNegative {
      if kept < digits.count {
        let (lower, overflow) = value.subtractingReportingOverflow(1)
        return overflow ? nil : lower
      }
      return value
    }
    return value == .min ? nil : -value
  }

  /// The most digits of a decimal: what Foundation's `Decimal` holds exactly.
  static let decimalDigits = 38

  /// The value without an exponent, with as many digits behind the point as were written: `1.10` stays `1.10`, `12e2`
  /// becomes `1200`. Nil for more than 38 digits, which `Decimal` does not hold.
  var decimal: String? {
    let point = max(0, scale)
    // The written digits: the significant ones, and the zeros that the scale asks for behind them.
    let zeros = exponent + point
    guard digits.count + max(0, zeros) <= Self.decimalDigits, point <= Self.decimalDigits else { return nil }
    var text = digits.map { $0 + 0x30 } + Array(repeating: 0x30, count: digits.isEmpty ? 0 : max(0, zeros))
    if text.count <= point {
      text.insert(contentsOf: Array(repeating: 0x30, count: point + 1 - text.count), at: 0)
    }
    if point > 0 { text.insert(UInt8(ascii: "."), at: text.count - point) }
    let sign = isNegative && !digits.isEmpty ? "-" : ""
    return sign + String(decoding: text, as: UTF8.self)
  }

  /// Whether the number is a whole one that means every digit: one of 64 bits, or written without an exponent.
  var isExactInteger: Bool { exponent >= 0 && (!hasExponent || integer != nil) }

  /// Whether a double has exactly this value.
  func equals(_ value: Double) -> Bool {
    guard value.isFinite else { return false }
    if digits.isEmpty { return value == 0 }
    guard (value < 0) == isNegative, value.rounded(.towardZero) == value else { return false }
    // A double without a fraction is its significand times a power of two: its digits, by doubling.
    var magnitude = value.magnitude
    var doublings = 0
    while magnitude >= 0x1p63 {
      magnitude /= 2
      doublings += 1
    }
    var expansion = Array(String(UInt64(magnitude)).utf8.map { $0 & 15 }.reversed())
    for _ in 0..<doublings {
      var carry: UInt8 = 0
      for index in expansion.indices {
        let doubled = expansion[index] * 2 + carry
        expansion[index] = doubled % 10
        carry = doubled / 10
      }
      if carry > 0 { expansion.append(carry) }
    }
    let zeros = expansion.prefix { $0 == 0 }.count
    return zeros == exponent && expansion.dropFirst(zeros).reversed().elementsEqual(digits)
  }
}
