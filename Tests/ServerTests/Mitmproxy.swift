import Foundation
import SyncEngine
import TestSupport
import Testing

extension API {
  fileprivate static let proxied = API("proxied", url: "http://127.0.0.1:1/")
}

private protocol Fault: Sendable {}

private struct Item<F: Fault>: Entity {
  var id = 0
  var name = ""
  static var table: String { String(describing: F.self).lowercased() }
  static var source: Source {
    Source(
      .proxied, "pages/1.json", headers: ["X-Fault": table, "X-Fault-Every": "3"], rows: "items",
      paging: .next("next"))
  }
  static var mapping: Mapping<Item> {
    Key(\.id)
    Field(\.name)
  }
  static var deletion: Deletion<Item> { .missing }
}

private enum Drop: Fault {}
private enum Unavailable: Fault {}
private enum Cut: Fault {}
private enum Half: Fault {}
private enum Empty: Fault {}
private enum HTML: Fault {}

extension ServerTests {
  @Test("mitmproxy before nginx: what passes is asked again, and a spoilt answer writes nothing")
  func mitmproxy() async throws {
    let origin = try RealServer("nginx")
    let server = try RealServer("mitmproxy", ["SYNCD_UPSTREAM": origin.base])
    let fixture = try Fixture()
    let engine = Engine(
      store: fixture.store,
      options: .init(urls: ["proxied": server.base + "/"], rates: ["proxied": .unlimited]))
    for entity in [Item<Drop>.self, Item<Unavailable>.self] as [any Entity.Type] {
      expect(
        await outcome(of: engine, entity),
        is:
          "\(entity.table): 6 pages, 6000 records, 6000 inserted, 0 updated, 0 unchanged, 0 deleted, proven")
    }
    let spoilt: [(any Entity.Type, String)] = [
      (Item<Cut>.self, "gzip"), (Item<Half>.self, "the document ends too early (at byte 5000)"),
      (Item<Empty>.self, "the body is empty, not JSON"), (Item<HTML>.self, "the body is HTML, not JSON"),
    ]
    for (entity, fault) in spoilt {
      let said = await outcome(of: engine, entity)
      #expect(said.hasPrefix("\(entity.table): page ") && said.contains(fault), "\(said)")
      #expect(try fixture.rows("SELECT count(*) FROM sqlite_schema WHERE name = '\(entity.table)'") == "0")
    }
  }
}
