import Foundation
import HTTP
import TestSupport
import Testing

@testable import SyncEngine

struct Picture: Entity {
  var id = 0
  var url: String?
  var image: Data?
  static let source = Source(.probe, "things", rows: "data", paging: .none)
  static var mapping: Mapping<Picture> {
    Key(\.id)
    Blob(\.image, from: \.url, atMost: 100)
    Field(\.url)
  }
  static let deletion = Deletion<Picture>.missing
}

struct CheckedPicture: Entity {
  var id = 0
  var url: String?
  var image: Data?
  static let table = "picture"
  static let source = Source(
    API(
      "probe", url: "https://probe.example.invalid/", auth: .bearer(.file("/proc/sys/kernel/ostype")),
      headers: ["X-Own": "own"], retry: RetryPolicy(retries: 0)),
    "things", rows: "data", paging: .none)
  static var mapping: Mapping<CheckedPicture> {
    Key(\.id)
    Field(\.url)
    Blob(\.image, from: \.url, revalidated: true)
  }
}

/// Pictures of records in a record, with a key of two columns.
struct Album: Entity {
  var id = 0
  static let source = Source(.probe, "things", rows: "data", paging: .none)
  static var mapping: Mapping<Album> {
    Key(\.id)
    Children(Sheet.self, at: "sheets")
  }
}

struct Sheet: Record {
  var album = 0
  var name = ""
  var url: String?
  var image: Data?
  static var mapping: Mapping<Sheet> {
    Key(\.album, "@parent.id")
    Key(\.name)
    Field(\.url)
    Blob(\.image, from: \.url)
  }
}

/// Columns with names of their own.
struct NamedPicture: Entity {
  var id = 0
  var pictureURL: String?
  var image: Data?
  static let table = "picture"
  static let source = Source(.probe, "things", rows: "data", paging: .none)
  static var mapping: Mapping<NamedPicture> {
    Key(\.id)
    Blob(\.image, from: \.pictureURL, name: "Picture")
    Field(\.pictureURL, "url", name: "link")
  }
}

struct UnmappedAddress: Entity {
  var id = 0
  var url: String?
  var image: Data?
  static let source = Source(.probe, "things", paging: .none)
  static var mapping: Mapping<UnmappedAddress> {
    Key(\.id)
    Local(\.url)
    Blob(\.image, from: \.url)
  }
}

struct TakenColumn: Entity {
  var id = 0
  var url: String?
  var image: Data?
  var other: String?
  static let source = Source(.probe, "things", paging: .none)
  static var mapping: Mapping<TakenColumn> {
    Key(\.id)
    Field(\.url)
    Field(\.other, name: "Image_Source")
    Blob(\.image, from: \.url)
  }
}

@Suite("Downloads of what addresses lead to", .timeLimit(.minutes(15)), .fewAtATime)
struct AssetTests {
  /// The addresses of rows 1, 2, …; nil is null.
  private func rows(_ addresses: String?...) -> Route { rows(addresses) }

