import HTTP
import JSON

/// What a request adds to the source's own one, or the whole address of a page.
public enum PageRequest: Sendable, Hashable {
  /// Parameters besides those of the source.
  case items([Item])
  /// An address that the server gave, used byte for byte.
  case address(String)

  public struct Item: Sendable, Hashable {
    public var name: String
    public var value: String
    public var place: ParameterPlace
    /// Whether a JSON body takes the value as the JSON that it is, such as a number or a list.
    public var isJSON: Bool

    public init(
      _ name: String, _ value: String, in place: ParameterPlace = .query, isJSON: Bool = false
    ) {
      (self.name, self.value, self.place, self.isJSON) = (name, value, place, isJSON)
    }
  }
}

/// Where a paging parameter stands in a request.
public enum ParameterPlace: Sendable, Hashable {
  case query
  case header
  /// A member of a JSON body, by its path, or a field of a form.
  case body
}

/// An answer as a pager sees it.
public struct Page: Sendable {
  /// Counted from 1.
  public var number: Int
  public var status: Int
  public var headers: HTTPHeaders
  /// The parsed body; nil for an answer that ends the walk by its status.
  public var root: JSONValue? = nil
  /// The first and the last element of the page's list as they came; nil where it is empty.
  public var firstRecord: JSONValue? = nil
  public var lastRecord: JSONValue? = nil
  /// Elements of the page's list, bad ones included. Known when ``Pager/needsRecords`` is true.
  public var recordCount = 0
  /// Records that no earlier page of this walk had, as far as their keys tell. Known when ``Pager/needsRecords`` is true.
  public var newKeyCount = 0
}

/// What follows a page.
public enum PageDecision: Sendable, Hashable {
  case next(PageRequest)
  case end(PageEnd)
}

extension PageDecision: CustomStringConvertible {
  public var description: String {
    switch self {
    case .next(.address(let address)): "next: \(address)"
    case .next(.items(let items)): "next: \(items.map { "\($0.name)=\($0.value)" }.joined(separator: ", "))"
    case .end(.proven): "end, proven"
    case .end(.unproven(let reason)): "end, unproven: \(reason)"
    }
  }
}

/// How a walk over the pages ended.
public enum PageEnd: Sendable, Hashable {
  /// The source said itself that there is no more.
  case proven
  /// Nothing more came, but the source did not say that this is all.
  case unproven(String)
}

/// One walk over the pages of a source. Each walk has a fresh one.
///
/// A paging of one's own is a small struct behind ``Paging/init(_:pager:)``:
///
/// ```swift
/// struct Letters: Pager {
///   private var letters = Array("abc")
///   func firstRequest() -> PageRequest { .items([.init("letter", "a")]) }
///   mutating func decide(after page: Page) -> PageDecision {
///     letters.removeFirst()
///     return letters.first.map { .next(.items([.init("letter", String($0))])) } ?? .end(.proven)
///   }
/// }
/// // paging: Paging("letters") { _ in Letters() }
/// ```
public protocol Pager: Sendable {
  /// Whether decisions depend on the records of a page; otherwise the next page is asked for before they are read.
  var needsRecords: Bool { get }

  /// Whether records can move between pages while the walk goes on, so that one walk may miss a row that is there.
  var mayShift: Bool { get }

  /// Whether the first records of the page that comes next may be the last ones of the page before: they do not count
  /// as doubled then.
  var repeatsBoundary: Bool { get }
  /// Whether a page without records is nothing unusual although others follow; otherwise the walk proves nothing then.
  var mayBeEmptyMidway: Bool { get }

  func firstRequest() -> PageRequest

  /// What follows `page`.
  ///
  /// - Throws: ``PagingError`` if the page's paging fields cannot be understood.
  mutating func decide(after page: Page) throws -> PageDecision

  /// The requests that will follow the one decided last, in their order, as far as they are known: up to `count` are
  /// sent ahead.
  func upcoming(_ count: Int) -> [PageRequest]

  /// Records of the whole walk, where the source named their number.
  var total: Int? { get }

