import FoundationEssentials

/// Values of the types that are more than a number or a text, and what is nearly one.
extension DocumentWriter {
  // MARK: Numbers

  mutating func single() {
    if chance(70) { return number(quoted: 10) }
    let token = pick([
      "16777216", "16777217", "16777218", "-16777217", "33554434", "33554435", "16777217.5", "16777217.0",
      "1e10",
      "1e11", "3.4028234663852886e38", "3.4028235e38", "3.4028236e38", "1e39", "-1e39", "1.4e-45",
      "1.401298464324817e-45",
      "1e-45", "7e-46", "1e-46", "1e22", "340282346638528859811704183484516925440", "0.1", "1.17549435e-38",
    ])
    if chance(20) { string(token) } else { word(token) }
  }

  mutating func decimal() {
    if chance(30) { return number(quoted: 20) }
    var token = chance(20) ? "-" : ""
    switch below(6) {
    case 0: token += "\(1 + below(9))" + digits(pick([0, 35, 36, 37, 38]))
    case 1: token += "0." + digits(pick([1, 36, 37, 38, 39]))
    case 2: token += "\(1 + below(9))" + digits(below(20)) + "." + digits(1 + below(20))
    case 3:
      token += "0." + String(repeating: "0", count: pick([1, 35, 36, 37, 38])) + pick(["1", "10", "0"])
    case 4:
      token += pick(["0", "1", "1.10", "12", "0.00", "123456789"]) + pick(["e", "E"])
      token += pick(["0", "1", "-1", "+3", "29", "30", "36", "37", "38", "-37", "-38", "-39", "99999999999"])
    default: token += pick(["1.10", "1,5", "1e3", "12e2", "0.0", "1.0e1", "9.99"])
    }
    if token.contains(",") || chance(30) { string(chance(95) ? token : nearly(token)) } else { word(token) }
  }

  mutating func grams() {
    if chance(10) { return anything(depth: 1) }
    string("\(pick(["", "", "-"]))\(digits(1 + below(10)))\(pick([" g", " g", " g", "g", " kg"]))")
  }

  /// An integer that is no text.
  mutating func unquotedInteger(in range: ClosedRange<Int64>) {
    if below(60) == 0 { return number(quoted: 20) }
    let value =
      chance(20)
      ? pick([range.lowerBound, range.upperBound])
      : min(max(Int64(below(300)) - 150, range.lowerBound), range.upperBound)
    word(chance(80) ? String(value) : spelling(String(value)))
  }

  // MARK: Lists

  mutating func list(_ element: (inout DocumentWriter) -> Void) {
    if below(20) == 0 { return anything(depth: 2) }
    array(below(5)) { writer, _ in
      if writer.below(60) == 0 { writer.anything(depth: 1) } else { element(&writer) }
    }
  }

  mutating func string() { string(characters()) }

  mutating func dictionary() {
    object((0..<below(4)).map { _ in nil }) { writer, _ in writer.anything(depth: 2) }
  }

  // MARK: Texts

  mutating func hexDigits(_ count: Int) -> String {
    let all = Array(chance(50) ? "0123456789abcdef" : "0123456789ABCDEF")
    return (0..<count).reduce(into: "") { text, _ in text.append(pick(all)) }
  }

  mutating func uuid() {
    let plain = hexDigits(32)
    if chance(20) { return string(chance(90) ? plain : nearly(plain)) }
    var text = ""
    for (position, digit) in plain.enumerated() {
      if [8, 12, 16, 20].contains(position), chance(99) { text += "-" }
      text.append(digit)
    }
    string(chance(95) ? text : nearly(text))
  }

  mutating func base64() {
    let bytes = Data((0..<below(12)).map { _ in UInt8(below(256)) })
    var text = bytes.base64EncodedString()
    if chance(40) { text = text.replacing("+", with: "-").replacing("/", with: "_") }
    if chance(40) { text = text.replacing("=", with: "") }
    if below(15) == 0 {
      text = pick([
        "QQ=", "QR==", "QQ===", "Q", "QUI", "QUJ=", "====", "=", "QQ==QQ==", "Q Q=", "+-", "/_8", "é",
      ])
    }
    string(chance(97) ? text : nearly(text))
  }

  mutating func hexadecimal() {
    let text = hexDigits(chance(95) ? 2 * below(10) : below(20))
    string(chance(97) ? text : nearly(text))
  }

  mutating func isbn() {
    let plain = digits(13)
    if chance(20) { return word("9" + digits(12)) }
    var text = ""
    for digit in plain {
      if chance(20) { text += "-" }
      text.append(digit)
    }
    string(chance(92) ? text : nearly(text))
  }

  // MARK: Times

  mutating func calendarDay() {
    let (year, month, day) = day()
    let text = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    string(
      chance(95) ? text : pick([nearly(text), "2024-2-9", "20240229", "2024-02-29T00:00:00Z", "24-02-29"]))
  }

