import SyncEngine
import Testing

@testable import SyncCommand

/// When entities start, by clocks that the tests set.
@Suite("The timetable")
struct TimetableTests {
  /// Entities whose runs take as long as they are told to.
  private struct Simulation {
    var timetable: Timetable
    let origin = ContinuousClock.now
    var seconds = 0.0
    /// What the wall clock is ahead of a midnight, besides what the seconds make of it.
    var wallOffset = 0.0
    /// When the runs that are under way end, and how.
    var running: [(name: String, end: Double, result: Timetable.End)] = []
    /// `0 a` for each start.
    var starts: [String] = []

    /// The first of July 2024, 00:00 UTC.
    static let midnight: Int64 = 1_719_792_000_000

    init(_ entities: [Timetable.Wanted], parallel: Int = 4, fraction: @escaping () -> Double = { 0 }) {
      timetable = Timetable(
        at: Timetable.Moment(instant: origin, wall: Self.midnight), parallel: parallel, fraction: fraction)
      timetable.set(entities, parallel: parallel, at: now)
    }

    var now: Timetable.Moment {
      Timetable.Moment(
        instant: origin + .milliseconds(Int64((seconds * 1000).rounded())),
        wall: Self.midnight + Int64(((seconds + wallOffset) * 1000).rounded()))
    }

    /// Goes on until the end, waking as the service does.
    mutating func run(until end: Double, _ run: (String, Double) -> (duration: Double, result: Timetable.End))
    {
      while true {
        for name in timetable.start(at: now) {
          let (duration, result) = run(name, seconds)
          running.append((name, seconds + duration, result))
          starts.append("\(Self.text(seconds)) \(name)")
        }
        let due = timetable.next(after: now).map { Double(($0 - origin).milliseconds) / 1000 } ?? .infinity
        let next = min(due, running.map(\.end).min() ?? .infinity, seconds + 5)
        if next > end {
          seconds = end
          return
        }
        seconds = next
        for run in running.filter({ $0.end <= seconds }) { timetable.end(run.name, run.result, at: now) }
        running.removeAll { $0.end <= seconds }
      }
    }

    static func text(_ seconds: Double) -> String {
      seconds == seconds.rounded() ? "\(Int(seconds))" : "\((seconds * 1000).rounded() / 1000)"
    }
  }

  private static func every(
    _ name: String, _ seconds: Double, jitter: Double = 0, aligned: Bool = false, after: Set<String> = [],
    rivals: Set<String> = []
  ) -> Timetable.Wanted {
    Timetable.Wanted(
      name: name,
      schedule: Schedule(every: .seconds(seconds), jitter: .seconds(jitter), aligned: aligned),
      predecessors: after, rivals: rivals)
  }

  @Test("the interval counts from start to start; a run that is too long is not made up for")
  func cadence() {
    var simulation = Simulation([Self.every("a", 10)])
    simulation.run(until: 55) { _, start in (start == 20 ? 13 : 1, .success) }
    #expect(simulation.starts == ["0 a", "10 a", "20 a", "40 a", "50 a"])
  }

  @Test("after a sleep of the machine there is one run, not one for each that was missed")
  func sleep() {
    var simulation = Simulation([Self.every("a", 10)])
    simulation.run(until: 15) { _, _ in (1, .success) }
    simulation.seconds = 1004
    simulation.run(until: 1030) { _, _ in (1, .success) }
    #expect(simulation.starts == ["0 a", "10 a", "1004 a", "1010 a", "1020 a", "1030 a"])
  }

  @Test("jitter delays each run, and does not add up")
  func jitter() {
    var simulation = Simulation([Self.every("a", 10, jitter: 4)], fraction: { 0.5 })
    simulation.run(until: 45) { _, _ in (1, .success) }
    #expect(simulation.starts == ["0 a", "12 a", "22 a", "32 a", "42 a"])
  }

  @Test(
    "aligned runs are at multiples of the interval in UTC, also after the wall clock was set",
    arguments: [
      (100, ["0 a", "3500 a", "7100 a"]), (-100, ["0 a", "3700 a", "7300 a"]),
      (0, ["0 a", "3600 a", "7200 a"]),
    ] as [(Double, [String])])
  func aligned(_ ahead: Double, _ starts: [String]) {
    var simulation = Simulation([Self.every("a", 3600, aligned: true)])
    simulation.run(until: 60) { _, _ in (1, .success) }
    simulation.wallOffset = ahead
    simulation.run(until: 8000) { _, _ in (1, .success) }
    #expect(simulation.starts == starts)
  }

  @Test(
    "a wall clock that is set back a little does not bring an aligned time twice; other schedules do not look at it"
  )
  func setBack() {
    var simulation = Simulation([Self.every("a", 3600, aligned: true), Self.every("b", 3600)])
    simulation.run(until: 3601) { _, _ in (0.5, .success) }
    simulation.wallOffset = -30
    simulation.run(until: 7300) { _, _ in (0.5, .success) }
    #expect(simulation.starts == ["0 a", "0 b", "3600 a", "3600 b", "7200 b", "7230 a"])
  }

  @Test("a failure is tried again soon, then less and less often; a success leads back to the cadence")
  func backoff() {
    var simulation = Simulation([Self.every("a", 300)])
    simulation.run(until: 700) { _, start in (0, start < 100 ? .failure : .success) }
    #expect(simulation.starts == ["0 a", "5 a", "15 a", "35 a", "65 a", "95 a", "125 a", "300 a", "600 a"])
    var quick = Simulation([Self.every("a", 1)])
    quick.run(until: 20) { _, start in (0, start < 15 ? .failure : .success) }
    #expect(quick.starts == ["0 a", "1 a", "3 a", "7 a", "12 a", "17 a", "18 a", "19 a", "20 a"])
  }

