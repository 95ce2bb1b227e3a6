/// The exact value of a JSON number token: an integer times a power of ten.
struct NumberToken {
  private let isNegative: Bool
  /// Significant digits, without leading and trailing zeros.
  private let digits: [UInt8]
  /// value = digits × 10^exponent
  private let exponent: Int

  /// Nil unless the text is a number as JSON writes them (RFC 8259 §6).
  init?(_ text: UnsafeBufferPointer<UInt8>) {
    var index = 0
    func isDigit(_ index: Int) -> Bool { index < text.count && text[index] >= 0x30 && text[index] <= 0x39 }
    var digits: [UInt8] = []
    var exponent = 0
    isNegative = text.first == UInt8(ascii: "-")
    if isNegative { index += 1 }
    guard isDigit(index) else { return nil }
    if text[index] == 0x30 {
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
    if index < text.count, text[index] | 0x20 == UInt8(ascii: "e") {
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
    while digits.last == 0 {
      digits.removeLast()
      exponent += 1
    }
    self.digits = Array(digits.drop { $0 == 0 })
    self.exponent = exponent
  }

  /// The value, if it is an integer of 64 bits.
  var integer: Int64? {
    if digits.isEmpty { return 0 }
    return exponent >= 0 ? floored(timesTenTo: 0) : nil
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
}