  private func rows(_ addresses: [String?]) -> Route {
    let records = addresses.enumerated().map { index, address in
      "{\"id\":\(index + 1),\"url\":\(address.map { "\"\($0)\"" } ?? "null")}"
    }
    return things("{\"data\":[\(records.joined(separator: ","))]}")
  }

  /// A run: what became of the downloads, the table, and what was asked for besides the list.
  private func sync(
    _ scene: Scene, _ routes: [Route], as entity: any Entity.Type = Picture.self
  ) async throws -> (downloads: String, table: String, asked: [String]) {
    let before = try scene.requests().count
    try scene.serve(routes)
    let report = try await scene.engine.sync(entity)
    let assets = try #require(report.assets)
    var text = "\(assets.fetched) fetched, \(assets.unchanged) unchanged, \(assets.failed) failed"
    if let failure = assets.failure { text += ": \(failure)" }
    let asked = try scene.requests().dropFirst(before).filter { $0.path != "/things" }
    return (
      text.replacingOccurrences(of: scene.server.base, with: "BASE"),
      try scene.rows("SELECT id, image FROM picture ORDER BY id"), asked.map(\.path)
    )
  }

  @Test("once for each address, shared ones too, again when it changes, and gone when it goes")
  func lifetime() async throws {
    let scene = try Scene()
    let files = ["a", "b", "c"].map { Route("/\($0)", body: "file \($0)") }
    let first = try await sync(scene, files + [rows("{{base}}/a", "{{base}}/a", "{{base}}/b", nil)])
    #expect(first.downloads == "3 fetched, 0 unchanged, 0 failed")
    #expect(first.table == "1 | file a\n2 | file a\n3 | file b\n4 | ∅")
    #expect(first.asked.sorted() == ["/a", "/b"])
    let second = try await sync(scene, files + [rows("{{base}}/a", "{{base}}/a", "{{base}}/b", nil)])
    #expect(second.downloads == "0 fetched, 0 unchanged, 0 failed" && second.asked.isEmpty)
    let third = try await sync(scene, files + [rows("{{base}}/c", nil, "", nil)])
    #expect(third.downloads == "1 fetched, 0 unchanged, 0 failed" && third.asked == ["/c"])
    #expect(third.table == "1 | file c\n2 | ∅\n3 | ∅\n4 | ∅")
    expect(
      try scene.rows("SELECT image_source IS NULL, image_validator IS NULL FROM picture WHERE id > 1"),
      is: "1 | 1\n1 | 1\n1 | 1")
    #expect(try scene.fixture.store.first(Picture.self, key: 1)?.image == Data("file c".utf8))
  }

  @Test("an address that another row holds the file of is not asked for again, though that row leaves it")
  func takenOver() async throws {
    let scene = try Scene()
    let files = [
      Route("/a", answer: ["ETag": "\"1\""], body: "file a"), Route("/b", body: "file b"),
      Route("/e", body: ""),
    ]
    _ = try await sync(scene, files + [rows("{{base}}/a", "{{base}}/e", nil, "{{base}}/b")])
    let taken = try await sync(
      scene, files + [rows("{{base}}/b", nil, "{{base}}/a", "{{base}}/a", "{{base}}/e", "{{base}}/c")])
    #expect(taken.asked == ["/c"] && taken.downloads.hasPrefix("0 fetched, 0 unchanged, 1 failed"))
    #expect(taken.table == "1 | file b\n2 | ∅\n3 | file a\n4 | file a\n5 | \n6 | ∅")
    expect(
      try scene.rows(
        "SELECT image_source IS NOT DISTINCT FROM url, image_validator FROM picture WHERE id < 6 ORDER BY id"),
      is: "1 | ∅\n1 | ∅\n1 | \"1\"\n1 | \"1\"\n1 | ∅")
  }

  @Test("an empty file is one, and not asked for again")
  func empty() async throws {
    let scene = try Scene()
    let routes = [Route("/a", body: ""), rows("{{base}}/a")]
    #expect(try await sync(scene, routes).downloads == "1 fetched, 0 unchanged, 0 failed")
    #expect(try scene.rows("SELECT typeof(image), length(image) FROM picture") == "blob | 0")
    #expect(try await sync(scene, routes).asked.isEmpty)
  }

  @Test(
    "a failed download never fails the rows, and is tried again by the next run",
    arguments: [
      ([Route("/a", status: 404)], "HTTP 404"), ([Route("/a", status: 204)], "HTTP 204"),
      ([Route("/a", status: 500)], "HTTP 500"),
      (
        [Route("/a", body: String(repeating: "x", count: 101))],
        "the body is larger than the limit of 100 bytes"
      ),
      ([Route("/a", status: 302, answer: ["Location": "/a"])], "more than 5 redirects"),
      ([Route("/a", status: 302)], "HTTP 302"),
      ([Route("/a", body: "abcdef", fault: "cut")], "the answer was cut"),
      ([Route("/a", status: 302, answer: ["Location": "file:///etc/passwd"])], "it has to begin with http"),
      ([Route("/a", status: 302, answer: ["Location": "http://localhost:1/"])], "is at no public address"),
      (
        [Route("/a", body: String(repeating: "x", count: 5000), encoding: "gzip")],
        "the decoded body is larger than the limit of 100 bytes"
      ),
    ])
  func failures(_ routes: [Route], _ reason: String) async throws {
    let scene = try Scene()
    let failed = try await sync(scene, routes + [rows("{{base}}/a", nil)])
    #expect(failed.downloads.hasPrefix("0 fetched, 0 unchanged, 1 failed: BASE/a: "), "\(failed)")
    #expect(failed.downloads.contains(reason), "\(failed)")
    #expect(failed.table == "1 | ∅\n2 | ∅")
    let later = try await sync(scene, [Route("/a", body: "now"), rows("{{base}}/a", nil)])
    #expect(later.downloads == "1 fetched, 0 unchanged, 0 failed" && later.table == "1 | now\n2 | ∅")
  }

  @Test(
    "what is no address, or a private one of another name, is not asked for",
    arguments: [
      "ftp://x/", "no address", "http://user:secret@127.0.0.1/", "http://localhost:PORT/a",
      "http://[::1]:PORT/a",
      "http://[::ffff:127.0.0.1]:PORT/a", "http://127.0.0.2:PORT/a", "http://169.254.169.254/latest",
    ])
  func refused(_ address: String) async throws {
    let scene = try Scene()
    let port = scene.server.base.split(separator: ":").last.map(String.init) ?? ""
    let result = try await sync(
      scene, [Route("/a", body: "x"), rows(address.replacingOccurrences(of: "PORT", with: port))])
    #expect(
      result.downloads.hasPrefix("0 fetched, 0 unchanged, 1 failed") && result.asked.isEmpty, "\(result)")
    #expect(!result.downloads.contains("secret"))
  }

  @Test("columns may have names of their own, and what cannot work is refused before any request")
  func names() async throws {
    let scene = try Scene()
    try scene.serve([Route("/a", body: "A"), rows("{{base}}/a")])
    #expect(try await scene.engine.sync(NamedPicture.self).assets?.fetched == 1)
    expect(
      try scene.rows(#"SELECT "Picture", link = "Picture_source" FROM picture"#), is: "A | 1")
    expect(
      try fault(of: UnmappedAddress.self),
      is: "unmapped_address: \"image\" is downloaded from \"url\", which is no field of the mapping")
    expect(
      try fault(of: TakenColumn.self),
      is: "taken_column: the column \"image_source\" belongs to \"image\"")
  }

  @Test("an old file stays until the one of the new address is there")
  func replaced() async throws {
    let scene = try Scene()
    _ = try await sync(scene, [Route("/a", body: "old"), rows("{{base}}/a")])
    #expect(try await sync(scene, [rows("{{base}}/b")]).table == "1 | old")
    #expect(try await sync(scene, [Route("/b", body: "new"), rows("{{base}}/b")]).table == "1 | new")
  }

  @Test(
    "a file is asked for again by its validator, and nothing of the API goes with it, through redirects too")
  func revalidation() async throws {
    let scene = try Scene()
    let files = [
      Route("/a", headers: ["If-None-Match": "\"1\""], status: 304),
      Route("/a", answer: ["ETag": "\"1\""], body: "one"),
      Route("/d", headers: ["If-Modified-Since": "Mon, 05 Jan 2026 00:00:00 GMT"], status: 304),
      Route("/d", answer: ["Last-Modified": "Mon, 05 Jan 2026 00:00:00 GMT"], body: "dated"),
      Route("/r", status: 301, answer: ["Location": "/a"]),
    ]
    let list = rows("{{base}}/a", "{{base}}/r", "{{base}}/d")
    let first = try await sync(scene, files + [list], as: CheckedPicture.self)
    #expect(first.downloads == "3 fetched, 0 unchanged, 0 failed")
    let second = try await sync(scene, files + [list], as: CheckedPicture.self)
    #expect(second.downloads == "0 fetched, 3 unchanged, 0 failed")
    #expect(second.table == "1 | one\n2 | one\n3 | dated")
    // A row that has none yet takes it over from another one.
    let third = try await sync(
      scene, files + [rows("{{base}}/a", "{{base}}/r", "{{base}}/d", "{{base}}/a")], as: CheckedPicture.self)
    #expect(third.downloads == "0 fetched, 4 unchanged, 0 failed", "\(third)")
    #expect(third.table.hasSuffix("4 | one"))
    for request in try scene.requests() {
      let isList = request.path == "/things"
      #expect(
        (request.headers["authorization"] != nil) == isList && (request.headers["x-own"] != nil) == isList)
    }
  }

  @Test("records in a record have files of their own, by their whole key")
  func nested() async throws {
    let scene = try Scene()
    try scene.serve([
      Route("/a", body: "A"), Route("/b", body: "B"),
      things(
        #"{"data":[{"id":1,"sheets":[{"name":"x","url":"{{base}}/a"},{"name":"y","url":"{{base}}/b"}]},{"id":2,"sheets":[{"name":"x","url":"{{base}}/b"}]}]}"#
      ),
    ])
    let report = try await scene.engine.sync(Album.self)
    #expect(report.assets?.fetched == 3 && report.assets?.failed == 0)
    expect(
      try scene.rows("SELECT album, name, image FROM sheet ORDER BY 1, 2"),
      is: "1 | x | A\n1 | y | B\n2 | x | B")
    #expect(try await scene.engine.sync(Album.self).assets == AssetReport())
    try scene.serve([
      things(
        #"{"data":[{"id":1,"sheets":[{"name":"x","url":"{{base}}/b"},{"name":"z","url":"{{base}}/a"}]}]}"#)
    ])
    #expect(try await scene.engine.sync(Album.self).assets == AssetReport())
    expect(
      try scene.rows("SELECT album, name, image FROM sheet ORDER BY 1, 2"),
      is: "1 | x | B\n1 | z | A\n2 | x | B")
  }

  @Test("a row that is deleted or changed meanwhile keeps nothing of an old address")
  func changedMeanwhile() async throws {
    let scene = try Scene()
    _ = try await sync(scene, [rows("{{base}}/a", "{{base}}/b")])
    let schema = try TableSchema(Picture.self)
    let asset = try #require(schema.assets.first)
    try scene.fixture.execute("DELETE FROM picture WHERE id = 1; UPDATE picture SET url = 'x' WHERE id = 2")
    let late = ["a", "b"].enumerated().map { index, name in
      FetchedAsset(
        key: [.integer(Int64(index + 1))], address: "\(scene.server.base)/\(name)", bytes: [1], validator: nil
      )
    }
    try await scene.fixture.store.save(late, asset, in: schema)
    #expect(try scene.rows("SELECT id, image FROM picture") == "2 | ∅")
  }

  @Test("a run that is stopped in its downloads keeps its rows and what it has, and the next one goes on")
  func stopped() async throws {
    let scene = try Scene()
    try scene.serve([
      Route("/a", body: "A"), Route("/b", body: "B", fault: "slow", pause: 60),
      rows("{{base}}/a", "{{base}}/b"),
    ])
    let run = Task { try await scene.engine.sync(Picture.self) }
    while try !scene.requests().contains(where: { $0.path == "/b" }) {
      try await Task.sleep(for: .milliseconds(10))
    }
    run.cancel()
    let report = try await run.value
    #expect(report.inserted == 2 && report.assets?.failure == "the run was stopped")
    #expect(try scene.rows("SELECT outcome FROM syncd_runs") == "proven")
    let next = try await sync(
      scene, [Route("/a", body: "A"), Route("/b", body: "B"), rows("{{base}}/a", "{{base}}/b")])
    #expect(next.table == "1 | A\n2 | B")
  }

  @Test("a host that answers none of five in a row is not asked for the others; one answer begins a new row")
  func silentHost() async throws {
    let scene = try Scene()
    let addresses = (1...9).map { "/\($0)" }
    let host = try AnswerServer(addresses.map { Route($0, fault: "reset") })
    let foreign = addresses.map { host.base + $0 }
    let dead = try await sync(scene, [Route("/a", body: "A"), rows(foreign + ["{{base}}/a"])])
    let text = dead.downloads.replacingOccurrences(of: host.base, with: "HOST")
    #expect(text.hasPrefix("1 fetched, 0 unchanged, 9 failed: HOST/1: the answer was cut short"), "\(text)")
    #expect(text.hasSuffix("; others of HOST were not asked for, since 5 in a row got no answer"), "\(text)")
    #expect(dead.asked == ["/a"])
    // Each with its two retries.
    let asked = try host.requests().map(\.path)
    #expect(asked == addresses[..<5].flatMap { [$0, $0, $0] })
    // The next run asks again.
    try host.reset()
    try host.serve(
      addresses.map { $0 == "/5" ? Route($0, status: 404) : Route($0, fault: "reset") })
    let alive = try await sync(scene, [rows(foreign)])
    #expect(alive.downloads.hasPrefix("0 fetched, 0 unchanged, 9 failed"))
    #expect(Set(try host.requests().map(\.path)) == Set(addresses))
    // Addresses of the API that lead there count for it.
    try host.reset()
    try host.serve(addresses.map { Route($0, fault: "reset") })
    let redirects = addresses.map { Route($0, status: 302, answer: ["Location": host.base + $0]) }
    let led = try await sync(scene, redirects + [rows(addresses.map { "{{base}}\($0)" })])
    #expect(led.asked == addresses && led.downloads.hasPrefix("0 fetched, 0 unchanged, 9 failed"))
    #expect(Set(try host.requests().map(\.path)) == Set(addresses[..<5]))
  }
}
