import HTTP
import SyncEngine
import TestSupport
import Testing

/// Every fault on every page of every paging style: `Tests/Support/faults.py` describes them.
@Suite("Faults on each page", .timeLimit(.minutes(15)), .fewAtATime, .once)
struct FaultTests {
  static let server = Result { try LocalServer("faults.py") }

  static let api = API(
    "pages", url: "https://pages.example.invalid/", concurrency: 1,
    retry: RetryPolicy(retries: 1, base: .milliseconds(1), longestWait: .seconds(1)), breaker: .none,
    limits: HTTPLimits(connect: .seconds(5), idle: .milliseconds(150), total: .seconds(10)))

  static let styles: [(path: String, paging: Paging, options: String)] = [
    ("next", .next("next"), ""), ("link", .linkHeader, ""),
    ("cursor", .cursor("cursor", parameter: "after"), ""),
    ("offset", .offset("offset", limit: "limit", size: 3, total: "total"), #", "total": true"#),
    ("page", .page("page", size: 3, sizeParameter: "per_page"), ""),
    ("keyset", .keyset("after", field: "n", isUnique: true, size: 3, sizeParameter: "limit"), ""),
  ]

  static let faults = [
    "404", "429", "500", "reset", "stall", "cut", "cut-close", "cut-chunked", "close", "repeat", "error",
    "html",
    "empty", "end", "redirect",
  ]

  /// Two states of nine records on three pages, with other texts and one record that the other has not.
  static let states = [#""n": 9, "size": 3"#, #""n": 10, "size": 3, "prefix": "w", "gone": [5]"#]

  private func begin(_ session: String, _ options: String, _ fault: String = "") async throws {
    _ = try await CurlTransport().text(session + "/_options", by: "PUT", body: "{\(options)\(fault)}")
  }

  private func engine(_ fixture: Fixture, _ session: String) -> Engine {
    Engine(store: fixture.store, options: .init(urls: ["pages": session + "/"]))
  }

  private static let rows = "SELECT id, v FROM thing ORDER BY id"

  /// - Parameter tags: an option, for answers that may be asked for with a condition.
  @Test(
    "the table is as before or has lost nothing, and recovers", arguments: styles.indices,
    ["", #", "tags": "weak""#])
  func each(_ index: Int, _ tags: String) async throws {
    var style = Self.styles[index]
    style.options += tags
    let session = "\(try Self.server.get().base)/f\(index)\(tags.count)"
    let source = Source(Self.api, style.path, rows: "data", paging: style.paging, maxPages: 9)
    try await Row.$source.withValue(source) {
      var goals: [String] = []
      for state in Self.states {
        let clean = try Fixture()
        try await begin(session, state + style.options)
        _ = try await engine(clean, session).sync(Row.self)
        goals.append(try clean.rows(Self.rows))
      }
      let fixture = try Fixture()
      let syncing = engine(fixture, session)
      try await begin(session, Self.states[0] + style.options)
      _ = try await syncing.sync(Row.self)
      var number = 0
      for kind in Self.faults {
        for page in 1...3 where kind != "repeat" || page > 1 {
          let name = "\(style.path), \(kind) on page \(page)"
          number = 1 - number
          let (state, old) = (Self.states[number] + style.options, goals[1 - number])
          try #require(try fixture.rows(Self.rows) == old, "before \(name)")

          try await begin(session, state, #", "fault": {"page": \#(page), "kind": "\#(kind)"}"#)
          let line = await outcome(of: syncing, Row.self)
          // A list that ends early is told from a whole one only where links or a total go on behind it.
          let isTold =
            kind != "end" && (kind != "empty" || style.path == "offset" || index < 3 && page < 3)
          check(name, line, old: old, new: try fixture.rows(Self.rows), goal: goals[number], isTold: isTold)

          try await begin(session, state)
          let recovery = await outcome(of: syncing, Row.self)
          #expect(try fixture.rows(Self.rows) == goals[number], "\(name): \(line)\nthen \(recovery)")
        }
      }
    }
  }

  /// - Parameter isTold: whether the answer shows that something is wrong: a list that ends early does not.
  private func check(
    _ name: String, _ line: String, old: String, new: String, goal: String, isTold: Bool
  ) {
    if line.hasSuffix("unproven") || line.contains(", unproven: ") {
      let ids = { (rows: String) in Set(rows.split(separator: "\n").map { $0.prefix { $0 != " " } }) }
      #expect(ids(new).isSuperset(of: ids(old)), "\(name) lost rows: \(line)")
    } else if line.hasSuffix(", proven") {
      if isTold { #expect(new == goal, "\(name) was taken as proven: \(line)") }
    } else {
      #expect(new == old, "\(name) failed, but changed the table: \(line)")
    }
  }
}
