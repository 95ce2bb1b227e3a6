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

  /// Seconds with two decimals, as in `1.02 s`.
  var secondsText: String {
    let hundredths = components.seconds * 100 + components.attoseconds / 10_000_000_000_000_000
    return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) s"
  }
}
