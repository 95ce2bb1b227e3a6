import FoundationEssentials

/// How a run asks for no more than what changed since the last one.
///
/// ```swift
/// static let incremental = Incremental<Item>.since(\.updatedAt, parameter: "since", lookBack: .seconds(60))
/// // GET /items                                   the first run, and once a day
/// // GET /items?since=2026-11-30T09:59:05.000Z    the runs between
/// ```
///
/// What a run has seen is kept with its rows, in one transaction: a watermark, which moves only after a walk that was
/// provably complete, never backwards, and never past the source's own clock. An increment cannot tell what is gone, so
/// that only full passes delete, the first run among them and `syncd once --full`.
public struct Incremental<E: Entity>: Sendable {
  let policy: IncrementalPolicy?

  /// Each run asks for everything.
  public static var never: Incremental { Incremental(policy: nil) }

  /// A parameter takes the largest value of a column that was seen. Records with that very value have to be among the
  /// answers, so that none is lost that got it later.
  ///
  /// - Parameters:
  ///   - keyPath: a column of instants, whole numbers or texts that sort by their bytes. Null counts for nothing.
  ///   - format: how the value is written: for a date RFC 3339 by default.
  ///   - lookBack: how far behind the watermark an instant is asked for, for records that are committed late.
  ///   - full: how often everything is asked for.
  public static func since<V: ColumnValue>(
    _ keyPath: any KeyPath<E, V> & Sendable, parameter: String, _ format: Format<V.Base> = .natural,
    in place: ParameterPlace = .query, lookBack: Duration = .zero, full: FullPass = .every(.seconds(86_400))
  ) -> Incremental {
    let reading = format.reading ?? V.reading
    let isJSON =
      if case .timestamp(.unix) = reading.operation { true } else { reading.columnType == .integer }
    return Incremental(
      policy: IncrementalPolicy(
        kind: .since(parameter, place, isJSON: isJSON, reading.writing),
        property: propertyName(of: keyPath) ?? "",
        lookBack: Int64(lookBack.milliseconds), full: full, fault: reading.fault,
        description: "since \(parameter) \(place)"))
  }

  /// The newest records come first: the pages are read until one holds a record that is older than the watermark.
  public static func newestFirst<V: ColumnValue>(
    by keyPath: any KeyPath<E, V> & Sendable, lookBack: Duration = .zero,
    full: FullPass = .every(.seconds(86_400))
  ) -> Incremental {
    Incremental(
      policy: IncrementalPolicy(
        kind: .newestFirst, property: propertyName(of: keyPath) ?? "", lookBack: Int64(lookBack.milliseconds),
        full: full,
        description: "newest first"))
  }

  /// The source hands out a token in the body of its last page, and takes it in a parameter.
  ///
  /// - Parameter expired: statuses that say the token is too old: then everything is asked for, in the same run.
  public static func token(
    _ path: JSONPath, parameter: String, in place: ParameterPlace = .query, expired: Set<Int> = [410],
    full: FullPass = .every(.seconds(86_400))
  ) -> Incremental {
    Incremental(
      policy: IncrementalPolicy(
        kind: .token(.body(path), parameter, place), full: full, expired: expired,
        description: "token \(path) \(parameter) \(place)", path: path))
  }

  /// The source hands out a token in a header field of its first page, such as Kinto's `ETag` for `_since`.
  public static func token(
    header name: String, parameter: String, in place: ParameterPlace = .query, expired: Set<Int> = [410],
    full: FullPass = .every(.seconds(86_400))
  ) -> Incremental {
    Incremental(
      policy: IncrementalPolicy(
        kind: .token(.header(name), parameter, place), full: full, expired: expired,
        description: "token header \(name) \(parameter) \(place)"))
  }

  /// The last page names the address at which changes begin, such as OData's `@odata.deltaLink`.
  public static func link(
    _ path: JSONPath, expired: Set<Int> = [410], full: FullPass = .every(.seconds(86_400))
  ) -> Incremental {
    Incremental(
      policy: IncrementalPolicy(
        kind: .link(.body(path)), full: full, expired: expired, description: "link \(path)", path: path))
  }
}

/// How often an incremental entity asks for everything.
public struct FullPass: Sendable, Hashable {
  /// Milliseconds; nil is never.
  let interval: Int64?
  public static func every(_ interval: Duration) -> FullPass {
    FullPass(interval: Int64(interval.milliseconds))
  }
  /// Only the first run, where the declaration changed, and on demand. Nothing can be deleted by its absence then.
  public static let never = FullPass(interval: nil)
}

/// An ``Incremental`` without its Swift type.
struct IncrementalPolicy: Sendable {
  enum Kind: Sendable {
    case since(String, ParameterPlace, isJSON: Bool, @Sendable (StoredValue) -> String?)
    case newestFirst
    case token(TokenPlace, String, ParameterPlace)
    case link(TokenPlace)
  }

  var kind: Kind
  /// Of the watermark's column.
  var property: String?
  /// Milliseconds.
  var lookBack: Int64 = 0
  var full: FullPass
  var expired: Set<Int> = []
  var fault: String?
  /// Without the look-back, which may change from run to run.
  var description: String
  var path: JSONPath?
}