  /// Whether a status is that of a page: 200 to 299 but 204 and 206.
  func isPage(status: Int) -> Bool

  /// Whether a status that is no page's ends the walk.
  ///
  /// - Parameter page: the number of the page that was asked for, counted from 1.
  func isEnd(status: Int, page: Int) -> Bool
}

extension Pager {
  public var needsRecords: Bool { false }
  public var mayShift: Bool { false }
  public var repeatsBoundary: Bool { false }
  public var mayBeEmptyMidway: Bool { false }
  public func upcoming(_ count: Int) -> [PageRequest] { [] }
  public var total: Int? { nil }
  public func isPage(status: Int) -> Bool { (200...299).contains(status) && status != 204 && status != 206 }
  public func isEnd(status: Int, page: Int) -> Bool { false }
}

/// Paging fields of an answer that cannot be understood.
public struct PagingError: Error, Sendable, CustomStringConvertible {
  public var description: String
  public init(_ description: String) { self.description = description }
}

/// What a pager knows of the walk that it is made for.
public struct PagingContext: Sendable {
  /// Whether the end has to be proven even where that costs a request, because a deletion depends on it.
  public var asksForEnd: Bool
  /// When the run began, in milliseconds since 1970.
  public var startedAt: Int64
  /// The path of the field that no two records share.
  var keyPath: String?
  /// The beginning of the one window that is asked for, in milliseconds since 1970; nil for all.
  var window: Int64?
}

/// How one page leads to the next.
///
/// ## Topics
/// - ``none``
/// - ``next(_:)``
/// - ``next(header:)``
/// - ``linkHeader``
/// - ``cursor(_:parameter:in:more:)``
/// - ``cursor(header:parameter:in:)``
/// - ``offset(_:limit:size:start:total:endStatus:in:)``
/// - ``page(_:from:size:sizeParameter:total:pages:endStatus:in:)``
/// - ``keyset(_:field:tie:isUnique:more:size:sizeParameter:endStatus:in:)``
/// - ``range(_:size:)``
/// - ``windows(from:to:since:step:_:in:paging:)``
/// - ``until(_:_:)``
/// - ``init(_:pager:)``
public struct Paging: Sendable {
  let makePager: @Sendable (PagingContext) -> any Pager
  let paths: [JSONPath]
  /// Why the paging cannot work; the start of the program refuses it.
  var fault: String?
  /// Distinguishes declarations for the fingerprint of a scope.
  let description: String
  /// What decisions are made of; nil where it may be all of an answer.
  let reads: PageReads?
  /// The beginnings of all windows that there are now, in milliseconds since 1970, for paging by windows of time.
  ///
  /// - Parameter limit: so many of them at most.
  var windows: (@Sendable (_ limit: Int) -> [Int64])?

  init(
    makePager: @escaping @Sendable (PagingContext) -> any Pager, paths: [JSONPath], fault: String? = nil,
    description: String, reads: PageReads?
  ) {
    (self.makePager, self.paths, self.fault, self.description) = (makePager, paths, fault, description)
    self.reads = reads
  }

  /// A paging of one's own. Its pages are always asked for in full, since it may read all of them.
  ///
  /// - Parameters:
  ///   - name: changes with what the pager asks for, so that a run over other records than the last one's does not
  ///     delete those.
  ///   - pager: makes a fresh pager for each walk.
  public init(_ name: String, pager: @escaping @Sendable (PagingContext) -> any Pager) {
    self.init(makePager: pager, paths: [], description: "own \(name)", reads: nil)
  }
}

/// A token that leads to the next page, checked for loops of any length.
struct TokenTrail: Sendable {
  private var seen: Set<[UInt8]> = []

  /// - Throws: ``PagingError`` for a token that came before in this walk.
  mutating func follow(_ token: String, _ name: String) throws(PagingError) {
    guard seen.insert(Array(token.utf8)).inserted else {
      throw PagingError("the \(name) \"\(token)\" repeats: the pages go round in a loop")
    }
  }
}
