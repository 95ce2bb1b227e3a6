import Foundation
import SyncEngine
import TestSupport
import Testing

@Suite(
  "Recorded answers of public APIs",
  .enabled(
    if: Payloads.arePresent, "the recorded answers are not here (SYNCD_TEST_PAYLOADS names their folder)"))
struct PayloadTests {
  @Test("sync with every value in its place", arguments: Shape.all)
  func sync(_ shape: Shape) async throws {
    let server = try AnswerServer(shape.routes)
    let fixture = try Fixture()
    let engine = fixture.engine(server, apis: [shape.api])
    let first = await outcome(of: engine, shape.entity)
    let table = shape.entity.table
    #expect(
      first.hasPrefix(
        "\(table): \(shape.requests) pages, \(shape.rows) records, \(shape.rows) inserted, 0 updated, "),
      "\(first)")
    #expect(try fixture.rows("SELECT count(*) FROM \(table)") == "\(shape.rows)")
    expect(try fixture.rows(shape.spot.sql), is: shape.spot.text)
    #expect(try server.requests().count == shape.requests, "no page twice and none too many")

    // The same answers again change nothing.
    try server.serve(shape.routes)
    let second = await outcome(of: engine, shape.entity)
    #expect(second.contains(" 0 inserted, 0 updated, \(shape.rows) unchanged, 0 deleted"), "\(second)")
  }

  @Test("are all spoken for: synced, or listed with what they need")
  func complete() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Payloads.folder).filter {
      $0 != "INDEX.md"
    }
    let synced = Set(Shape.all.map(\.folder))
    print("payloads: \(synced.count) of \(folders.count) shapes sync")
    for (folder, need) in notYet.sorted(by: { $0.key < $1.key }) { print("not yet: \(folder) needs \(need)") }
    #expect(synced.union(notYet.keys) == Set(folders))
    #expect(synced.isDisjoint(with: notYet.keys))
    #expect(synced.count >= 15)
  }
}
