import HTTP
import SyncEngine

/// Which entities are due: an account of times without a clock of its own, so that it can be tested without waiting.
///
/// Times are of a clock that nobody sets and that goes on while the machine sleeps. The wall clock is asked for aligned
/// schedules only.
struct Timetable {
  struct Entry {
    let name: String
    var schedule: Schedule
    /// Entities whose rows this one's requests or references need: of two that are due, they go first.
    var predecessors: Set<String> = []
    /// Entities that write to a table of this one: their runs would wait for each other.
    var rivals: Set<String> = []
    /// The time of the cadence that comes next, or came last where ``due`` is a retry.
    fileprivate(set) var cadence: ContinuousClock.Instant
    /// When it starts: the cadence and the jitter, or a retry.
    fileprivate(set) var due: ContinuousClock.Instant
    fileprivate(set) var started: ContinuousClock.Instant?
    fileprivate(set) var isRunning = false
    /// Failures in a row.
    fileprivate(set) var failures = 0
    /// Whether it is wanted again as soon as the run that is under way has ended.
    fileprivate var isWantedAgain = false
  }

  private(set) var entries: [Entry] = []
  /// Entities that are no longer wanted, and still run.
  private var leaving: [Entry] = []
  private var parallel: Int
  /// A part of 1, at random.
  private let fraction: () -> Double

  /// The two clocks at one moment.
  struct Moment {
    var instant: ContinuousClock.Instant
    /// Milliseconds since 1970.
    var wall: Int64
  }

  /// What is to be run.
  struct Wanted {
    var name: String
    var schedule: Schedule
    var predecessors: Set<String> = []
    var rivals: Set<String> = []
  }

  /// How a run ended, as far as its next one goes.
  enum End { case success, failure, other }

  /// When the two clocks were compared last.
  private var origin: Moment

  init(at now: Moment, parallel: Int, fraction: @escaping () -> Double = { Double.random(in: 0..<1) }) {
    (origin, self.parallel, self.fraction) = (now, parallel, fraction)
  }

  // MARK: What there is

  /// Takes over what is to be run from now on, in the order in which predecessors come before their successors. Entities
  /// that were there keep their cadence; new ones are due at once.
  mutating func set(_ wanted: [Wanted], parallel: Int, at now: Moment) {
    self.parallel = parallel
    let known = entries + leaving
    leaving = known.filter { entry in entry.isRunning && !wanted.contains { $0.name == entry.name } }
    entries = wanted.map { wanted in
      guard var entry = known.first(where: { $0.name == wanted.name }) else {
        return Entry(
          name: wanted.name, schedule: wanted.schedule, predecessors: wanted.predecessors,
          rivals: wanted.rivals, cadence: now.instant, due: now.instant)
      }
      (entry.predecessors, entry.rivals) = (wanted.predecessors, wanted.rivals)
      guard entry.schedule != wanted.schedule else { return entry }
      entry.schedule = wanted.schedule
      // The new interval counts from the last start.
      if let started = entry.started, !entry.isRunning {
        entry.cadence = started
        proceed(&entry, at: now)
      }
      return entry
    }
  }

  /// The next time at which something may start. What is due already and did not start waits for the end of a run.
  func next(after now: Moment) -> ContinuousClock.Instant? {
    entries.lazy.filter { !$0.isRunning && $0.due > now.instant }.map(\.due).min()
  }

  // MARK: What happens

  /// The entities that start now.
  mutating func start(at now: Moment) -> [String] {
    realign(at: now)
    let running = entries.filter(\.isRunning).map(\.name)
    let due = entries.indices.filter { !entries[$0].isRunning && entries[$0].due <= now.instant }
    let ahead = Set(running + due.map { entries[$0].name })
    var room = parallel - running.count
    var busy = Set(running)
    var started: [String] = []
    for index in due.sorted(by: { (entries[$0].due, $0) < (entries[$1].due, $1) }) where room > 0 {
      // Who has waited for an interval waits no longer: one of several predecessors may always be under way.
      let isPatient = now.instant - entries[index].due < entries[index].schedule.every
      guard !isPatient || entries[index].predecessors.isDisjoint(with: ahead),
        entries[index].rivals.isDisjoint(with: busy)
      else { continue }
      room -= 1
      busy.insert(entries[index].name)
      (entries[index].isRunning, entries[index].started) = (true, now.instant)
      started.append(entries[index].name)
    }
    return started
  }

  /// Where the wall clock was set, aligned times are others.
  private mutating func realign(at now: Moment) {
    let difference = now.wall - Int64((now.instant - origin.instant).milliseconds) - origin.wall
    guard abs(difference) > 1000 else { return }
    origin = now
    for index in entries.indices
    where entries[index].schedule.isAligned && !entries[index].isRunning && entries[index].failures == 0
      && entries[index].due > now.instant
    { proceed(&entries[index], at: now) }
  }

  /// - Returns: whether the entity had failed before and is well again: then those that failed as well are due.
  @discardableResult
  mutating func end(_ name: String, _ end: End, at now: Moment) -> Bool {
    guard let index = entries.firstIndex(where: { $0.name == name }) else {
      leaving.removeAll { $0.name == name }
      return false
    }
    var entry = entries[index]
    defer { entries[index] = entry }
    entry.isRunning = false
    let hadFailed = entry.failures > 0
    switch end {
    case .failure:
      entry.failures += 1
      let duration = entry.started.map { now.instant - $0 } ?? .zero
      entry.due =
        now.instant
        + Backoff.wait(after: entry.failures, interval: entry.schedule.every, duration: duration)
    case .success, .other:
      if end == .success { entry.failures = 0 }
      proceed(&entry, at: now)
    }
    if entry.isWantedAgain { (entry.due, entry.isWantedAgain) = (now.instant, false) }
    guard end == .success, hadFailed else { return false }
    for other in entries.indices
    where other != index && entries[other].failures > 0 && !entries[other].isRunning {
      entries[other].due = min(entries[other].due, now.instant)
    }
    return true
  }

  /// Everything is due; what runs, once more when it has ended.
  mutating func runNow(at now: Moment) {
    for index in entries.indices {
      if entries[index].isRunning {
        entries[index].isWantedAgain = true
      } else {
        entries[index].due = now.instant
      }
    }
  }

  /// Sets the next time that is still to come: what was missed is not made up for.
  private func proceed(_ entry: inout Entry, at now: Moment) {
    let every = entry.schedule.every
    if entry.schedule.isAligned {
      let step = Int64(max(1, every.milliseconds))
      var wait = step - ((now.wall % step) + step) % step
      // Where the wall clock was set back, or a run was early, the same time does not come twice.
      if let started = entry.started, now.instant + .milliseconds(wait) - started < every / 8 { wait += step }
      entry.cadence = now.instant + .milliseconds(wait)
    } else {
      // A run that was wanted between two times of the cadence leaves the later one where it is.
      if entry.cadence <= now.instant {
        entry.cadence += every * (Int((now.instant - entry.cadence) / every) + 1)
      }
    }
    entry.due = entry.cadence + entry.schedule.jitter * fraction()
  }
}
