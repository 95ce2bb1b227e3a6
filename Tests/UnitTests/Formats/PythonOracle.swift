import Foundation
import TestSupport

/// Runs a Python program once over many lines of input: one line of output for each.
enum PythonOracle {
  static func lines(_ program: String, _ input: [String]) throws -> [String] {
    let output = try Shell.run(
      "python3", "-c", program, input: Data((input.joined(separator: "\n") + "\n").utf8))
    var lines = String(decoding: output, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if lines.last == "" { lines.removeLast() }
    guard lines.count == input.count else {
      throw TestFailure("\(lines.count) lines of output for \(input.count) lines of input")
    }
    return lines
  }
}

/// Bytes as hexadecimal digits and back.
enum Hexadecimal {
  static func text(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  static func bytes(_ text: some StringProtocol) -> [UInt8] {
    let digits = Array(text.utf8)
    return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
      UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
    }
  }
}
