/// How the runs of an entity are cut into units that several workers do side by side.
///
/// ```swift
/// Source(.shop, "orders/{parent.id}/lines", paging: .none, parents: Parents(Order.self), slices: .parents(in: 64))
/// Source(.shop, "{parent.region}/items", paging: .next("next"),
///        parents: Parents(values: ["eu", "us", "ap"], as: "region"), slices: .parents)
/// Source(.shop, "events", paging: .windows(from: "from", to: "to", since: start, step: .seconds(86_400)), slices: .windows)
/// ```
///
/// Each slice is claimed, fetched and committed by itself, once in an interval. What is missing is deleted when all slices
/// of one generation are proven complete. Where work is not shared, a run does all of them and writes them together.
public struct Slices: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case parents
    /// Parents by a hash of their key.
    case buckets(Int)
    case windows
  }

  let kind: Kind

  /// One for each parent.
  public static let parents = Slices(kind: .parents)

  /// So many, over which the parents are spread by their keys: for more parents than there should be commits.
  ///
  /// - Parameter count: 1 to 65,536.
  public static func parents(in count: Int) -> Slices { Slices(kind: .buckets(count)) }

  /// One for each window of ``Paging/windows(from:to:since:step:_:in:paging:)``.
  public static let windows = Slices(kind: .windows)
}
