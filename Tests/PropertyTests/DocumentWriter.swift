import TestSupport

@testable import SyncEngine

/// Writes random JSON documents: the same ones for the same seed.
struct DocumentWriter {
  private var generator: SeededGenerator
  var bytes: [UInt8] = []
  /// In a thousand values, how many are of any kind instead of the one that their place asks for.
  private var oddness = 0
  /// In a hundred gaps, how many hold white space.
  private var spacing = 0

  init(_ seed: UInt64) { generator = SeededGenerator(seed) }

  // MARK: Chance

  mutating func below(_ bound: Int) -> Int { Int(truncatingIfNeeded: generator.next() >> 33) % bound }

  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  mutating func pick<T>(_ values: [T]) -> T { values[below(values.count)] }

  // MARK: Documents

  /// One document in the shape of the mapping.
  mutating func document(for mapping: TestedMapping) -> [UInt8] {
    bytes.removeAll(keepingCapacity: true)
    oddness = pick([0, 0, 0, 2, 20, 100, 300])
    spacing = pick([0, 0, 5, 50])
    if below(200) == 0 { bytes += [0xEF, 0xBB, 0xBF] }
    space()
    records(mapping.table, mapping.table.rowsPath[...])
    space()
    if below(100) == 0 { damage() }
    return bytes
  }

