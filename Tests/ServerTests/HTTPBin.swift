import Foundation
import SyncEngine
import TestSupport
import Testing

extension API {
  fileprivate static let bin = API("httpbin", url: "http://127.0.0.1:1/")
  fileprivate static let binUser = API(
    "httpbin-user", url: "http://127.0.0.1:1/",
    auth: .basic(user: .environment("HTTPBIN_USER"), password: .environment("HTTPBIN_PASSWORD")))
  fileprivate static let binToken = API(
    "httpbin-token", url: "http://127.0.0.1:1/", auth: .bearer(.environment("HTTPBIN_TOKEN")))
}

/// An answer of httpbin: its address, and what in it is the key.
private protocol Way: Sendable {
  static var source: Source { get }
  static var key: JSONPath { get }
}

extension Way {
  static var key: JSONPath { "method" }
}

private struct Reply<W: Way>: Entity {
  var id = ""
  static var table: String { String(describing: W.self).lowercased() }
  static var source: Source { W.source }
  static var mapping: Mapping<Reply> { Key(\.id, W.key) }
  static var deletion: Deletion<Reply> { .missing }
}

private func replySource(_ path: String, _ api: API = .bin, query: Query = [:]) -> Source {
  Source(api, path, query: query, rows: .object(.root), paging: .none)
}

private enum Gzip: Way { static let source = replySource("gzip") }
private enum Deflate: Way { static let source = replySource("deflate") }
private enum Brotli: Way { static let source = replySource("brotli") }
private enum Redirected: Way {
  static let source = replySource("redirect/3")
  static let key: JSONPath = "origin"
}
private enum Temporarily: Way {
  static let source = replySource("redirect-to", query: ["url": "/get?a=b", "status_code": "307"])
  static let key: JSONPath = "args.a"
}
private enum Delayed: Way {
  static let source = replySource("delay/1")
  static let key: JSONPath = "origin"
}
private enum Basic: Way {
  static let source = replySource("basic-auth/user/secret", .binUser)
  static let key: JSONPath = "user"
}
private enum Bearer: Way {
  static let source = replySource("bearer", .binToken)
  static let key: JSONPath = "authenticated"
}
private enum Lines: Way {
  static let source = Source(.bin, "stream/100", format: .ndjson, paging: .none)
  static let key: JSONPath = "id"
}
private enum Slides: Way {
  static let source = Source(.bin, "json", rows: "slideshow.slides", paging: .none)
  static let key: JSONPath = "title"
}
private enum XML: Way {
  static let source = Source(.bin, "xml", rows: "slideshow.slide", format: .xml(), paging: .none)
  static let key: JSONPath = "title"
}

private enum Denied: Way { static let source = replySource("basic-auth/user/other", .binUser) }
private enum Hidden: Way { static let source = replySource("hidden-basic-auth/user/other", .binUser) }
private enum Teapot: Way { static let source = replySource("status/418") }
private enum Bytes: Way { static let source = replySource("bytes/20", query: ["seed": "1"]) }

extension ServerTests {
  @Test("httpbin: encodings, redirects, credentials, delays, JSON lines, XML, and refusals")
  func httpbin() async throws {
    setenv("HTTPBIN_USER", "user", 1)
    setenv("HTTPBIN_PASSWORD", "secret", 1)
    setenv("HTTPBIN_TOKEN", "a-token", 1)
    let server = try RealServer("httpbin")
    let fixture = try Fixture()
    let names = ["httpbin", "httpbin-user", "httpbin-token"]
    let engine = Engine(
      store: fixture.store,
      options: .init(
        urls: Dictionary(uniqueKeysWithValues: names.map { ($0, server.base + "/") }),
        rates: Dictionary(uniqueKeysWithValues: names.map { ($0, .unlimited) })))
    let entities: [(any Entity.Type, Int, String)] = [
      (Reply<Gzip>.self, 1, "GET"), (Reply<Deflate>.self, 1, "GET"), (Reply<Brotli>.self, 1, "GET"),
      (Reply<Redirected>.self, 1, "127.0.0.1"), (Reply<Temporarily>.self, 1, "b"),
      (Reply<Delayed>.self, 1, "127.0.0.1"), (Reply<Basic>.self, 1, "user"), (Reply<Bearer>.self, 1, "true"),
      (Reply<Lines>.self, 100, "0"), (Reply<Slides>.self, 2, "Overview"), (Reply<XML>.self, 2, "Overview"),
    ]
    for round in 0...1 {
      for (entity, count, first) in entities {
        let counts = round == 0 ? "\(count) inserted, 0 updated, 0" : "0 inserted, 0 updated, \(count)"
        expect(
          await outcome(of: engine, entity),
          is: "\(entity.table): 1 pages, \(count) records, \(counts) unchanged, 0 deleted, proven")
        expect(try fixture.rows("SELECT min(id) FROM \(entity.table)"), is: first)
      }
    }
    var said = ""
    for entity in [Reply<Denied>.self, Reply<Hidden>.self, Reply<Teapot>.self, Reply<Bytes>.self]
      as [any Entity.Type]
    {
      said += await outcome(of: engine, entity).replacingOccurrences(of: server.base, with: "") + "\n"
    }
    expect(
      said,
      is: """
        denied: page 1 (/basic-auth/***/other): HTTP 401 Unauthorized
        hidden: page 1 (/hidden-basic-auth/***/other): HTTP 404 Not Found
        teapot: page 1 (/status/418): HTTP 418
        bytes: page 1 (/bytes/20?seed=1): the body is not JSON (HTTP 200, application/octet-stream): the body is not UTF-8

        """)
  }
}
