import Foundation
import SyncEngine
import TestSupport
import Testing

extension API {
  fileprivate static let stripe = API(
    "stripe", url: "http://127.0.0.1:1/v1/", auth: .bearer(.environment("STRIPE_KEY")))
}

private struct Customer: Entity {
  var id = ""
  var name = ""
  var email: String?
  var number = 0
  var created: Int64 = 0

  static let source = Source(
    .stripe, "customers", rows: "data",
    paging: .keyset("starting_after", field: "id", more: "has_more", size: 50, sizeParameter: "limit"))
  static var mapping: Mapping<Customer> {
    Key(\.id)
    Field(\.name)
    Field(\.email)
    Field(\.number, "metadata.n")
    Field(\.created)
  }
  static let deletion = Deletion<Customer>.missing
}

extension ServerTests {
  @Test("localstripe: starting_after the last record while has_more, with a key")
  func localStripe() async throws {
    setenv("STRIPE_KEY", "sk_test_12345", 1)
    try await RealServer("localstripe").follow(
      [Customer.self], api: "stripe", at: "/v1/", columns: "id, name, email, number, created",
      lines: [
        [
          "8 pages, 400 records, 400 inserted, 0 updated, 0 unchanged, 0 deleted, proven",
          "9 pages, 433 records, 40 inserted, 7 updated, 386 unchanged, 7 deleted, proven",
        ]
      ])
  }
}
