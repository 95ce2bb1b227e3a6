import FoundationEssentials
import Synchronization

/// The time zones of the system, read from its database when first asked for.
enum ZoneDatabase {
  private static let known = Mutex<[String: ZoneRules?]>([:])

  static func zone(_ name: String) -> ZoneRules? {
    known.withLock { known in
      if let rules = known[name] { return rules }
      let rules = read(name)
      known[name] = .some(rules)
      return rules
    }
  }

  private static func read(_ name: String) -> ZoneRules? {
    // Names are relative paths of plain parts: nothing leads out of the folder.
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.allSatisfy({ !$0.isEmpty && $0.first != "." }) else { return nil }
    let data = try? Data(contentsOf: URL(fileURLWithPath: "/usr/share/zoneinfo/\(name)"))
    return data.flatMap { ZoneRules(Array($0)) }
  }
}

/// What a file of the time zone database says (RFC 9636).
struct ZoneRules: Sendable {
  /// Instants in seconds since 1970 from which on an offset holds, in order.
  private let transitions: [(from: Int, offset: Int)]
  /// The offset before the first of them.
  private let firstOffset: Int
  /// The rule behind the last of them.
  private let footer: ZoneFooter?

  /// Nil for bytes that are no such file of version 2 or later.
  init?(_ bytes: [UInt8]) {
    func integer(_ start: Int, _ width: Int) -> Int? {
      guard start >= 0, start + width <= bytes.count else { return nil }
      let bits = bytes[start..<start + width].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return width == 8 ? Int(Int64(bitPattern: bits)) : Int(Int32(truncatingIfNeeded: bits))
    }
    /// Counts of a header: isutc, isstd, leap, time, type, char (RFC 9636 §3.1).
    func header(_ start: Int) -> [Int]? {
      guard start + 44 <= bytes.count, bytes[start..<start + 4].elementsEqual("TZif".utf8) else { return nil }
      return (0..<6).compactMap { integer(start + 20 + 4 * $0, 4) }
    }
    // The first block has times of 32 bits and is passed over.
    guard let first = header(0), bytes[4] >= UInt8(ascii: "2") else { return nil }
    let second = 44 + first[3] * 5 + first[4] * 6 + first[5] + first[2] * 8 + first[1] + first[0]
    guard let counts = header(second) else { return nil }
    let (times, types) = (second + 44, second + 44 + counts[3] * 9)
    func offset(_ type: Int) -> Int? { type < counts[4] ? integer(types + type * 6, 4) : nil }
    var transitions: [(Int, Int)] = []
    for index in 0..<counts[3] {
      let place = times + counts[3] * 8 + index
      guard let time = integer(times + index * 8, 8), place < bytes.count,
        let offset = offset(Int(bytes[place]))
      else { return nil }
      transitions.append((time, offset))
    }
    guard let firstOffset = offset(0) else { return nil }
    let end = types + counts[4] * 6 + counts[5] + counts[2] * 12 + counts[1] + counts[0]
    guard end < bytes.count else { return nil }
    let text = bytes[end...].dropFirst().prefix { $0 != 0x0A }
    (self.transitions, self.firstOffset) = (transitions, firstOffset)
    footer = ZoneFooter(String(decoding: text, as: UTF8.self))
  }

  /// The offset in seconds east of UTC at an instant.
  func offset(at instant: Int) -> Int {
    guard let last = transitions.last else { return footer?.offset(at: instant) ?? firstOffset }
    if instant >= last.from { return footer?.offset(at: instant) ?? last.offset }
    // The number of transitions up to the instant.
    var (low, high) = (0, transitions.count)
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle].from <= instant { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? firstOffset : transitions[low - 1].offset
  }

  func instant(local: Int) -> Int? {
    // Offsets change by less than a day: one of those around holds.
    [local - 86_400, local, local + 86_400].map { local - offset(at: $0) }.sorted()
      .first { $0 + offset(at: $0) == local }
  }
}

