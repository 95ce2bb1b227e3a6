/// The request side of an entity: what to ask and where in the answer the records are.
///
/// ```swift
/// Source(.marvel, "characters", rows: "data.results",
///        paging: .offset("offset", limit: "limit", size: 100, total: "data.total"))
/// // GET https://gateway.marvel.com/v1/public/characters?offset=0&limit=100 …
/// ```
public struct Source: Sendable {
  public var api: API
  public var path: String
  public var query: Query
  public var body: RequestBody?
  public var headers: [String: String]
  public var rows: Rows
  public var format: BodyFormat
  /// Where an answer reports a failure although its status is 200, besides ``API/errors``.
  public var errors: [JSONPath]
  public var paging: Paging
  public var maxPages: Int
  public var maxRecords: Int?
  public var parents: Parents?
  /// How its runs are cut where workers share them; nil where a run is one unit.
  public var slices: Slices?
  public var filter: RecordFilter?
  public var prepare: Preparation?
  public var badRecords: BadRecords
  /// Whether pages are asked for on the condition that they have changed, where the server gives validators.
  public var isConditional: Bool
  /// Whether a run goes on where one before it was ended.
  public var resume: Resume

  /// - Parameters:
  ///   - path: appended to the API's URL. `{parent.column}` is filled from the parents' rows, percent-encoded.
  ///   - query: parameters of every page.
  ///   - body: makes the requests POST, for search endpoints.
  ///   - headers: header fields of every request, besides the API's.
  ///   - rows: where in the answer the records are.
  ///   - format: how the answer is written.
  ///   - errors: places in an answer that fail the run where they hold anything, besides those of the API.
  ///   - paging: how one page leads to the next. ``Paging/none`` says that one answer is all.
  ///   - maxPages: a net for sources without an end: the run fails when more are pending, for one parent where there
  ///     are several.
  ///   - maxRecords: the same for the records of the whole run.
  ///   - parents: the entity whose rows this one is asked for, one walk each.
  ///   - slices: how its runs are cut into units where workers share the work.
  ///   - filter: the records that are this entity's; the others are passed over.
  ///   - prepare: makes a record of each record before it is mapped, for what no field can say.
  ///   - badRecords: what a record that does not fit does to the run.
  ///   - conditional: whether pages are asked for with `If-None-Match` or `If-Modified-Since` where the last proven run
  ///     had an ETag or Last-Modified; status 304 then proves the page's rows again. False for a server whose validators
  ///     stay the same although its answers change.
  ///   - resume: for how long the pages of a run that was ended are taken by the next one.
  public init(
    _ api: API, _ path: String, query: Query = [:], body: RequestBody? = nil, headers: [String: String] = [:],
    rows: Rows = .list(.root), format: BodyFormat = .json, errors: [JSONPath] = [],
    paging: Paging, maxPages: Int = 10_000, maxRecords: Int? = nil, parents: Parents? = nil,
    slices: Slices? = nil, where filter: RecordFilter? = nil,
    prepare: Preparation? = nil, badRecords: BadRecords = .fail, conditional: Bool = true,
    resume: Resume = .within(.seconds(3600))
  ) {
    self.resume = resume
    (self.api, self.path, self.query, self.headers, self.rows) = (api, path, query, headers, rows)
    (self.paging, self.maxPages, self.parents, self.badRecords) = (paging, maxPages, parents, badRecords)
    (self.body, self.filter, self.prepare) = (body, filter, prepare)
    (self.maxRecords, self.slices) = (maxRecords, slices)
    (self.format, self.errors, isConditional) = (format, errors, conditional)
  }
}

/// Where in an answer or a record the records are, and in which shape. A string literal is the path of a list.
///
/// ```swift
/// "data.items"                       // a list
/// .list(.root)                       // the whole answer is the list
/// "users[*].officer"                 // one record for each user that has an officer
/// .object("data")                    // one record
/// .byKey("rates")                    // {"EUR": {…}, "USD": {…}}
/// .columns("hourly")                 // {"time": [1, 2], "wind": [7.4, 8]}
/// ```
public struct Rows: Sendable, ExpressibleByStringLiteral {
  enum Shape: Sendable { case list, object, listOrObject, byKey, columns }

  let path: JSONPath
  let shape: Shape
  var isNullEmpty = false

  /// A list of records; ``JSONPath/root`` where the whole answer is the list.
  ///
  /// Behind a wildcard each value that the path leads to is a record; where it leads to nothing or null there is none.
  /// What stands in the way of the path, such as a text in the place of an object, is a bad record.
  public static func list(_ path: JSONPath) -> Rows { Rows(path: path, shape: .list) }
  /// One record.
  public static func object(_ path: JSONPath) -> Rows { Rows(path: path, shape: .object) }
  /// A list, or the bare record in place of a list of one.
  public static func listOrObject(_ path: JSONPath) -> Rows { Rows(path: path, shape: .listOrObject) }
  /// An object whose member values are the records; fields read the member's key as `@key`.
  public static func byKey(_ path: JSONPath) -> Rows { Rows(path: path, shape: .byKey) }
  /// An object of lists, one for each field: the values at one position are a record. Members that are no list are
  /// passed over; lists of different lengths fail the run.
  public static func columns(_ path: JSONPath) -> Rows { Rows(path: path, shape: .columns) }

  /// Takes `null` for an empty list. Without it, null fails the run.
  public var nullIsEmpty: Rows {
    var copy = self
    copy.isNullEmpty = true
    return copy
  }

  init(path: JSONPath, shape: Shape) { (self.path, self.shape) = (path, shape) }
  public init(stringLiteral value: String) { self = .list(JSONPath(stringLiteral: value)) }

  /// The path up to the first wildcard.
  var listPath: JSONPath {
    JSONPath(components: Array(path.components.prefix { $0 != .wildcard }), fault: path.fault)
  }

  /// The path from each element of the list to its record; empty where the element is the record.
  var recordPath: [JSONPath.Component] { Array(path.components.drop { $0 != .wildcard }.dropFirst()) }
}

/// What a record that does not fit its mapping does to the run.
public struct BadRecords: Sendable, Hashable {
  let quarantineLimit: Int?
  let quarantineShare: Double

  /// The run fails, after the whole walk was checked, and nothing is written.
  public static let fail = BadRecords(quarantineLimit: nil, quarantineShare: 1)

  /// Bad records go to `syncd_rejects` and are left out; the run deletes nothing.
  ///
  /// - Parameters:
  ///   - limit: more bad records than these fail the run.
  ///   - share: a larger share of the run's records than this, 0 to 1, fails the run too.
  public static func quarantine(atMost limit: Int, share: Double = 1) -> BadRecords {
    BadRecords(quarantineLimit: limit, quarantineShare: share)
  }
}