  /// Days on and around which clocks change, or a day is left out or comes twice.
  private static let changes = [
    "2024-03-31", "2024-10-27", "2024-03-10", "2024-11-03", "2024-10-06", "2024-04-07", "2011-12-29",
    "2011-12-30", "2011-12-31", "2025-02-23", "2025-04-06", "2087-04-20", "2099-03-29", "2099-10-25",
    "2099-10-04",
    "9999-12-31", "0001-01-01", "0001-01-02", "1892-07-04", "1892-07-05", "1893-04-01", "1883-11-18",
    "1945-05-24",
    "1901-12-14", "2037-10-25", "2038-01-19", "2038-03-28", "2500-03-28", "1981-03-01", "1947-05-11",
    "1978-06-01",
  ]

  mutating func localTime() {
    let (year, month, day) = day()
    var text = chance(60) ? pick(Self.changes) : "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    text += pick(["T", "T", " "]) + padded(chance(70) ? below(4) : below(24), 2) + ":" + padded(below(60), 2)
    if chance(70) { text += ":" + padded(below(60), 2) }
    if text.utf8.count > 16, chance(30) { text += "." + digits(1 + below(6)) }
    if below(60) == 0 {
      text = pick(["2016-12-31T23:59:60", "2017-01-01T00:59:60", "2017-01-01T05:29:60", text + "Z"])
    }
    string(chance(97) ? text : nearly(text))
  }

  mutating func duration() {
    if chance(25) { return unix(perSecond: 1) }
    if chance(10) { return number(quoted: 30) }
    var text = ""
    if chance(40) {
      text = pick(["", "", "", "-"]) + String(below(200))
      if chance(60) { text += ":" + padded(below(60), 2) }
      text += ":" + padded(chance(98) ? below(60) : below(100), 2)
      if chance(30) { text += "." + digits(1 + below(pick([3, 6, 8]))) }
      if below(30) == 0 { text += pick(["e0", "E1", "e-1", ":00", "0", ".", ",5"]) }
      return string(chance(97) ? text : nearly(text))
    }
    text = pick(["", "", "", "-", "+"]) + "P"
    if chance(10) { text += "\(below(60))W" }
    if chance(30) { text += "\(below(60))D" }
    if chance(2) { text += pick(["1Y", "2M"]) }
    if chance(80) {
      text += "T"
      if chance(40) { text += "\(below(99))H" }
      if chance(40) { text += "\(below(99))M" }
      if chance(60) {
        text +=
          chance(60)
          ? "\(below(99))S" : "\(below(99))\(pick([".", ".", ","]))\(digits(1 + below(pick([3, 6, 9]))))S"
      }
    }
    if below(20) == 0 {
      text = pick([
        "P", "PT", "P1DT", "PT1.5H", "PT0.5M30S", "P0.5D", "PT1S1M", "PT1M1M", "pt1h", "PT-1S", "P1M",
        "PT0.0000001H",
        "PT0.0000001S", "P-1D", "-P1W", "PT9223372036854.775807S", "PT9223372036854.775808S",
        "-PT9223372036854.775808S", "PT1e1S", "PT.5S", "PT5.S", "P99999999999999999999D",
        "2562047788:00:54.775807",
        "2562047788:00:54.775808", "1:2", "1:02:3", "01:02", ":30", "1::2", "1:60", "-0:00",
      ])
    }
    string(chance(98) ? text : nearly(text))
  }

  private static let weekdays = [
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
  ]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  mutating func httpDate() {
    // Counted in days from 1600-01-01, a Saturday.
    let number = chance(80) ? 120_000 + below(60_000) : below(3_000_000)
    var (year, rest) = (1600, number)
    func isLeap() -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
    while rest >= (isLeap() ? 366 : 365) {
      rest -= isLeap() ? 366 : 365
      year += 1
    }
    var month = 0
    while true {
      let length = [31, isLeap() ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month]
      if rest < length { break }
      rest -= length
      month += 1
    }
    let weekday = Self.weekdays[(number + 5 + (chance(97) ? 0 : 1)) % 7]
    let short = String(weekday.prefix(3))
    let clock = "\(padded(below(chance(99) ? 24 : 26), 2)):\(padded(below(60), 2)):\(padded(below(60), 2))"
    let name = Self.months[month]
    var text =
      switch below(4) {
      case 0: "\(weekday), \(padded(rest + 1, 2))-\(name)-\(padded(year % 100, 2)) \(clock) GMT"
      case 1: "\(short) \(name) \(rest < 9 ? " \(rest + 1)" : String(rest + 1)) \(clock) \(padded(year, 4))"
      default: "\(short), \(padded(rest + 1, 2)) \(name) \(padded(year, 4)) \(clock) GMT"
      }
    if below(30) == 0 {
      text = pick([
        text.replacing("GMT", with: "UTC"), text.uppercased(), "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun Nov 06 08:49:37 1994",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sat, 31 Dec 2016 23:59:60 GMT", "Sat, 31 Dec 2016 22:59:60 GMT",
        "Sun,  06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Mon, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sat, 01 Jan 0000 00:00:00 GMT",
      ])
    }
    string(chance(97) ? text : nearly(text))
  }
}
