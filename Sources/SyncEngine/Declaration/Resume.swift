/// Whether a run goes on where one before it was ended.
///
/// ```swift
/// Source(.shop, "orders", paging: .next("next"), resume: .within(.seconds(6 * 3600)))
/// ```
///
/// The pages of a run are kept beside the store until it commits. A run that follows one which was killed or stopped takes
/// them from there and asks for the rest. It writes what an uninterrupted run would have written, and
/// it proves nothing, since its pages are from different times: nothing is deleted, and the next run asks for everything.
public struct Resume: Sendable, Hashable {
  /// In milliseconds from the beginning of the run that was ended; nil where nothing is kept.
  let age: Int64?
  let bytes: Int
  let after: Duration

  /// What came within this time is soon read again.
  static let quick = Duration.milliseconds(10)

  /// Each run asks for all pages, and none are kept.
  public static let never = Resume(age: nil, bytes: 0, after: .zero)

  /// - Parameters:
  ///   - age: how old the pages may be, from the beginning of the run that read the first of them.
  ///   - bytes: how much is kept of one run; what comes then is asked for again.
  ///   - after: how long a run goes before it keeps pages too that came within ten milliseconds: they are soon read
  ///     again. Zero for a near source whose cursors are others in each walk, so that the first page alone leads to the
  ///     later ones.
  public static func within(
    _ age: Duration, bytes: Int = 256 << 20, after: Duration = .seconds(5)
  ) -> Resume {
    Resume(age: Int64(age.milliseconds), bytes: bytes, after: after)
  }
}
