import Foundation
import HTTP
import PostgresStore
import SyncEngine
import TestSupport
import Testing

/// Parents with keys of each kind, declared values, buckets and windows.
@Suite("Kinds of slices", .timeLimit(.minutes(15)), .fewAtATime)
struct SliceKindTests {
  struct Tag: Entity {
    var name = ""
    static let source = Source(.place, "tags", paging: .none)
    static var mapping: Mapping<Tag> { Key(\.name) }
  }
  struct Pair: Entity {
    var a = ""
    var b = 0
    static let source = Source(.place, "pairs", paging: .none)
    static var mapping: Mapping<Pair> {
      Key(\.a)
      Key(\.b)
    }
  }
  struct Thing: Entity {
    var id = UUID()
    static let source = Source(.place, "things", paging: .none)
    static var mapping: Mapping<Thing> { Key(\.id) }
  }
  struct Dated: Entity {
    var at = Date(timeIntervalSince1970: 0)
    static let source = Source(.place, "dated", paging: .none)
    static var mapping: Mapping<Dated> { Key(\.at) }
  }

  struct OfTag: Entity {
    var tag = ""
    var n = 0
    static let source = Source(
      .place, "kids", query: ["p": "{parent.name}"], paging: .none, parents: Parents(Tag.self),
      slices: .parents)
    static var mapping: Mapping<OfTag> {
      Key(\.tag, "@parent.name")
      Key(\.n)
    }
    static let deletion = Deletion<OfTag>.missing(atMost: 1)
  }
  struct OfPair: Entity {
    var a = ""
    var b = 0
    var n = 0
    static let source = Source(
      .place, "kids", query: ["p": "{parent.a}", "q": "{parent.b}"], paging: .none,
      parents: Parents(Pair.self),
      slices: .parents)
    static var mapping: Mapping<OfPair> {
      Key(\.a, "@parent.a")
      Key(\.b, "@parent.b")
      Key(\.n)
    }
    static let deletion = Deletion<OfPair>.missing(atMost: 1)
  }
  struct OfThing: Entity {
    var thing = UUID()
    var n = 0
    static let source = Source(
      .place, "kids", query: ["p": "{parent.id}"], paging: .none, parents: Parents(Thing.self),
      slices: .parents)
    static var mapping: Mapping<OfThing> {
      Key(\.thing, "@parent.id")
      Key(\.n)
    }
    static let deletion = Deletion<OfThing>.missing(atMost: 1)
  }
  struct OfDated: Entity {
    var at = Date(timeIntervalSince1970: 0)
    var n = 0
    static let source = Source(
      .place, "kids", query: ["p": "{parent.at}"], paging: .none, parents: Parents(Dated.self),
      slices: .parents)
    static var mapping: Mapping<OfDated> {
      Key(\.at, "@parent.at")
      Key(\.n)
    }
    static let deletion = Deletion<OfDated>.missing(atMost: 1)
  }

