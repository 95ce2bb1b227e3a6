import TestSupport
import Testing

@testable import SyncEngine

/// The exact values of number tokens.
@Suite(.once)
struct NumberTokenTests {
  private func token(_ text: String) -> NumberToken? {
    var text = text
    return text.withUTF8 { NumberToken($0) }
  }

  @Test("limits of 64 bits")
  func limits() {
    #expect(token("9223372036854775807")?.integer == .max)
    #expect(token("9223372036854775808")?.integer == nil)
    #expect(token("-9223372036854775808")?.integer == .min)
    #expect(token("-9223372036854775809")?.integer == nil)
    #expect(token("9.223372036854775807e18")?.integer == .max)
    #expect(token("-922337203685477580800e-2")?.integer == .min)
    #expect(token("9223372036854775807.9")?.floored(timesTenTo: 0) == .max)
    #expect(token("-9223372036854775807.1")?.floored(timesTenTo: 0) == .min)
    #expect(token("-9223372036854775808.1")?.floored(timesTenTo: 0) == nil)
    #expect(token("9223372036854775.8079")?.floored(timesTenTo: 3) == .max)
    #expect(token("9223372036854775.808")?.floored(timesTenTo: 3) == nil)
    #expect(token("1e19")?.integer == nil)
    #expect(token("1e400")?.integer == nil)
    #expect(token("1e999999999999999999999")?.integer == nil)
  }

  @Test("fractions and zeros")
  func fractions() {
    #expect(token("-0")?.integer == 0)
    #expect(token("-0.000")?.floored(timesTenTo: 3) == 0)
    #expect(token("0e999999999999999999999")?.integer == 0)
    #expect(token("1.0")?.integer == 1)
    #expect(token("1.5")?.integer == nil)
    #expect(token("15e-1")?.integer == nil)
    #expect(token("150e-1")?.integer == 15)
    #expect(token("-0.0001")?.floored(timesTenTo: 3) == -1)
    #expect(token("0.0001")?.floored(timesTenTo: 3) == 0)
    #expect(token("1e-999999999999999999999")?.floored(timesTenTo: 3) == 0)
    #expect(token("-1e-999999999999999999999")?.floored(timesTenTo: 3) == -1)
    #expect(token("0." + String(repeating: "0", count: 3000) + "1e3001")?.integer == 1)
    #expect(token("1" + String(repeating: "0", count: 3000) + "e-3000")?.integer == 1)
  }

  @Test(
    "no numbers",
    arguments: [
      "", "-", "+1", "01", "-01", ".5", "1.", "1.e1", "1e", "1e+", "0x1", "1 ", " 1", "1a", "NaN", "--1",
      "1e1.0",
    ])
  func refused(_ text: String) {
    #expect(token(text) == nil)
    #expect(token(text + "\0") == nil)
  }

  @Test("values as Python's decimal has them")
  func oracle() throws {
    var random = SeededBytes(11)
    let cases = (0..<4000).map { _ in
      var text = random.pick(["", "-"])
      let whole = random.digits(1 + random.below(20)).drop { $0 == "0" }
      text += whole.isEmpty ? "0" : String(whole)
      if random.below(2) == 0 { text += "." + random.digits(1 + random.below(22)) }
      if random.below(2) == 0 { text += random.pick(["e", "E", "e+", "e-"]) + String(random.below(28)) }
      if random.below(20) == 0 {
        text = random.pick(["9223372036854775807", "-9223372036854775808", "9223372036854775808"])
        text += random.pick(["", ".0", ".1", "e0", "0e-1", "1e-1"])
      }
      return (text: text, power: random.pick([0, 0, 3, 1, -3]))
    }
    let program = """
      import sys
      from decimal import Decimal, ROUND_FLOOR, getcontext
      getcontext().prec = 400
      def fit(v): return str(v) if -2**63 <= v < 2**63 else "nil"
      for line in sys.stdin.readlines():
          token, power = line.split()
          value = Decimal(token)
          whole = int(value.to_integral_value(ROUND_FLOOR))
          exact = fit(whole) if whole == value else "nil"
          print(exact, fit(int(value.scaleb(int(power)).to_integral_value(ROUND_FLOOR))))
      """
    let expected = try PythonOracle.lines(program, cases.map { "\($0.text) \($0.power)" })
    for (item, expected) in zip(cases, expected) {
      let number = token(item.text)
      let integer = number?.integer.map { String($0) } ?? "nil"
      let floored = number?.floored(timesTenTo: item.power).map { String($0) } ?? "nil"
      if "\(integer) \(floored)" != expected {
        Issue.record("\(item.text) × 10^\(item.power): \(integer) \(floored), not \(expected)")
      }
    }
  }
}
