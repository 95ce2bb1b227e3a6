import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Data on standard output, messages on standard error, and on a terminal a line of progress that both make way for.
final class Console: Sendable {
  let isOutputTerminal = isatty(1) == 1
  let isErrorTerminal = isatty(2) == 1
  private let progress = Mutex("")

  func write(_ line: String) { put(line + "\n", to: 1) }
  func complain(_ message: String) { put("\(programName): \(message)\n", to: 2) }

  private func put(_ text: String, to file: Int32) {
    progress.withLock { progress in
      if !progress.isEmpty { Self.send("\r\u{1B}[K", to: 2) }
      Self.send(text, to: file)
      if !progress.isEmpty { Self.send(progress, to: 2) }
    }
  }

  /// Shows a line in place of the one before; an empty one removes it. Does nothing unless messages go to a terminal.
  func show(_ line: String) {
    guard isErrorTerminal else { return }
    progress.withLock { progress in
      if line == progress { return }
      progress = line
      Self.send("\r\u{1B}[K" + line, to: 2)
    }
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

/// Columns of text, aligned.
enum TextTable {
  /// - Parameter numbers: columns that are aligned to the right.
  static func text(_ header: [String], _ rows: [[String]], numbers: Set<Int>) -> String {
    let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
    return ([header] + rows).map { row in
      row.enumerated().map { column, cell in
        let space = String(repeating: " ", count: widths[column] - cell.count)
        return numbers.contains(column) ? space + cell : cell + space
      }.joined(separator: "  ").trimmingTrailingBlanks
    }.joined(separator: "\n")
  }
}

extension String {
  fileprivate var trimmingTrailingBlanks: String {
    guard let last = lastIndex(where: { $0 != " " }) else { return "" }
    return String(self[...last])
  }
}