/// The rule for times behind the last transition, such as `CET-1CEST,M3.5.0,M10.5.0/3` (RFC 9636 §3.3, POSIX `TZ`).
struct ZoneFooter: Sendable {
  private enum Day: Sendable {
    /// Day of a week of a month; week 5 is the last one.
    case month(Int, week: Int, day: Int)
    /// Day 1 to 365, February 29 never counted.
    case julian(Int)
    /// Day 0 to 365.
    case ordinal(Int)
  }

  private let standard: Int
  private var summer: Int?
  private var begins: (day: Day, time: Int) = (.julian(1), 0)
  private var ends: (day: Day, time: Int) = (.julian(1), 0)

  init?(_ text: String) {
    var rest = Substring(text)
    func name() -> Bool {
      if rest.first == "<" {
        guard let close = rest.firstIndex(of: ">") else { return false }
        rest = rest[close...].dropFirst()
        return true
      }
      let letters = rest.prefix { $0.isASCII && $0.isLetter }
      rest = rest[letters.endIndex...]
      return letters.count >= 3
    }
    func number() -> Int? {
      let digits = rest.prefix { $0.isASCII && $0.isNumber }
      rest = rest[digits.endIndex...]
      return Int(digits)
    }
    func take(_ character: Character) -> Bool {
      guard rest.first == character else { return false }
      rest.removeFirst()
      return true
    }
    /// `[+-]hh[:mm[:ss]]` in seconds.
    func time() -> Int? {
      let sign = take("-") ? -1 : 1
      if sign == 1 { _ = take("+") }
      guard var seconds = number().map({ $0 * 3600 }) else { return nil }
      if take(":") { seconds += (number() ?? 0) * 60 }
      if take(":") { seconds += number() ?? 0 }
      return sign * seconds
    }
    func change() -> (Day, Int)? {
      guard take(",") else { return nil }
      let day: Day
      if take("M") {
        guard let month = number(), take("."), let week = number(), take("."), let weekday = number() else {
          return nil
        }
        day = .month(month, week: week, day: weekday)
      } else if take("J") {
        guard let number = number() else { return nil }
        day = .julian(number)
      } else {
        guard let number = number() else { return nil }
        day = .ordinal(number)
      }
      return (day, take("/") ? time() ?? 7200 : 7200)
    }

    // Offsets are written west of UTC.
    guard name(), let west = time() else { return nil }
    standard = -west
    guard !rest.isEmpty else { return }
    guard name() else { return nil }
    summer = rest.first == "," ? standard + 3600 : time().map { -$0 }
    guard summer != nil, let begins = change(), let ends = change(), rest.isEmpty else { return nil }
    (self.begins, self.ends) = (begins, ends)
  }

  func offset(at instant: Int) -> Int {
    guard let summer else { return standard }
    let year = Timestamp.Parts(Int64(instant) * 1000).year
    let from = start(begins.day, of: year) + begins.time - standard
    let to = start(ends.day, of: year) + ends.time - summer
    // South of the equator summer goes over the turn of the year.
    let isSummer = from < to ? from <= instant && instant < to : !(to <= instant && instant < from)
    return isSummer ? summer : standard
  }

  /// Midnight of a rule's day, in seconds since 1970 of the local clock.
  private func start(_ day: Day, of year: Int) -> Int {
    func days(_ month: Int, _ day: Int) -> Int { Timestamp.days(year: year, month: month, day: day) ?? 0 }
    let date: Int
    switch day {
    case .ordinal(let number): date = days(1, 1) + number
    case .julian(let number):
      let isLeap = Timestamp.days(year: year, month: 2, day: 29) != nil
      date = days(1, 1) + number - 1 + (isLeap && number >= 60 ? 1 : 0)
    case .month(let month, let week, let weekday):
      let first = days(month, 1)
      // 1970-01-01 was a Thursday, day 4 of the week.
      let firstWeekday = ((first + 4) % 7 + 7) % 7
      let next = month == 12 ? days(12, 31) + 1 : days(month + 1, 1)
      var found = first + (weekday - firstWeekday + 7) % 7 + (week - 1) * 7
      while found >= next { found -= 7 }
      date = found
    }
    return date * 86_400
  }
}
