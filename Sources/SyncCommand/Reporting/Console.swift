import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Data on standard output, messages on standard error, and on a terminal lines of progress that both make way for.
final class Console: Sendable {
  let isOutputTerminal = isatty(1) == 1
  let isErrorTerminal = isatty(2) == 1
  /// Whether words on standard output, and on standard error, may have colours (no-color.org).
  let coloursOutput: Bool
  let coloursErrors: Bool
  private let shown = Mutex<[String]>([])

  init() {
    func says(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
    let isPlain = says("NO_COLOR")?.isEmpty == false || says("TERM") == "dumb"
    (coloursOutput, coloursErrors) = (isatty(1) == 1 && !isPlain, isatty(2) == 1 && !isPlain)
  }

  func write(_ line: String) { put(line + "\n", to: 1) }
  /// - Parameter isError: whether something is wrong, which colours the beginning.
  func complain(_ message: String, isError: Bool = true) {
    put("\(Colour.red("\(programName):", coloursErrors && isError)) \(message)\n", to: 2)
  }
  /// A line as it is, on standard error.
  func note(_ line: String) { put(line + "\n", to: 2) }

  private func put(_ text: String, to file: Int32) {
    shown.withLock { shown in
      Self.send(Self.removal(of: shown), to: 2)
      Self.send(text, to: file)
      Self.send(shown.joined(separator: "\n"), to: 2)
    }
  }

  /// Shows lines in place of those before. Does nothing unless messages go to a terminal.
  func show(_ lines: [String]) {
    guard isErrorTerminal else { return }
    let width = Self.width
    // A line that wraps could not be taken back.
    let lines = lines.map { $0.count < width ? $0 : $0.prefix(max(1, width - 2)) + "…" }
    shown.withLock { shown in
      if lines == shown { return }
      Self.send(Self.removal(of: shown) + lines.joined(separator: "\n"), to: 2)
      shown = lines
    }
  }

  /// Goes to the beginning of the first of the lines, and erases from there on (ECMA-48: CUU, ED).
  private static func removal(of lines: [String]) -> String {
    if lines.isEmpty { return "" }
    return "\r" + (lines.count > 1 ? "\u{1B}[\(lines.count - 1)A" : "") + "\u{1B}[J"
  }

  /// Columns of the terminal.
  private static var width: Int {
    var size = winsize()
    guard ioctl(2, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  private static func send(_ text: String, to file: Int32) {
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while let base = rest.baseAddress, rest.count > 0 {
        let count = systemWrite(file, base, rest.count)
        // Nobody reads any more: there is nobody to tell.
        guard count > 0 || errno == EINTR else { return }
        rest = UnsafeRawBufferPointer(rebasing: rest[max(0, count)...])
      }
    }
  }
}

/// write(2), which ``Console/write(_:)`` hides.
private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
  write(file, bytes, count)
}

/// Words in colour (ECMA-48: SGR), for those who can see them: the word says the same.
enum Colour {
  static func red(_ text: String, _ isOn: Bool) -> String { isOn ? "\u{1B}[31m\(text)\u{1B}[0m" : text }
  static func yellow(_ text: String, _ isOn: Bool) -> String { isOn ? "\u{1B}[33m\(text)\u{1B}[0m" : text }
  static func green(_ text: String, _ isOn: Bool) -> String { isOn ? "\u{1B}[32m\(text)\u{1B}[0m" : text }
}
