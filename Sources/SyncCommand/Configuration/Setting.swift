import SyncEngine

/// One value that was given, and where.
struct Setting: Sendable {
  enum Origin: Sendable, Hashable {
    case standard
    case declaration
    case file(String)
    case profile(String, file: String)
    case variable(String)
    case option(String)
  }

  /// Names from the root of the file.
  let path: [String]
  let value: ConfigurationValue
  let origin: Origin

  /// How a message calls the value: `c.json: "apis", "shop", "url"`, `SYNCD_WAIT` or `--wait`.
  var place: String {
    let names = path.map { "\"\($0)\"" }.joined(separator: ", ")
    return switch origin {
    case .standard, .declaration: names
    case .file(let file): "\(file): \(names)"
    case .profile(let profile, let file): "\(file): \"profiles\", \"\(profile)\", \(names)"
    case .variable(let name), .option(let name): name
    }
  }

  // MARK: Forms

  func text() throws -> String {
    guard case .string(let text) = value else { throw UsageError("\(place) has to be a text") }
    return text
  }

  func bool() throws -> Bool {
    switch value {
    case .bool(let value): return value
    case .string("true") where !isOfFile: return true
    case .string("false") where !isOfFile: return false
    default: throw UsageError("\(place) has to be true or false")
    }
  }

  /// - Parameter range: what the number may be.
  func count(in range: ClosedRange<Int>) throws -> Int {
    var number: Int?
    switch value {
    case .number(let value): number = Int(exactly: value)
    case .string(let text) where !isOfFile: number = Int(text)
    default: break
    }
    guard let number, range.contains(number) else {
      throw UsageError("\(place) has to be a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  func duration() throws -> Duration {
    let text = try text()
    guard let duration = Duration(text: text) else {
      throw UsageError("\(place) is \"\(text)\", which is no duration; write 200ms, 30s, 5m, 1h or 1d")
    }
    return duration
  }

  func duration(in range: ClosedRange<Duration>) throws -> Duration {
    let duration = try duration()
    guard range.contains(duration) else {
      throw UsageError(
        "\(place) is \(duration.short); it has to be between \(range.lowerBound.short) and \(range.upperBound.short)"
      )
    }
    return duration
  }

  /// A duration, or nothing by `0s`.
  func durationOrZero() throws -> Duration { value == .string("0s") ? .zero : try duration() }

  /// Bytes, by units of 1024.
  func size() throws -> Int {
    let text = try text()
    for (unit, bytes) in [("kB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30)] where text.hasSuffix(unit) {
      let number = text.dropLast(2)
      let count = Int(number.last == " " ? number.dropLast() : number)
      if let count, count > 0, count <= Int.max / bytes { return count * bytes }
    }
    throw UsageError("\(place) is \"\(text)\", which is no amount of memory; write 512kB, 64MB or 1GB")
  }

  func rate() throws -> API.Rate {
    let text = try text()
    if text == "unlimited" { return .unlimited }
    let parts = text.split(separator: "/")
    if parts.count == 2, let count = Int(parts[0]), count > 0 {
      if parts[1] == "s" { return .perSecond(count) }
      if parts[1] == "min" { return .perMinute(count) }
    }
    throw UsageError("\(place) is \"\(text)\", which is no rate; write 10/s, 100/min or unlimited")
  }

  /// A reference to a secret.
  func secret() throws -> Secret {
    do { return try Secret(reference: text()) } catch let error as DeclarationError {
      throw UsageError("\(place): \(error.message)")
    }
  }

  /// The location of a store, or what a variable or a credential holds of it.
  func location() throws -> String {
    let text = try text()
    guard !text.isEmpty else { throw UsageError("\(place) is empty; it has to say where the rows are kept") }
    guard ["env:", "credential:"].contains(where: text.hasPrefix) else { return text }
    do { return try secret().resolve() } catch let error as DeclarationError {
      throw UsageError("\(place): \(error.message)")
    }
  }

  /// One of some words.
  func word<Word: RawRepresentable & CaseIterable>() throws -> Word where Word.RawValue == String {
    let text = try text()
    guard let word = Word(rawValue: text) else {
      let words = Word.allCases.map(\.rawValue)
      let list = words.dropLast().joined(separator: ", ") + (words.last.map { " or \($0)" } ?? "")
      throw UsageError("\(place) is \"\(text)\"; it has to be \(list)\(hint(text, among: words))")
    }
    return word
  }

  private var isOfFile: Bool {
    switch origin {
    case .file, .profile: true
    default: false
    }
  }
}
