import SyncEngine
import Synchronization

/// Tells findings as they come, and counts them.
final class FindingReport: Sendable {
  private let console: Console
  private let isJSON: Bool
  private let isQuiet: Bool
  private let counts = Mutex<[Finding.Level: Int]>([:])

  init(_ console: Console, _ configuration: Configuration) {
    self.console = console
    (isJSON, isQuiet) = (configuration.logFormat == .json, configuration.logLevel < .info)
  }

  private struct Line: Encodable {
    var level, subject, text: String
    var advice: String?
  }

  func add(_ findings: [Finding]) {
    console.show([])
    for finding in findings {
      counts.withLock { $0[finding.level, default: 0] += 1 }
      if isQuiet, finding.level == .ok { continue }
      console.write(isJSON ? json(finding) : text(finding))
    }
  }

  private func json(_ finding: Finding) -> String {
    jsonLine(
      Line(
        level: finding.level.rawValue, subject: finding.subject, text: finding.text, advice: finding.advice))
  }

  private func text(_ finding: Finding) -> String {
    let word =
      switch finding.level {
      case .ok: "ok    "
      case .warning: "warn  "
      case .failure: "FAIL  "
      }
    let indent = "\n      "
    let lines = "\(finding.subject): \(finding.text)".split(separator: "\n").joined(separator: indent)
    return word + lines + (finding.advice.map { "\(indent)→ \($0)" } ?? "")
  }

  /// - Returns: whether nothing failed.
  func finish() -> ExitStatus {
    console.show([])
    let counts = counts.withLock { $0 }
    let (fine, warnings, failures) = (counts[.ok] ?? 0, counts[.warning] ?? 0, counts[.failure] ?? 0)
    if !isJSON, !isQuiet {
      console.write(
        "\(fine) ok, \(warnings) \(warnings == 1 ? "warning" : "warnings"), \(failures) failed")
    }
    return failures == 0 ? .done : .failed
  }
}
