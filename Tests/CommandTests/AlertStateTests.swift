import Testing

@testable import SyncCommand

@Suite("When a person is told")
struct AlertStateTests {
  /// Runs by letter: committed, failed, refused, busy. Below each the event: failure, recovery, guard.
  @Test(
    arguments: [
      (1, "ccc", "---"), (1, "f", "f"), (1, "fffcfc", "f--rfr"), (1, "rrrrc", "g---r"),
      (1, "rfrfrc", "gf---r"), (1, "frc", "fgr"), (1, "fbbfc", "f---r"), (1, "bbb", "---"),
      (1, "fbcb", "f-r-"),
      (1, "ffrcrf", "f-grgf"), (3, "ffcfff", "-----f"), (3, "fffffc", "--f--r"), (3, "ffcffc", "------"),
      (3, "ffbbf", "----f"), (3, "ffrff", "--g--"), (3, "ffrfff", "--g--f"), (2, "rffrc", "g-f-r"),
      (0, "fc", "fr"), (1, "cfccfc", "-fr-fr"),
    ])
  func sequence(alertAfter: Int, runs: String, expected: String) {
    var state = AlertState(alertAfter: alertAfter)
    let ends: [Character: AlertState.End] = ["c": .committed, "f": .failed, "r": .refused, "b": .busy]
    let events = runs.map { state.event(after: ends[$0]!).map { String($0.rawValue.prefix(1)) } ?? "-" }
    #expect(events.joined() == expected)
  }

  @Test(
    "the same for units that several workers run, by the count that goes with the unit",
    arguments: [
      (1, "ccc", "---"), (1, "f", "f"), (1, "fffcfc", "f--rfr"), (1, "rrrrc", "g---r"), (1, "frc", "fgr"),
      (1, "fbbfc", "f---r"), (1, "bbb", "---"), (1, "rfffc", "gf--r"), (1, "frrfc", "fg-fr"),
      (3, "ffcfff", "-----f"), (3, "fffffc", "--f--r"), (3, "ffcffc", "------"), (3, "ffrff", "--g--"),
      (3, "ffrfff", "--g--f"), (2, "rffrc", "g-fgr"), (0, "fc", "fr"), (1, "cfccfc", "-fr-fr"),
    ])
  func shared(alertAfter: Int, runs: String, expected: String) {
    var failures = 0
    let ends: [Character: AlertState.End] = ["c": .committed, "f": .failed, "r": .refused, "b": .busy]
    let events = runs.map { run in
      let event = AlertState.event(after: ends[run]!, failuresBefore: failures, alertAfter: alertAfter)
      // As the store counts them.
      failures = run == "c" ? 0 : run == "r" ? -1 : run == "f" ? max(0, failures) + 1 : failures
      return event.map { String($0.rawValue.prefix(1)) } ?? "-"
    }
    #expect(events.joined() == expected)
  }
}
