import Foundation
import SyncEngine
import Synchronization
import TestSupport
import Testing

/// What a run would do, and what it did, row by row.
@Suite("Plans and changes", .timeLimit(.minutes(15)), .fewAtATime)
struct PlanTests {
  struct Owner: Entity {
    var id = 0
    var name = ""
    static let source = Source(.probe, "owners", paging: .none)
    static let deletion = Deletion<Owner>.missing
    static var mapping: Mapping<Owner> {
      Key(\.id)
      Field(\.name)
      Children(Pet.self, at: "pets")
    }
  }

  struct Pet: Record {
    var owner = 0
    var id = 0
    var kind: String?
    static var mapping: Mapping<Pet> {
      Key(\.owner, "@parent.id")
      Key(\.id)
      Field(\.kind)
    }
  }

  private static let before =
    #"[{"id":1,"name":"a","pets":[{"id":1,"kind":"cat"},{"id":2}]},{"id":2,"name":"b"},{"id":3,"name":"c"}]"#
  private static let after =
    #"[{"id":1,"name":"x","pets":[{"id":1,"kind":"dog"},{"id":3}]},{"id":2,"name":"b"},{"id":4,"name":"d"}]"#

  private func text(_ changes: [RowChange]?) -> String {
    (changes ?? []).map { change in
      func text(_ values: [RowChange.Value]) -> String {
        values.map { "\($0.column) \($0.old.map { "\($0)" } ?? "-")→\($0.new.map { "\($0)" } ?? "-")" }
          .joined(separator: ", ")
      }
      return "\(change.kind) \(change.table) [\(text(change.key))] \(text(change.values))"
    }.sorted().joined(separator: "\n")
  }

  @Test("a plan tells what a run then does, and leaves all as it was")
  func plan() async throws {
    let fixture = try Fixture()
    let server = try fixture.server()
    let engine = fixture.engine(server, apis: ["probe"])
    try server.serve([Route("/owners", body: Self.before)])
    let first = try await engine.plan(Owner.self)
    #expect(first.record.inserted == 3 && first.changes.count == 5)
    if StoreKind.current == .sqlite {
      #expect(!FileManager.default.fileExists(atPath: fixture.location), "no store is made")
    }
    #expect(try fixture.tables() == "", "no table is made")
    _ = try await engine.sync(Owner.self)
    #expect(try await engine.plan(Owner.self).isEmpty)

    try server.serve([Route("/owners", body: Self.after)])
    let all =
      "SELECT 'o', id, name, '' FROM owner UNION ALL SELECT 'p', owner, CAST(id AS TEXT), kind FROM pet ORDER BY 1, 2, 3"
    let rows = try fixture.rows(all)
    let runs = try fixture.rows("SELECT count(*) FROM syncd_runs")
    let plan = try await engine.plan(Owner.self)
    #expect(try fixture.rows(all) == rows && fixture.rows("SELECT count(*) FROM syncd_runs") == runs)
    let expected = """
      deleted owner [id integer(3)→-] name text("c")→-
      deleted pet [owner integer(1)→-, id integer(2)→-] kind null→-
      inserted owner [id -→integer(4)] name -→text("d")
      inserted pet [owner -→integer(1), id -→integer(3)] kind -→null
      updated owner [id integer(1)→-] name text("a")→text("x")
      updated pet [owner integer(1)→-, id integer(1)→-] kind text("cat")→text("dog")
      """
    expect(text(plan.changes), is: expected)
    #expect(plan.withheld == nil)

    let feed = engine.changes()
    let report = try await engine.sync(Owner.self, tellingChanges: true)
    expect(text(report.changes), is: expected)
    #expect((report.inserted, report.updated, report.deleted) == (1, 1, 1))
    for await changes in feed {
      expect(text(changes), is: expected)
      break
    }
  }

  @Test("rows that would stay, and why: the guard, and a walk that proves nothing")
  func withheld() async throws {
    let fixture = try Fixture()
    let server = try fixture.server()
    let engine = fixture.engine(server, apis: ["probe"])
    try server.serve([Route("/owners", body: Self.before)])
    _ = try await engine.sync(Owner.self)
    try server.serve([Route("/owners", body: #"[{"id":1,"name":"z"}]"#)])
    let refused = try await engine.plan(Owner.self)
    #expect(refused.withheld?.keys.map { $0.map(\.old) } == [[.integer(2)], [.integer(3)]])
    expect(
      refused.withheld?.reason ?? "",
      is: "the run would delete 2 of 3 rows (67% of the rows, and the guard allows 50%); nothing was written")
    #expect(text(refused.changes) == #"updated owner [id integer(1)→-] name text("a")→text("z")"#)
    try server.serve([
      Route("/owners", body: #"[{"id":1,"name":"a"},{"id":1,"name":"a"},{"id":2,"name":"b"}]"#)
    ])
    let unproven = try await engine.plan(Owner.self)
    #expect(unproven.isEmpty && unproven.withheld?.reason == "1 records came twice")
    #expect(unproven.withheld?.keys.map { $0.map(\.old) } == [[.integer(3)]])
  }
}
