import HTTP
import JSON

/// What a walk over all pages brought.
struct Walk: Sendable {
  /// The rows of each page.
  var rows: [PageRows] = []
  var outcome: WalkOutcome = .unproven([])
  var pages = 0
  var records = 0
  var bytes = 0
  var duplicates = 0
  var rejects: [BadRecord] = []
  /// Positions of rows whose key came again later.
  var superseded: Set<Int> = []
  var absentColumns: [String] = []
  /// Pages that an earlier run had read, which did not end.
  var resumed = 0
  /// Pages that were the same as at an earlier run.
  var notModified = 0
  /// Positions of rows that stand for rows which are gone.
  var tombstones: Set<Int> = []
  /// What the source handed out for the next run to ask with.
  var token: String?
  /// The source's clock when the first page was answered, in milliseconds since 1970.
  var serverTime: Int64?
  /// What the next run may know of the pages, by their names.
  var states: [String: PageState] = [:]

  /// Adds a later walk of the same run, whose outcome counts.
  ///
  /// - Throws: ``KeptPagesUnusable`` for a page that came in full and then is said to be what it was before: its rows
  ///   are not those that are kept.
  mutating func add(_ later: Walk) throws(KeptPagesUnusable) {
    for (name, state) in later.states {
      if case .fresh? = states[name], case .unchanged = state { throw KeptPagesUnusable() }
      states[name] = state
    }
    rows += later.rows
    pages += later.pages
    records += later.records
    bytes += later.bytes
    duplicates += later.duplicates
    rejects += later.rejects
    superseded.formUnion(later.superseded)
    tombstones.formUnion(later.tombstones)
    notModified += later.notModified
    resumed += later.resumed
    (token, serverTime) = (token ?? later.token, serverTime ?? later.serverTime)
    (outcome, absentColumns) = (later.outcome, later.absentColumns)
  }
}

extension Walk {
  /// Notes what a page hands out for the next run: a header field of the first one, or what the last body says that says
  /// anything.
  mutating func note(_ place: TokenPlace?, _ page: Page) throws(PagingError) {
    guard let place, let found = try place.token(in: page, "token")?.text else { return }
    if case .header = place, token != nil { return }
    token = found
  }
}

/// How far a run is, for those who watch it.
public struct SyncProgress: Sendable, Hashable {
  public var entity: String
  /// The run's name; nil where nothing is going to be kept of it.
  public var run: String?
  public var pages = 0
  public var records = 0
  /// Records of the whole walk, where the source names their number.
  public var total: Int?
  public var bytes = 0
  /// A request that is going to be repeated, and why.
  public var retry: String?
  /// The page that was read last.
  public var step: WalkStep?
}

/// What became of one page of a walk.
public struct WalkStep: Sendable, Hashable {
  /// Counted from 1, over all parents.
  public var page: Int
  public var method: String
  /// The address without what authentication adds to it.
  public var url: String
  public var status: Int
  public var attempts: Int
  public var duration: Duration
  /// Of the body, as it came over the wire.
  public var bytes: Int
  /// Records on the page, and those of them that the walk had not seen.
  public var records: Int
  public var newRecords: Int
  /// What the paging made of it, in words.
  public var decision: String
}

/// How far a walk goes.
enum WalkExtent: Sendable, Hashable {
  case all
  /// It stops behind the page on which this many records are reached, and proves nothing.
  case records(Int)
}

/// Why a walk cannot go on. Nothing of the run is committed.
struct WalkFailure: Error, CustomStringConvertible {
  let description: String
  init(page: Int, url: HTTPURL?, _ reason: String) {
    description = "page \(page)\(url.map { " (\($0))" } ?? ""): \(reason)"
  }

  init(_ description: String) { self.description = description }
}
