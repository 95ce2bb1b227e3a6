import HTTP

extension Duration {
  /// Reads `200ms`, `30s`, `5m`, `1h` or `1d`; nil for anything else, and for zero.
  init?(text: String) {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let count = Int64(digits), count > 0, count <= 1_000_000_000 else { return nil }
    switch text.dropFirst(digits.count) {
    case "ms": self = .milliseconds(count)
    case "s": self = .seconds(count)
    case "m": self = .seconds(count * 60)
    case "h": self = .seconds(count * 3600)
    case "d": self = .seconds(count * 86_400)
    default: return nil
    }
  }

  /// As the configuration has it: `30s`, `5m`, in the largest unit that it is a whole number of.
  var short: String {
    let count = milliseconds
    for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)] as [(String, Int)]
    where count >= size && count % size == 0 { return "\(count / size)\(unit)" }
    return "\(count)ms"
  }

  /// `12 ms`, or from a second on `1.02 s`.
  var readable: String {
    let thousandths = milliseconds
    if thousandths < 1000 { return "\(thousandths) ms" }
    let hundredths = thousandths / 10 % 100
    return "\(thousandths / 1000).\(hundredths < 10 ? "0" : "")\(hundredths) s"
  }
}
