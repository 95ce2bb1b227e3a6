import Foundation
import SyncEngine
import TestSupport
import Testing

extension API {
  fileprivate static let odata = API("odata", url: "http://127.0.0.1:1/")
}

private protocol Form: Sendable {
  static var table: String { get }
  static var headers: [String: String] { get }
}

private struct Product<F: Form>: Entity {
  var id = 0
  var name = ""
  var price: Double?
  var big: Int64 = 0
  var released = Day()
  var updatedAt = ""
  var inStock = false
  var ref = UUID()

  static var table: String { F.table }
  static var source: Source {
    Source(
      .odata, "Products", headers: F.headers, rows: "value", paging: .next(.key("@odata.nextLink")))
  }
  static var mapping: Mapping<Product> {
    Key(\.id, "ID")
    Field(\.name, "Name")
    Field(\.price, "Price")
    Field(\.big, "Big")
    Field(\.released, "Released")
    Field(\.updatedAt, "UpdatedAt")
    Field(\.inStock, "InStock")
    Field(\.ref, "Ref")
  }
  static var deletion: Deletion<Product> { .missing }
}

private enum Plain: Form {
  static let table = "plain"
  static let headers: [String: String] = [:]
}

/// Big and decimal numbers come as texts.
private enum Texts: Form {
  static let table = "texts"
  static let headers = ["Accept": "application/json;IEEE754Compatible=true"]
}

private enum SmallPages: Form {
  static let table = "small_pages"
  static let headers = ["Prefer": "odata.maxpagesize=80"]
}

extension ServerTests {
  @Test("OData: @odata.nextLink, numbers as numbers and as texts, a page size of one's own")
  func odata() async throws {
    let first = "records, 2000 inserted, 0 updated, 0 unchanged, 0 deleted, proven"
    let second = "records, 40 inserted, 7 updated, 1983 unchanged, 10 deleted, proven"
    let pages = [(20, 21), (20, 21), (25, 26)]
    try await RealServer("odata").follow(
      [Product<Plain>.self, Product<Texts>.self, Product<SmallPages>.self], api: "odata",
      columns: "id, name, price, big, released, updated_at, in_stock, ref",
      lines: pages.map { ["\($0) pages, 2000 \(first)", "\($1) pages, 2030 \(second)"] })
  }
}