  @Test("what fails slowly is left alone for longer")
  func slowFailures() {
    for (failures, interval, duration, wait) in [
      (1, 300, 0, 5), (3, 300, 0, 20), (9, 300, 0, 30), (9, 300, 10, 200), (9, 300, 600, 300),
      (9, 1, 60, 256),
      (30, 1, 60, 300), (2, 1, 0, 2), (9, 1, 0, 5), (99, 3600, 600, 3600),
    ] as [(Int, Int, Int, Int)] {
      #expect(
        Backoff.wait(after: failures, interval: .seconds(interval), duration: .seconds(duration))
          == .seconds(wait),
        "\(failures) failures, every \(interval) s, \(duration) s long")
    }
  }

  @Test("where one recovers, those that failed as well are tried at once")
  func recovery() {
    var simulation = Simulation([Self.every("a", 300), Self.every("b", 300), Self.every("c", 300)])
    simulation.run(until: 70) { name, start in
      (name == "b" ? 1 : 0, name == "c" || start >= 60 ? .success : .failure)
    }
    #expect(
      simulation.starts == [
        "0 a", "0 b", "0 c", "5 a", "6 b", "15 a", "17 b", "35 a", "38 b", "65 a", "65 b",
      ])
  }

  @Test("what others hold or fail at does not hold up the rest; a guard's refusal keeps the cadence")
  func independent() {
    var simulation = Simulation([Self.every("slow", 10), Self.every("bad", 10), Self.every("good", 10)])
    simulation.run(until: 31) { name, _ in
      (name == "slow" ? 1000 : 0, name == "bad" ? .other : .success)
    }
    #expect(
      simulation.starts == [
        "0 slow", "0 bad", "0 good", "10 bad", "10 good", "20 bad", "20 good", "30 bad", "30 good",
      ])
  }

  @Test("no more run at a time than are allowed, and nobody is forgotten")
  func parallel() {
    var simulation = Simulation(["a", "b", "c"].map { Self.every($0, 2) }, parallel: 1)
    simulation.run(until: 12) { _, _ in (2, .success) }
    #expect(simulation.starts == ["0 a", "2 b", "4 c", "6 a", "8 b", "10 c", "12 a"])
  }

  @Test("children go after their parents where both are due, and do not wait for a parent that failed")
  func predecessors() {
    var simulation = Simulation([Self.every("parent", 10), Self.every("child", 10, after: ["parent"])])
    simulation.run(until: 26) { name, start in
      (name == "parent" ? 2 : 1, name == "parent" && start >= 10 ? .failure : .success)
    }
    #expect(
      simulation.starts == ["0 parent", "2 child", "10 parent", "12 child", "17 parent", "20 child"])
  }

  @Test("entities that share a table take turns")
  func rivals() {
    var simulation = Simulation([
      Self.every("a", 10, rivals: ["b"]), Self.every("b", 10, rivals: ["a"]), Self.every("c", 10),
    ])
    simulation.run(until: 14) { _, _ in (3, .success) }
    #expect(simulation.starts == ["0 a", "0 c", "3 b", "10 a", "10 c", "13 b"])
  }

  @Test("sync now: what waits starts, what runs does so once more, and the cadence stays")
  func now() {
    var simulation = Simulation([Self.every("a", 10), Self.every("b", 10)])
    simulation.run(until: 3) { name, _ in (name == "a" ? 1 : 4, .success) }
    simulation.timetable.runNow(at: simulation.now)
    simulation.run(until: 12) { _, _ in (1, .success) }
    #expect(simulation.starts == ["0 a", "0 b", "3 a", "4 b", "10 a", "10 b"])
  }

  @Test(
    "another configuration: the new interval counts from the last start, new entities start at once, others are gone"
  )
  func reload() {
    var simulation = Simulation([Self.every("a", 100), Self.every("b", 100)])
    simulation.run(until: 20) { _, _ in (1, .success) }
    simulation.timetable.set([Self.every("a", 30), Self.every("c", 30)], parallel: 4, at: simulation.now)
    simulation.run(until: 61) { _, _ in (1, .success) }
    #expect(simulation.starts == ["0 a", "0 b", "20 c", "30 a", "50 c", "60 a"])
  }

  @Test("one of two predecessors is always under way: who has waited for an interval waits no longer")
  func alwaysOne() {
    var simulation = Simulation([
      Self.every("a", 60), Self.every("b", 60), Self.every("c", 60, after: ["a", "b"]),
    ])
    simulation.run(until: 300) { name, start in
      (name == "c" ? 1 : name == "b" && start == 0 ? 59 : 40, .success)
    }
    let starts = simulation.starts.filter { $0.hasSuffix(" c") }
    #expect(starts.count >= 2, "\(simulation.starts)")
  }

  @Test("an entity that a reload took away and another one brought back does not run twice at a time")
  func broughtBack() {
    var simulation = Simulation([Self.every("a", 10)])
    simulation.run(until: 1) { _, _ in (8, .success) }
    simulation.timetable.set([], parallel: 4, at: simulation.now)
    simulation.timetable.set([Self.every("a", 10)], parallel: 4, at: simulation.now)
    simulation.run(until: 12) { _, _ in (1, .success) }
    #expect(simulation.starts == ["0 a", "10 a"])
  }
}