  /// - Parameters:
  ///   - units: how many slices the parents have.
  ///   - gone: a query for which there is a row less.
  private func check(
    _ entity: any Entity.Type, _ parents: String, count: Int, units: Int, gone: [String: String]
  ) async throws {
    let place = try SharedPlace()
    let one = try await place.worker("one", entity)
    try place.rows(parents)
    try place.server.serve([Route("/kids", body: #"[{"n":1},{"n":2}]"#)])
    let lines = try await one.work()
    #expect(lines.count == units + 2, "\(lines)")
    #expect(lines.first == "\(entity.name): \(units) slices, \(units) new, 0 gone")
    #expect(
      lines.last
        == "\(entity.name): \(count) pages, \(2 * count) records, \(2 * count) inserted, 0 updated, 0 unchanged, 0 deleted, proven",
      "\(lines)")
    let rows = try place.rows("SELECT * FROM \(entity.name) t ORDER BY t::text")
    // They are those of a run of the whole.
    #expect(
      await outcome(of: try place.engine(), entity).hasSuffix(
        "0 inserted, 0 updated, \(2 * count) unchanged, 0 deleted, proven"))
    expect(try place.rows("SELECT * FROM \(entity.name) t ORDER BY t::text"), is: rows)
    // One is gone, of one parent.
    try place.server.serve([
      Route("/kids", query: gone, body: #"[{"n":2}]"#), Route("/kids", body: #"[{"n":1},{"n":2}]"#),
    ])
    try place.due("slice <> ''")
    #expect(try await one.work().last?.hasSuffix("\(2 * count - 1) unchanged, 1 deleted, proven") == true)
    #expect(try place.rows("SELECT count(*) FROM \(entity.name)") == "\(2 * count - 1)")
    // Nothing changes when they are looked for again.
    try place.due("slice = ''")
    #expect(try await one.work() == ["\(entity.name): \(units) slices, 0 new, 0 gone"])
  }

  @Test("texts with all that may stand in a key")
  func texts() async throws {
    let names = [
      "a b", "ü/ö?&=#", "x,y", "'quoted'", "\"twice\"", "back\\slash", "{brace}", "NULL", "", "''", "50%",
      "two\nlines",
      "]", "[1]", String(repeating: "long ", count: 300), "\u{1F600}",
    ]
    let values = names.map { "('\($0.replacing("'", with: "''"))')" }.joined(separator: ",")
    try await check(
      OfTag.self, "CREATE TABLE tag (name text PRIMARY KEY); INSERT INTO tag VALUES \(values)",
      count: names.count,
      // The empty one and the one of two quotes have one name.
      units: names.count - 1, gone: ["p": "''"])
  }

  @Test("keys of several columns, also where their names meet")
  func pairs() async throws {
    try await check(
      OfPair.self,
      "CREATE TABLE pair (a text, b bigint, PRIMARY KEY (a, b)); INSERT INTO pair VALUES ('x', 1), ('x', 2), ('x,1', 2), ('', 1), ('y', -1)",
      count: 5, units: 5, gone: ["p": "x,1", "q": "2"])
  }

  @Test("keys that are no text and no integer")
  func others() async throws {
    let ids = [UUID(), UUID(), UUID()].map { $0.uuidString.lowercased() }
    try await check(
      OfThing.self,
      "CREATE TABLE thing (id uuid PRIMARY KEY); INSERT INTO thing VALUES \(ids.map { "('\($0)')" }.joined(separator: ","))",
      count: 3, units: 3, gone: ["p": ids[1]])
    try await check(
      OfDated.self,
      "CREATE TABLE dated (at timestamptz(3) PRIMARY KEY); INSERT INTO dated VALUES ('2026-01-01T00:00:00.5Z'), ('2026-01-02Z')",
      count: 2, units: 2, gone: ["p": "2026-01-02T00:00:00.000Z"])
  }

  @Test("declared values are slices without a table")
  func values() async throws {
    let place = try SharedPlace()
    let one = try await place.worker("one", Cut.Regional.self)
    func serve(_ rows: [String: [Int]]) throws {
      try place.server.serve(
        rows.map { region, rows in
          Route(
            "/regions/\(region)", body: "[" + rows.map { #"{"n":\#($0)}"# }.joined(separator: ",") + "]")
        })
    }
    try serve(["eu": [1, 2], "us": [1], "a%20p%2F%C3%BC": [7]])
    #expect(
      try await one.work().last
        == "regional: 3 pages, 4 records, 4 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    expect(
      try place.rows("SELECT slice FROM syncd_units WHERE slice <> '' ORDER BY 1"), is: "a p/ü\neu\nus")
    try serve(["eu": [1], "us": [1], "a%20p%2F%C3%BC": [7]])
    try place.due("slice <> ''")
    #expect(try await one.work().last?.contains(" 1 deleted, proven") == true)
    expect(
      try place.rows("SELECT region, n FROM regional ORDER BY region COLLATE \"C\""),
      is: "a p/ü | 7\neu | 1\nus | 1")
  }

  @Test("buckets: each parent is in one of them, and empty ones are proven")
  func buckets() async throws {
    let place = try SharedPlace()
    let one = try await place.worker("one", Cut.Owner.self, Cut.Spread.self)
    let owners = Dictionary(uniqueKeysWithValues: (1...20).map { ($0, [1, 2]) })
    try place.serve(owners: owners)
    let lines = try await one.work(blockers: ["spread": ["owner"]])
    #expect(lines.contains("spread: 4 slices, 4 new, 0 gone"))
    #expect(
      lines.last == "spread: 20 pages, 40 records, 40 inserted, 0 updated, 0 unchanged, 0 deleted, proven",
      "\(lines)")
    #expect(try place.server.requests().filter { $0.path.hasSuffix("lines") }.count == 20)
    // Few parents leave buckets without one.
    try place.rows("DELETE FROM owner WHERE id > 1")
    try place.due("entity = 'spread' AND slice <> ''")
    #expect(try await one.work().last?.contains("2 unchanged, 0 deleted, proven") == true)
    // Rows of parents that are gone are not judged.
    expect(try place.rows("SELECT count(*) FROM spread"), is: "40")
  }

  struct Chosen: Entity {
    var owner = 0
    var n = 0
    static let source = Source(
      .place, "owners/{parent.id}/lines", paging: .none,
      parents: Parents(Stated.self, where: ["state": "open"]),
      slices: .parents)
    static var mapping: Mapping<Chosen> {
      Key(\.owner, "@parent.id")
      Key(\.n)
    }
    static let deletion = Deletion<Chosen>.missing(atMost: 1)
  }
  struct Stated: Entity {
    var id = 0
    var state: String?
    static let source = Source(.place, "stated", paging: .none)
    static var mapping: Mapping<Stated> {
      Key(\.id)
      Field(\.state)
    }
  }

  @Test("only parents that are chosen have slices")
  func chosen() async throws {
    let place = try SharedPlace()
    let one = try await place.worker("one", Chosen.self)
    try place.rows(
      "CREATE TABLE stated (id bigint PRIMARY KEY, state text); INSERT INTO stated VALUES (1, 'open'), (2, 'closed'), (3, NULL), (4, 'open')"
    )
    try place.serve(owners: [1: [1], 4: [1]])
    let lines = try await one.work()
    #expect(
      lines.first == "chosen: 2 slices, 2 new, 0 gone" && lines.last?.hasSuffix(", proven") == true,
      "\(lines)")
    try place.rows("UPDATE stated SET state = CASE id WHEN 1 THEN 'closed' ELSE 'open' END")
    try place.serve(owners: [2: [1], 3: [1], 4: [1]])
    try place.due("slice = ''")
    #expect(try await one.work().contains("chosen: 3 slices, 2 new, 1 gone"))
    // Rows of the one that is closed are not judged.
    expect(try place.rows("SELECT owner FROM chosen ORDER BY 1"), is: "1\n2\n3\n4")
  }

  struct Event: Entity {
    var id = 0
    static let start = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 - 3.5 * 86_400).rounded())
    static let source = Source(
      .place, "events", paging: .windows(from: "from", to: "to", since: start, step: .seconds(86_400)),
      slices: .windows)
    static var mapping: Mapping<Event> { Key(\.id) }
    static let deletion = Deletion<Event>.missing(atMost: 1)
  }

  @Test(
    "windows: each is asked for by itself; a record may go from one to another, and goes when two ends miss it"
  )
  func windows() async throws {
    let place = try SharedPlace()
    let one = try await place.worker("one", Event.self)
    let begins = (0..<4).map {
      Timestamp.text(Int64(Event.start.timeIntervalSince1970 * 1000) + Int64($0) * 86_400_000)
    }
    func serve(_ rows: [[Int]]) throws {
      try place.server.serve(
        zip(begins, rows).map { begin, rows in
          Route(
            "/events", query: ["from": begin],
            body: "[" + rows.map { #"{"id":\#($0)}"# }.joined(separator: ",") + "]")
        })
    }
    try serve([[1, 2], [3], [], [4]])
    let first = try await one.work()
    #expect(first.first == "event: 4 slices, 4 new, 0 gone", "\(first)")
    #expect(
      first.last?.hasSuffix("4 inserted, 0 updated, 0 unchanged, 0 deleted, proven") == true, "\(first)")
    #expect(
      first.dropFirst().dropLast().map { $0.prefix { $0 != ":" } }
        == begins.map { "event[\($0)".prefix { $0 != ":" } })
    // 2 goes on to the last window, 4 is gone.
    try serve([[1], [3], [], [2]])
    try place.due("slice <> ''")
    #expect(try await one.work().last?.contains(" 0 deleted, proven") == true)
    try place.due("slice <> ''")
    let last = try await one.work()
    #expect(last.last?.contains(" 1 deleted, proven") == true, "\(last)")
    expect(try place.rows("SELECT id FROM event ORDER BY 1"), is: "1\n2\n3")
    #expect(
      await outcome(of: try place.engine(), Event.self).hasSuffix(
        "0 inserted, 0 updated, 3 unchanged, 0 deleted, proven"))
  }

  // MARK: The same table

  protocol Style: Sendable {
    static var paging: Paging { get }
  }
  enum Next: Style { static let paging = Paging.next("next") }
  enum Page: Style { static let paging = Paging.page("page") }
  enum Offset: Style { static let paging = Paging.offset("offset", size: 2, total: "total") }
  enum Token: Style { static let paging = Paging.cursor("token", parameter: "token") }

  struct Paged<S: Style>: Entity {
    var owner = 0
    var n = 0
    var v: String?
    static var table: String { "paged" }
    static var source: Source {
      Source(
        .place, "owners/{parent.id}/lines", rows: "data", paging: S.paging, parents: Parents(Cut.Owner.self),
        slices: .parents)
    }
    static var mapping: Mapping<Paged> {
      Key(\.owner, "@parent.id")
      Key(\.n)
      Field(\.v)
    }
    static var deletion: Deletion<Paged> { .missing(atMost: 1) }
  }

  /// All pages of each owner's lines, two lines a page, for all styles at once.
  private func pages(_ owners: [Int: [Int]], _ text: String) -> [Route] {
    owners.flatMap { owner, lines in
      let pages =
        stride(from: 0, to: lines.count, by: 2).map { Array(lines[$0..<min($0 + 2, lines.count)]) } + [[]]
      return pages.enumerated().reversed().flatMap { index, page in
        let records = page.map { #"{"n":\#($0),"v":"\#(text)\#($0)"}"# }.joined(separator: ",")
        let isLast = index == pages.count - 1
        let links = isLast ? "" : #","next":"?p=\#(index + 1)","token":"t\#(index + 1)""#
        let body = #"{"data":[\#(records)],"total":\#(lines.count)\#(links)}"#
        let path = "/owners/\(owner)/lines"
        let own = [
          ["p": "\(index)"], ["page": "\(index + 1)"], ["offset": "\(index * 2)"], ["token": "t\(index)"],
        ]
        return own.map { Route(path, query: $0, body: body) } + (index == 0 ? [Route(path, body: body)] : [])
      }
    }
  }

  @Test(
    "a run of the whole and runs of slices make the same table",
    arguments: [Paged<Next>.self, Paged<Page>.self, Paged<Offset>.self, Paged<Token>.self]
      as [any Entity.Type])
  func same(_ entity: any Entity.Type) async throws {
    let (whole, cut) = (try SharedPlace(), try SharedPlace())
    let owners = "CREATE TABLE owner (id bigint PRIMARY KEY); INSERT INTO owner SELECT generate_series(1, 5)"
    let rows = "SELECT * FROM paged ORDER BY owner, n"
    try whole.rows(owners)
    try cut.rows(owners)
    let engine = try whole.engine()
    let (one, two) = (try await cut.worker("one", entity), try await cut.worker("two", entity))
    let editions: [[Int: [Int]]] = [
      [1: [1, 2, 3, 4, 5], 2: [1, 2], 3: [], 4: [7], 5: [1, 2, 3, 4]],
      [1: [1, 3, 5], 2: [1, 2, 9], 3: [1], 4: [], 5: [1, 2, 3, 4]],
      [1: [1, 3, 5], 2: [], 3: [], 4: [], 5: [2, 4]],
    ]
    for (number, edition) in editions.enumerated() {
      let routes = pages(edition, "\(number)-")
      try whole.server.serve(routes)
      try cut.server.serve(routes)
      let said = await outcome(of: engine, entity)
      #expect(said.hasSuffix(", proven"), "\(said)")
      if number > 0 { try cut.due("slice <> ''") }
      // In turns, as two machines do it.
      while true {
        let claims = [(one, try await one.claim(limit: 1)), (two, try await two.claim(limit: 2))]
        if claims.allSatisfy(\.1.isEmpty) { break }
        for (worker, claims) in claims {
          for claim in claims {
            let said = await worker.run(claim)
            #expect(said.hasSuffix(", proven") || said.hasSuffix("gone"), "\(said)")
          }
        }
      }
      expect(try cut.rows(rows), is: try whole.rows(rows))
      #expect(try cut.rows("SELECT generation FROM syncd_units WHERE slice = ''") == "\(number + 2)")
    }
  }

  // MARK: Rates

  @Test("the rate of an API holds for two engines together, and a wait that it asks for holds for both")
  func rates() async throws {
    let place = try SharedPlace()
    try place.rows(
      "CREATE TABLE owner (id bigint PRIMARY KEY); INSERT INTO owner SELECT generate_series(1, 15)")
    try place.serve(owners: Dictionary(uniqueKeysWithValues: (1...15).map { ($0, [1]) }))
    let options = Engine.Options(rates: ["place": .perSecond(20)], sharesRates: true)
    let (one, two) = (try place.engine(options), try place.engine(options))
    let start = Date().timeIntervalSince1970
    async let first = outcome(of: one, Cut.Line.self)
    async let second = outcome(of: two, Cut.Ticket.self)
    let lines = await [first, second]
    #expect(lines.allSatisfy { $0.contains("15 pages") }, "\(lines)")
    let times = try place.server.requests().compactMap(\.at).sorted()
    #expect(times.count == 30)
    // No request comes before its turn, whoever's it is.
    for (number, time) in times.enumerated() {
      #expect(time - start >= Double(number) * 0.05 - 0.001, "\(number): \(time - start)")
    }
    try place.server.reset()
    try place.serve(
      owners: [1: [1]],
      [
        Route("/items", status: 429, answer: ["Retry-After": "2"], times: 1),
        Route("/items", body: #"{"data":[]}"#),
      ])
    async let waiting = outcome(of: one, Item.self)
    while try place.rows("SELECT count(*) FROM syncd_rates WHERE paused_until > clock_timestamp()") == "0" {
      try await Task.sleep(for: .milliseconds(5))
    }
    try place.rows("DELETE FROM owner WHERE id > 1")
    _ = await outcome(of: two, Cut.Line.self)
    #expect(await waiting.hasPrefix("item: "))
    let requests = try place.server.requests()
    let refused = try #require(requests.first { $0.path == "/items" }?.at)
    for request in requests.dropFirst() { #expect((request.at ?? 0) - refused >= 2, "\(request.path)") }
    #expect(requests.count == 3)
  }
}
