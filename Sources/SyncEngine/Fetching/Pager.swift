import HTTP
import JSON

/// What a request adds to the source's own address, or the whole address of a page.
public enum PageRequest: Sendable, Hashable {
  /// Query items behind those of the source.
  case items([Item])
  /// An address that the server gave, used byte for byte.
  case address(String)

  public struct Item: Sendable, Hashable {
    public var name: String
    public var value: String
    public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
  }
}

/// An answer as a pager sees it.
public struct Page: Sendable {
  /// Counted from 1.
  public var number: Int
  public var status: Int
  public var headers: HTTPHeaders
  /// The parsed body; nil for an answer that ends the walk by its status.
  public var root: JSONValue?
  /// Records on the page, bad ones included. Known when ``Pager/needsRecords`` is true.
  public var recordCount: Int
  /// Records that no earlier page of this walk had, as far as their keys tell. Known when ``Pager/needsRecords`` is true.
  public var newKeyCount: Int
}

/// What follows a page.
public enum PageDecision: Sendable, Hashable {
  case next(PageRequest)
  case end(PageEnd)
}

/// How a walk over the pages ended.
public enum PageEnd: Sendable, Hashable {
  /// The source said itself that there is no more.
  case proven
  /// Nothing more came, but the source did not say that this is all.
  case unproven(String)
}

/// One walk over the pages of a source. Each walk has a fresh one.
public protocol Pager: Sendable {
  /// Whether decisions depend on the records of a page; otherwise the next page is asked for before they are read.
  var needsRecords: Bool { get }

  /// Whether records can move between pages while the walk goes on, so that one walk may miss a row that is there.
  var mayShift: Bool { get }

  func firstRequest() -> PageRequest

  /// What follows `page`.
  ///
  /// - Throws: ``PagingError`` if the page's paging fields cannot be understood.
  mutating func decide(after page: Page) throws -> PageDecision

  /// Whether a status that is no success ends the walk. It is never asked for the first page.
  func isEnd(status: Int) -> Bool
}

extension Pager {
  public var needsRecords: Bool { false }
  public var mayShift: Bool { false }
  public func isEnd(status: Int) -> Bool { false }
}

/// Paging fields of an answer that cannot be understood.
public struct PagingError: Error, Sendable, CustomStringConvertible {
  public var description: String
  public init(_ description: String) { self.description = description }
}

/// How one page leads to the next.
///
/// ## Topics
/// - ``none``
/// - ``next(_:)``
/// - ``linkHeader``
/// - ``cursor(_:parameter:more:)``
/// - ``offset(_:limit:size:start:total:)``
/// - ``page(_:from:size:sizeParameter:total:pages:endStatus:)``
public struct Paging: Sendable {
  let makePager: @Sendable (_ asksForEnd: Bool) -> any Pager
  let paths: [JSONPath]
  /// Why the paging cannot work; the start of the program refuses it.
  var fault: String?
  /// Distinguishes declarations for the fingerprint of a scope.
  let description: String
}