  private mutating func damage() {
    for _ in 0...below(2) where !bytes.isEmpty {
      let index = below(bytes.count)
      switch below(4) {
      case 0: bytes.remove(at: index)
      case 1: bytes.insert(bytes[index], at: index)
      case 2: bytes[index] = pick(Array(#"{}[],:"\0-.eE u"#.utf8) + [0, 0x1F, 0x80, 0xC3, 0xED, 0xFF])
      default: bytes.removeLast(below(bytes.count))
      }
    }
  }

  /// The way to the records, and then them.
  private mutating func records(_ table: TestedTable, _ path: ArraySlice<TestedPath.Step>) {
    if below(1000) < oddness / 10 { return anything(depth: 2) }
    guard let step = path.first, step != .wildcard else { return list(table, path.dropFirst()) }
    switch step {
    case .key(let key):
      var keys: [String?] = [key]
      if chance(40) { keys.insert(nil, at: below(2)) }
      if chance(5) { keys.append(pick(["error", "errors"])) }
      object(keys) { writer, position in
        guard keys[position] == key else {
          return writer.chance(50)
            ? writer.word(writer.pick(["null", "[]", "{}", "0", "\"\"", "false"])) : writer.anything(depth: 1)
        }
        writer.records(table, path.dropFirst())
      }
    case .index(let index):
      array(index + 1 + (chance(30) ? 1 : 0)) { writer, position in
        if position == index { writer.records(table, path.dropFirst()) } else { writer.anything(depth: 1) }
      }
    case .wildcard: break
    }
  }

  /// The records of a table, in its shape; with a path, that from each element to its record.
  private mutating func list(_ table: TestedTable, _ path: ArraySlice<TestedPath.Step>) {
    let count = below(table.rows.shape == .list && below(10) == 0 ? 9 : 5)
    switch table.rows.shape {
    case .object: return chance(5) ? word("null") : record(table)
    case .listOrObject where chance(40): return record(table)
    case .byKey: return object((0..<count).map { _ in nil }) { writer, _ in writer.element(table, path) }
    default:
      if table.rows.isNullEmpty && chance(10) { return word("null") }
      return array(count) { writer, _ in writer.element(table, path) }
    }
  }

  private mutating func element(_ table: TestedTable, _ path: ArraySlice<TestedPath.Step>) {
    guard let step = path.first else { return record(table) }
    if chance(10) { return chance(60) ? word(pick(["null", "{}", "[]", "1"])) : anything(depth: 1) }
    switch step {
    case .key(let key):
      object(chance(10) ? [key, nil] : [key]) { writer, position in
        if position == 0 { writer.element(table, path.dropFirst()) } else { writer.anything(depth: 1) }
      }
    case .index(let index):
      array(index + 1) { writer, position in
        if position == index { writer.element(table, path.dropFirst()) } else { writer.word("null") }
      }
    case .wildcard: break
    }
  }

  private mutating func record(_ table: TestedTable) {
    if below(1000) < oddness / 3 { return anything(depth: 2) }
    value(at: table.tree)
  }

  private mutating func value(at tree: TestedPath.Tree) {
    if below(1000) < oddness { return anything(depth: 2) }
    if below(1000) < 8 { return word("null") }
    if !tree.tables.isEmpty, tree.isLeaf || chance(70) {
      let table = pick(tree.tables)
      return list(table, table.rowsPath.drop { $0 != .wildcard }.dropFirst())
    }
    if !tree.types.isEmpty, tree.isLeaf || chance(40) {
      return pick(tree.types).value(&self)
    }
    if let element = tree.wildcard.first, tree.members.isEmpty || chance(70) {
      return array(below(4)) { writer, position in writer.value(at: tree.elements[position] ?? element) }
    }
    if !tree.elements.isEmpty, tree.members.isEmpty || chance(50) {
      let last = tree.elements.keys.max() ?? 0
      return array(chance(85) ? last + 1 : below(last + 3)) { writer, position in
        if let child = tree.elements[position] { writer.value(at: child) } else { writer.anything(depth: 1) }
      }
    }
    // Every member once, with some left out, doubled, out of order, or among others.
    var keys: [String?] = []
    for member in tree.members where !chance(3) {
      keys.append(member.key)
      if below(1000) < 2 + oddness / 5 { keys.append(member.key) }
    }
    for _ in 0..<(chance(30) ? below(4) : 0) { keys.append(nil) }
    if chance(30) { keys.shuffle(using: &generator) }
    object(keys) { writer, position in
      guard let key = keys[position],
        let child = tree.members.first(where: { $0.key.utf8.elementsEqual(key.utf8) })
      else { return writer.anything(depth: 2) }
      writer.value(at: child.tree)
    }
  }

  // MARK: Containers

  /// An object with the given keys; nil stands for any.
  mutating func object(
    _ keys: [String?], _ value: (inout DocumentWriter, _ position: Int) -> Void
  ) {
    bytes.append(UInt8(ascii: "{"))
    space()
    for position in keys.indices {
      if position > 0 {
        bytes.append(UInt8(ascii: ","))
        space()
      }
      string(keys[position] ?? anyKey())
      space()
      bytes.append(UInt8(ascii: ":"))
      space()
      value(&self, position)
      space()
    }
    bytes.append(UInt8(ascii: "}"))
  }

  mutating func array(_ count: Int, _ value: (inout DocumentWriter, _ position: Int) -> Void) {
    bytes.append(UInt8(ascii: "["))
    space()
    for position in 0..<count {
      if position > 0 {
        bytes.append(UInt8(ascii: ","))
        space()
      }
      value(&self, position)
      space()
    }
    bytes.append(UInt8(ascii: "]"))
  }

  mutating func anyKey() -> String {
    chance(30) ? TestedPath.key(&self) : chance(20) ? "" : chance(30) ? String(below(100)) : characters()
  }

  private static let flat = TestedType.all.filter { !$0.isJSON }

  /// Any JSON value.
  mutating func anything(depth: Int) {
    switch below(depth > 0 ? 10 : 7) {
    case 0: word(pick(["null", "true", "false"]))
    case 1: number(quoted: 0)
    case 2: textual()
    case 3...6: pick(Self.flat).value(&self)
    case 7: array(below(4)) { writer, _ in writer.anything(depth: depth - 1) }
    case 8: object((0..<below(4)).map { _ in nil }) { writer, _ in writer.anything(depth: depth - 1) }
    default:
      let levels = 1 + below(40)
      for _ in 0..<levels { bytes.append(UInt8(ascii: "[")) }
      anything(depth: 0)
      for _ in 0..<levels { bytes.append(UInt8(ascii: "]")) }
    }
  }

  mutating func word(_ text: String) { bytes += Array(text.utf8) }

  private mutating func space() {
    guard spacing > 0, below(100) < spacing else { return }
    for _ in 0...below(3) { bytes.append(pick([0x20, 0x20, 0x09, 0x0A, 0x0D])) }
    if below(50) == 0 { bytes += [UInt8](repeating: 0x20, count: 64) }
  }

  // MARK: Numbers

  /// A number in any spelling; in `quoted` of a hundred cases as a string.
  mutating func number(quoted: Int) {
    let token = numberToken()
    if below(100) < quoted { string(chance(90) ? token : nearly(token)) } else { word(token) }
  }

  mutating func integer(in range: ClosedRange<Int64>) {
    var value: Int64
    switch below(8) {
    case 0: value = range.lowerBound
    case 1: value = range.upperBound
    case 2: value = range.contains(0) ? 0 : range.lowerBound
    case 3...5: value = Int64(below(100))
    default:
      value = Int64(bitPattern: generator.next()) >> Int64(below(64))
      if !range.contains(value) { value = Int64(below(100)) }
    }
    if below(200) == 0 { return number(quoted: 30) }
    integer(value)
  }

  /// An integer in one of its spellings.
  mutating func integer(_ value: some FixedWidthInteger) {
    let text = String(value)
    switch below(10) {
    case 0: string(chance(95) ? text : nearly(text))
    case 1: string(spelling(text))
    case 2, 3: word(spelling(text))
    default: word(text)
    }
  }

  /// Another spelling of the same number.
  mutating func spelling(_ text: String) -> String {
    let sign = text.hasPrefix("-") ? "-" : ""
    let digits = String(text.dropFirst(sign.count))
    let e = pick(["e", "E"])
    switch below(6) {
    case 0: return "\(text).\(String(repeating: "0", count: 1 + below(20)))"
    case 1: return "\(text)\(e)\(pick(["", "+", "-"]))\(String(repeating: "0", count: 1 + below(12)))"
    case 2:
      let zeros = 1 + below(25)
      return "\(text)\(String(repeating: "0", count: zeros))\(e)-\(zeros)"
    case 3 where digits.count > 1:
      let point = 1 + below(digits.count - 1)
      return
        "\(sign)\(digits.prefix(point)).\(digits.dropFirst(point))\(e)\(pick(["", "+", "+0"]))\(digits.count - point)"
    case 4:
      let zeros = below(25)
      return "\(sign)0.\(String(repeating: "0", count: zeros))\(digits)\(e)\(digits.count + zeros)"
    default: return text == "0" ? pick(["-0", "0e999999999999", "0.0E-99999999999999999999", "-0.00"]) : text
    }
  }

  private static let edges = [
    "0", "-0", "0.0", "-0.0", "127", "128", "-128", "-129", "255", "256", "32767", "32768", "65535", "65536",
    "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296",
    "9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993", "9007199254740994",
    "9223372036854775806", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "-9223372036854775809", "9223372036854774784", "9223372036854775296", "18446744073709551615",
    "18446744073709551616", "18446744073709551617", "1e22", "1e23", "1e19", "1e18", "-1e18", "9.3e18",
    "1e308", "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1e309", "1e400",
    "-1e400", "4.9e-324", "5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-324", "1e-400",
    "2.2250738585072011e-308", "2.2250738585072014e-308", "0.1", "0.30000000000000004", "1e0", "1E+2", "1e-2",
    "1e999999999999999999999999", "1e-999999999999999999999999", "0e999999999999999999999999",
    "0e-999999999999999999999999", "1e1000000000", "1e-1000000000", "1e2147483648", "1e-2147483648",
    "253402300799", "253402300800", "-62135596800", "-62135596801", "253402300799999", "253402300799.9999",
    "-62135596800000", "-62135596800001", "-62135596800.0001", "253402300800000", "0.5", "-0.5", "-0.0005",
    "-0.00000000000000000001", "0.00000000000000000001", "1.0000000000000002", "9007199254740993.0",
    "900719925474099300e-2", "12.5", "12e-1", "123456789012345678", "1234567890123456789",
    "99999999999999999999",
    "20240229", "20230229", "2024", "1.10", "1", "3", "-1",
  ]

  mutating func numberToken() -> String {
    switch below(6) {
    case 0, 1: return pick(Self.edges)
    case 2: return spelling(pick(["0", "1", "12", "-128", "9223372036854775807", "-9223372036854775809"]))
    case 3:
      var token = chance(30) ? "-" : ""
      token += chance(20) ? "0" : String(1 + below(9)) + digits(below(20))
      if chance(60) { token += "." + digits(1 + below(pick([3, 20, 60]))) }
      if chance(40) { token += pick(["e", "E", "e+", "E-", "e-"]) + digits(1 + below(3)) }
      return token
    case 4: return String(below(1_000_000)) + "." + digits(1 + below(6))
    default:
      let value = Double(bitPattern: generator.next())
      return value.isFinite ? "\(value)" : "1"
    }
  }

  mutating func digits(_ count: Int) -> String {
    (0..<count).reduce(into: "") { text, _ in text += String(below(10)) }
  }

  /// Text that looks like a number, a date or an address, and often is none.
  mutating func nearly(_ text: String) -> String {
    switch below(10) {
    case 0: return " " + text
    case 1: return text + pick([" ", "\n", "\u{0}", "Z", ".", "e", "e+", "0", "_", "\u{E9}"])
    case 2: return "0" + text
    case 3: return "+" + text
    case 4: return text.uppercased() + "\u{FF11}"
    case 5: return String(text.dropLast())
    case 6: return String(text.dropFirst())
    case 7:
      return pick([
        "", "NaN", "nan", "inf", "Infinity", "-", "0x1", "1_0", "1,5", "--1", "\u{661}", ".5", "1.",
      ])
    default:
      var characters = Array(text)
      if characters.isEmpty { return "x" }
      characters[below(characters.count)] = pick(Array("0123456789-+:. TZe/%"))
      return String(characters)
    }
  }

  // MARK: Other types

  mutating func boolean() {
    if below(50) == 0 { return word(pick(["2", "-0", "1.0", "1e0", "0.0", "10"])) }
    switch below(5) {
    case 0: word(pick(["0", "1"]))
    case 1:
      string(pick(["0", "1", "true", "false", "TRUE", "False", "tRuE"]))
    case 2 where chance(10):
      string(pick(["yes", "", "t", "truE ", "01", "\u{54}\u{52}\u{55}e", "falsE\u{0}", "on"]))
    default: word(pick(["true", "false"]))
    }
  }

  /// One of the words, and sometimes a near one.
  mutating func word(of words: [String]) {
    if below(20) > 0 { return string(pick(words)) }
    switch below(4) {
    case 0: string(pick(words).uppercased())
    case 1: string("e\u{301}")
    case 2: word(pick(["1", "true", "false", "1.0", "0"]))
    default: string(nearly(pick(words)))
    }
  }

  mutating func textual() {
    switch below(12) {
    case 0: number(quoted: 0)
    case 1: word(pick(["true", "false"]))
    case 2: string("")
    default: string(characters())
    }
  }

  private static let pieces = [
    "a", "b", " ", "Z", "0", "9", "/", "\\", "\"", "\u{E9}", "e\u{301}", "\u{1F600}", "\u{10FFFF}",
    "\u{2028}",
    "\u{0}", "\u{1}", "\n", "\t", "\u{8}", "\u{C}", "\r", "\u{1F}", "\u{7F}", "\u{80}", "\u{FFFF}",
    "\u{FEFF}",
    "\u{D7FF}", "\u{E000}", "\u{7FF}", "\u{800}", "\u{10000}", "text", "{", "}", "[", "]", ",", ":", "null",
  ]

  mutating func characters() -> String {
    let count = chance(90) ? below(8) : below(80)
    return (0..<count).reduce(into: "") { text, _ in text += pick(Self.pieces) }
  }

  mutating func address() {
    if below(60) == 0 { return textual() }
    var text = pick(["http", "https", "https", "ftp"]) + "://" + pick(["a.example", "b", "x-1.example.org"])
    if chance(20) { text += ":" + String(below(9999)) }
    for _ in 0..<below(4) { text += "/" + pick(["", "a", "B_c", "%20", "1.jpg", "~x", "..", "%C3%A9"]) }
    if chance(20) { text += "?" + pick(["q=1", "a=b&c=%20", ""]) }
    if chance(10) { text += "#" + pick(["", "top"]) }
    if below(50) == 0 {
      text = pick([
        "", "http://[", "http://a b", "\u{E9}", "/relative", "a:b", "http://[::1]/", "http://a/%zz",
        "mailto:x@y", "1a:b", "a/b:c", "?q", "#f", "#f#g", "//host/p", "a:", "urn:isbn:1", "http://a:8x/",
        "http://a/%4",
        "http://a/[1]", "http://u@h/", "http://a/\u{80}", "http://a/\u{A0}", "http://a/\u{7F}", "http://a/|",
        "http://a/?x=[1]", "http:///p", "http://", "http://a:/", "http://\u{E9}.example/\u{1F600}", "a b",
        "../x", ":a",
        "http://a/\u{FFFF}", "http://a/\u{E000}", "http://a/?\u{E000}", "tel:+1-2", "x:/", "x:y/z",
        "http://a\\b",
      ])
    }
    string(text)
  }

  mutating func padded(_ value: Int, _ width: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }

  /// A date's year, month and day, most often one that exists.
  mutating func day() -> (year: Int, month: Int, day: Int) {
    let year =
      chance(20) ? pick([1, 4, 100, 400, 1582, 1600, 1900, 1970, 2000, 2100, 9999]) : 1950 + below(120)
    let month = chance(99) ? 1 + below(12) : pick([0, 13, 99])
    if chance(10) { return (year, 2, 28 + below(2)) }
    return (chance(99) ? year : 0, month, chance(97) ? 1 + below(28) : pick([0, 29, 30, 31, 32, 99]))
  }

  /// First and last instants, and seconds that are or are not leap seconds.
  private static let instants = [
    "9999-12-31T23:59:59.999Z", "9999-12-31T23:00:00-00:59", "9999-12-31T23:00:00-01:00",
    "9999-12-31T23:59:60Z", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01",
    "0001-01-01T00:00:59.999+00:01", "0001-01-01T01:00+01", "0000-12-31T23:59:59Z",
    "0000-12-31T23:00:00-01:00",
    "10000-01-01T00:00:00Z", "2016-12-31T23:59:60Z", "2016-12-31T23:59:60.999Z", "2017-01-01T00:59:60+01:00",
    "2016-12-31T22:59:60-01:00", "2016-12-31T22:59:60Z", "2016-12-31T23:59:61Z", "2017-01-01T00:00:60Z",
    "1969-12-31T23:59:59.9999Z", "2024-02-29T24:00:00Z", "2024-02-29T00:00:00.Z", "2024-02-29T00:00.5Z",
  ]

  mutating func instant() {
    if below(20) == 0 { return string(pick(Self.instants)) }
    let (year, month, day) = day()
    var text =
      "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))" + (chance(80) ? "T" : pick([" ", "t"]))
    let isLeap = chance(3)
    text += padded(isLeap ? 23 : below(chance(99) ? 24 : 26), 2) + ":"
    text += padded(isLeap ? 59 : below(chance(99) ? 60 : 62), 2)
    if isLeap || chance(85) {
      text += ":" + padded(isLeap || below(200) == 0 ? 60 : below(60), 2)
      if chance(40) { text += (chance(90) ? "." : ",") + digits(1 + below(12)) }
    }
    switch below(10) {
    case 0...5: text += chance(95) ? "Z" : "z"
    case 6, 7: text += pick(["+", "-"]) + padded(below(chance(98) ? 24 : 26), 2) + ":" + padded(below(60), 2)
    case 8:
      text +=
        pick(["+", "-"]) + padded(below(24), 2) + (chance(50) ? padded(below(chance(98) ? 60 : 62), 2) : "")
    default: text += pick(["+00:00", "-00:00", "+23:59", "-23:59", "+0530", "+13"])
    }
    string(chance(98) ? text : nearly(text))
  }

  mutating func unix(perSecond: Int64) {
    if below(20) == 0 { return number(quoted: 30) }
    let value = Int64(below(2_000_000_000)) * perSecond * (chance(80) ? 1 : -1)
    if chance(40) {
      let token = "\(value).\(digits(1 + below(8)))"
      if chance(20) { string(token) } else { word(token) }
    } else {
      integer(value)
    }
  }

  mutating func date(_ pattern: String) {
    let (year, month, day) = day()
    var text = pattern
    for (name, value) in [
      ("yyyy", year), ("MM", month), ("dd", day), ("HH", below(chance(99) ? 24 : 26)),
      ("mm", below(chance(99) ? 60 : 62)), ("SSS", below(1000)), ("ss", below(chance(99) ? 60 : 62)),
    ] {
      text = text.replacing(name, with: padded(value, name.count))
    }
    if below(40) == 0 { text = nearly(text) }
    if below(40) == 0 { text = text.replacing("59", with: "60") }
    let isNumber = text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } && text.first != "0" && !text.isEmpty
    if isNumber && chance(40) { word(text) } else { string(text) }
  }

  // MARK: Strings

  /// A string, its characters escaped or not as JSON leaves it free; rarely with half a surrogate pair in it.
  mutating func string(_ text: String) {
    let escaping = pick([0, 0, 0, 10, 60])
    bytes.append(UInt8(ascii: "\""))
    for scalar in text.unicodeScalars {
      let isSpecial = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
      if isSpecial || (escaping > 0 && below(100) < escaping) {
        escape(scalar, isSpecial)
      } else {
        for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { bytes.append(unit) }
      }
    }
    if below(400) == 0 { word(pick([#"\ud800"#, #"\uDFFF"#, #"\udc00\ud800"#, #"\ud83d\u0041"#])) }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func escape(_ scalar: Unicode.Scalar, _ isSpecial: Bool) {
    let short: [Unicode.Scalar: String] = [
      "\"": "\\\"", "\\": "\\\\", "/": "\\/", "\u{8}": "\\b", "\u{C}": "\\f", "\n": "\\n", "\r": "\\r",
      "\t": "\\t",
    ]
    if let escape = short[scalar], chance(70) { return word(escape) }
    for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
      let hexadecimal = String(unit, radix: 16, uppercase: chance(50))
      word("\\u" + String(repeating: "0", count: 4 - hexadecimal.count) + hexadecimal)
    }
  }
}
