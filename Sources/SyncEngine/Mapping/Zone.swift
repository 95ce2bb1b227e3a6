/// The time zone of texts that name none.
public struct Zone: Sendable, Hashable {
  enum Rule: Sendable, Hashable {
    /// Seconds east of UTC.
    case fixed(Int)
    case named(String)
  }

  let rule: Rule

  public static let utc = Zone(rule: .fixed(0))

  /// A fixed distance from UTC, positive to the east: `.offset(hours: 5, minutes: 30)`, `.offset(hours: -3)`.
  public static func offset(hours: Int, minutes: Int = 0) -> Zone {
    Zone(rule: .fixed(hours * 3600 + minutes * 60))
  }

  /// A zone of the system's database (RFC 9636), such as `Europe/Berlin`, with its changes of the clock.
  ///
  /// Of a time that the clock shows twice, the first is meant; one that it skips makes the record bad.
  public static func named(_ name: String) -> Zone { Zone(rule: .named(name)) }

  /// Why the zone cannot be used; the start of the program refuses it.
  var fault: String? {
    switch rule {
    case .fixed(let seconds):
      abs(seconds) < 86_400
        ? nil : "a zone is less than 24 hours away from UTC, and \(seconds / 3600) were given"
    case .named(let name):
      ZoneDatabase.zone(name) == nil ? "the system knows no time zone \"\(name)\"" : nil
    }
  }

  /// The instant at which clocks in the zone show a time, both in seconds since 1970; nil for a time that they skip.
  func instant(local: Int) -> Int? {
    switch rule {
    case .fixed(let seconds): local - seconds
    case .named(let name): ZoneDatabase.zone(name)?.instant(local: local)
    }
  }

  /// Seconds east of UTC at an instant in milliseconds since 1970.
  func offset(at milliseconds: Int64) -> Int {
    switch rule {
    case .fixed(let seconds): seconds
    case .named(let name):
      ZoneDatabase.zone(name)?.offset(at: Int(milliseconds.floorDivided(by: 1000))) ?? 0
    }
  }
}
