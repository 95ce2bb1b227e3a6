import Foundation
import SyncEngine
import TestSupport
import Testing

/// Windows of time over records half a day apart, the last of them at this moment.
@Suite("Windows of time", .fewAtATime, .once)
struct WindowTests {
  /// Midnight before the day before yesterday: four windows of a day reach to the present.
  private static let begin = Date(
    timeIntervalSince1970: (Date().timeIntervalSince1970 / 86400).rounded(.down) * 86400 - 3 * 86400)

  private static func day(_ number: Int) -> String {
    ISO8601DateFormatter().string(from: begin + Double(number) * 86400).prefix(10) + ""
  }

  private func walk(
    _ path: String, paging: Paging = .none, place: ParameterPlace = .query, body: RequestBody? = nil,
    concurrency: Int = 1, _ more: String = ""
  ) async throws -> PageWalk {
    let windows = Paging.windows(
      from: "from", to: "to", since: Self.begin, step: .seconds(86400), .pattern("yyyy-MM-dd"), in: place,
      paging: paging)
    let source = Source(.pages(concurrency: concurrency), path, body: body, rows: "data", paging: windows)
    return try await PageServer.walk(
      source, "{\"n\": 6, \"size\": 1, \"step\": 43200, \"since\": \"\(Self.day(0))T00:00:00Z\"\(more)}",
      stock: 6)
  }

  private func window(_ number: Int) -> String { "from=\(Self.day(number))&to=\(Self.day(number + 1))" }

  @Test("each window is asked for once, the last one reaches past the present")
  func plain() async throws {
    let walk = try await walk("all")
    // Once more, since thing 99 is missing: it may have been set back to a window that was read.
    expect(walk.list, is: [0, 1, 2, 3, 0, 1, 2, 3].map { "GET /all?\(window($0))" }.joined(separator: "\n"))
    #expect(walk.isProven && walk.ids == [1, 2, 3, 4, 5, 6], "\(walk.line)")
  }

  @Test("windows go into a body")
  func inBody() async throws {
    let walk = try await walk("all", place: .body, body: .json(["q": "x"]))
    #expect(
      walk.requests.first == "POST /all {\"q\":\"x\",\"from\":\"\(Self.day(0))\",\"to\":\"\(Self.day(1))\"}")
    #expect(walk.isProven && walk.requests.count == 8)
  }

  @Test("each window is paged in its own way")
  func inner() async throws {
    let byCursor = try await walk("cursor", paging: .cursor("cursor", parameter: "after"))
    expect(
      byCursor.requests.prefix(6).joined(separator: "\n"),
      is: """
        GET /cursor?\(window(0))
        GET /cursor?\(window(1))
        GET /cursor?\(window(1))&after=t1
        GET /cursor?\(window(2))
        GET /cursor?\(window(2))&after=t1
        GET /cursor?\(window(3))
        """)
    #expect(byCursor.requests.prefix(6) == byCursor.requests.dropFirst(6))
    #expect(byCursor.isProven && byCursor.ids == [1, 2, 3, 4, 5, 6], "\(byCursor.line)")
    let byOffset = try await walk(
      "offset", paging: .offset("offset", size: 1, total: "total"), #", "total": true"#)
    #expect(byOffset.isProven && byOffset.requests.count == 12, "\(byOffset.line)\n\(byOffset.list)")
  }

  @Test("a window that is not proven leaves the whole unproven, and the others are read")
  func unprovenWindow() async throws {
    let walk = try await walk(
      "offset", paging: .offset("offset", size: 1, total: "total"), #", "total": [9, 9, 2, 2, 2, 2, 1]"#)
    #expect(walk.line.contains("unproven: the source counts 9 records, but 1 came"), "\(walk.line)")
    #expect(walk.ids.contains(99))
  }

  @Test("a record at the bound between two windows may come in both")
  func inclusive() async throws {
    let walk = try await walk("all", #", "inclusive": true"#)
    #expect(walk.isProven && walk.ids == [1, 2, 3, 4, 5, 6], "\(walk.line)")
  }

  @Test("the last window reaches past the present as it is written, also where days cut its end off")
  func cutOff() async throws {
    let paging = Paging.windows(
      from: "from", to: "to", since: Date() - 36 * 3600, step: .seconds(86400), .pattern("yyyy-MM-dd"))
    let walk = try await PageServer.walk(
      Source(.pages(), "all", rows: "data", paging: paging), #"{"n": 0}"#, as: KeptRow.self)
    #expect(walk.requests.last?.hasSuffix("&to=\(Self.day(4))") == true, "\(walk.list)")
  }

  @Test("bounds in seconds are numbers in JSON")
  func numbers() async throws {
    let paging = Paging.windows(
      from: "since", to: "until", since: Date(timeIntervalSince1970: 0), step: .seconds(4_000_000_000),
      .unixSeconds, in: .body)
    let walk = try await PageServer.walk(
      Source(.pages(), "all", body: .json([:]), rows: "data", paging: paging), #"{"n": 0}"#, as: KeptRow.self)
    expect(walk.list, is: #"POST /all {"since":0,"until":4000000000}"#)
  }

  @Test("windows of one page each are fetched ahead")
  func ahead() async throws {
    let walk = try await walk("all", concurrency: 3, #", "latency": 100"#)
    // A record may have gone from a window under way to one that was answered: before thing 99 goes they agree twice.
    #expect(walk.peak > 1 && walk.peak <= 3 && walk.requests.count == 8, "\(walk.peak)")
    #expect(walk.isProven)
  }

  @Test("windows of no length are refused")
  func noLength() async throws {
    let source = Source(
      .pages(), "all", rows: "data", paging: .windows(from: "a", to: "b", since: Date(), step: .zero))
    let walk = try await PageServer.walk(source, "{}")
    #expect(walk.line.contains("windows of no length lead nowhere"), "\(walk.line)")
  }
}
