/// What an examination saw, and what a person can do about it.
public struct Finding: Sendable, Hashable {
  public enum Level: String, Sendable, Comparable {
    case ok
    /// Runs go on, but someone should look.
    case warning = "warn"
    /// Runs fail, or soon will.
    case failure = "fail"

    private var rank: Int { self == .ok ? 0 : self == .warning ? 1 : 2 }
    public static func < (a: Level, b: Level) -> Bool { a.rank < b.rank }
  }

  public var level: Level
  /// What was looked at, such as `store` or `certificate of shop`.
  public var subject: String
  /// What was seen.
  public var text: String
  /// What to do; nil where there is nothing to do.
  public var advice: String?

  public init(_ level: Level, _ subject: String, _ text: String, advice: String? = nil) {
    (self.level, self.subject, self.text, self.advice) = (level, subject, text, advice)
  }
}

/// What a store is to look at.
public struct StoreExamination: Sendable {
  /// Whether to leave out what takes long in a large store.
  public var isQuick: Bool
  /// Tables of the declared entities.
  public var tables: [String]
  /// How long pages of a run that was ended are of use, in milliseconds, by the declared entities that keep some.
  public var journals: [String: Int64]
  /// In milliseconds since 1970.
  public var now: Int64

  public init(isQuick: Bool = false, tables: [String], journals: [String: Int64], now: Int64) {
    (self.isQuick, self.tables, self.journals, self.now) = (isQuick, tables, journals, now)
  }

  /// Whether pages that were kept at a time are of no use, and no run is going to clear them away by itself.
  ///
  /// - Returns: why, in a few words; nil where they are of use or will go.
  package func whyStuck(_ entity: String, keptAt time: Int64) -> String? {
    let age = now - time
    guard let limit = journals[entity] else {
      // A run of another program's entity may be under way.
      return age > 86_400_000 ? "no entity of that name keeps pages here" : nil
    }
    return age > limit + 86_400_000 ? "they are too old to be of use" : nil
  }
}

/// The text of a size: `512 MB`, by units of 1,000.
package func readableSize(_ bytes: Int64) -> String {
  var (value, unit) = (bytes, 0)
  let units = ["bytes", "kB", "MB", "GB", "TB", "PB"]
  var tenths: Int64 = 0
  while value >= 1000, unit < units.count - 1 {
    tenths = value % 1000 / 100
    (value, unit) = (value / 1000, unit + 1)
  }
  return "\(value)\(unit > 0 && value < 10 ? ".\(tenths)" : "") \(units[unit])"
}

/// `3 days`, in the largest unit of which there are two, or in seconds.
package func readableAge(milliseconds: Int64) -> String {
  let seconds = max(0, milliseconds / 1000)
  for (size, name) in [(86_400, "days"), (3600, "hours"), (60, "minutes")] as [(Int64, String)]
  where seconds >= 2 * size { return "\(seconds / size) \(name)" }
  return seconds == 1 ? "1 second" : "\(seconds) seconds"
}
