/// How long an entity that failed is left alone: for five seconds or its interval, whichever is shorter, then for twice as
/// long with each further failure.
///
/// What fails quickly costs little, so it is tried again within half a minute at the latest; what fails slowly takes up no
/// more than about a twentieth of the time, up to five minutes or the interval.
enum Backoff {
  static let first = Duration.seconds(5)

  /// - Parameters:
  ///   - failures: in a row, 1 or more.
  ///   - interval: of the entity's schedule.
  ///   - duration: of the run that failed last.
  static func wait(after failures: Int, interval: Duration, duration: Duration) -> Duration {
    let quick = max(.seconds(5), min(interval, .seconds(30)))
    let longest = min(max(quick, duration * 20), max(interval, .seconds(300)))
    let wait = min(interval, first) * (1 << min(max(0, failures - 1), 20))
    return min(wait, longest)
  }
}
