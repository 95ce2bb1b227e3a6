import CSystem
import SyncEngine

/// Whether this machine knows what time it is.
enum ClockCheck {
  /// A minute, in milliseconds: signatures and tokens are refused from some minutes on.
  private static let tolerance: Int64 = 60_000

  static func compare(_ answers: [APIAnswer]) -> [Finding] {
    let clocks = answers.compactMap { answer in answer.clockDifference.map { (answer.api.name, $0) } }
    if clocks.isEmpty { return [] }
    let wrong = clocks.filter { abs($0.1) > tolerance }
    if wrong.isEmpty { return [Finding(.ok, "clock", "as the servers' (\(clocks.count) asked)")] }
    let text = wrong.map { name, difference in
      "\(name)'s server is \(readableAge(milliseconds: abs(difference))) \(difference > 0 ? "ahead" : "behind")"
    }.joined(separator: ", ")
    if wrong.count < clocks.count {
      return [
        Finding(
          .warning, "clock", "\(text); the other servers agree with this machine",
          advice:
            "tell who runs that service; signed requests and what changed since the last run may go wrong there"
        )
      ]
    }
    return [
      Finding(
        .failure, "clock", "\(text): this machine's clock is wrong, or theirs",
        advice:
          "compare with another clock (date -u), and have this one set: timedatectl set-ntp true, or start chrony; signatures, tokens and certificates fail by a wrong clock"
      )
    ]
  }

  static func kernel() -> [Finding] {
    switch csystem_clock_is_synchronised() {
    case 1: [Finding(.ok, "time service", "the kernel's clock is synchronised")]
    case 0:
      [
        Finding(
          .warning, "time service", "the kernel says that nothing keeps its clock right",
          advice: "timedatectl set-ntp true, or install chrony; of a container, on its host")
      ]
    default: []
    }
  }
}
