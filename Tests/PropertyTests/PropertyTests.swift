import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

@testable import SyncEngine

/// Random documents under random mappings, judged cell by cell by a second implementation in Python (oracle.py).
///
/// The seed is the same in each run, and another one in each long run, so that what is found there is news.
/// `SYNCD_TEST_SEED` repeats a run whose seed a failure has printed.
struct PropertyTests {
  private static let isLong = ProcessInfo.processInfo.environment["SYNCD_TEST_LONG"] != nil
  private static let seed =
    ProcessInfo.processInfo.environment["SYNCD_TEST_SEED"].flatMap(UInt64.init)
    ?? (isLong ? UInt64.random(in: 1...999_999) : 498_829)

  private static let documentsPerBatch = 4000
  private static let documentsPerMapping = 10
  private static let batches = isLong ? 200 : 8
  /// How often what the oracle counts came up, in the batches that are done.
  private static let tally = Mutex((batches: 0, counts: [String: Int]()))

  @Test("every cell is what the contract says", arguments: 0..<Self.batches)
  func cells(batch: Int) throws {
    var random = DocumentWriter(Self.seed &* 1_000_003 &+ UInt64(batch))
    let parser = JSONParser()
    var mappings = ""
    var documents: [UInt8] = []
    var results = Results()
    for mappingNumber in 0..<Self.documentsPerBatch / Self.documentsPerMapping {
      let mapping = TestedMapping(&random)
      mappings += mapping.description + "\n"
      let decoder = RecordDecoder(mapping.table.plan)
      for _ in 0..<Self.documentsPerMapping {
        let document = random.document(for: mapping)
        documents += Array("\(mappingNumber) \(document.count)\n".utf8) + document + [0x0A]
        Self.decode(document, mapping, parser, decoder, into: &results)
      }
    }

    let folder = try TemporaryFolder()
    let files = ["mappings", "documents", "results"].map { folder.path + "/" + $0 }
    try Data(mappings.utf8).write(to: URL(fileURLWithPath: files[0]))
    try Data(documents).write(to: URL(fileURLWithPath: files[1]))
    try Data(results.text).write(to: URL(fileURLWithPath: files[2]))
    let oracle = try Shell.result(["python3", Repository.root + "/Tests/PropertyTests/oracle.py"] + files)
    var lines = oracle.output.split(separator: "\n")
    let counts = lines.popLast()?.split(separator: " ") ?? []
    let again = "SYNCD_TEST_SEED=\(Self.seed), batch \(batch)"
    #expect(oracle.status == 0 && counts.count > 40, "\(again): \(oracle.output)\(oracle.errors)")
    if !lines.isEmpty { Issue.record("\(again):\n\(lines.joined(separator: "\n"))") }
    // Each type was read and refused, and each was judged; in a single batch chance may leave out a rare one.
    let all = Self.tally.withLock { tally in
      for position in stride(from: 0, to: counts.count - 1, by: 2) {
        tally.counts[String(counts[position]), default: 0] += Int(counts[position + 1]) ?? 0
      }
      tally.batches += 1
      return tally.batches == Self.batches ? tally.counts : [:]
    }
    for (name, count) in all { #expect(count > 0, "SYNCD_TEST_SEED=\(Self.seed): no \(name)") }
  }

  private static func decode(
    _ body: [UInt8], _ mapping: TestedMapping, _ parser: JSONParser, _ decoder: RecordDecoder,
    into results: inout Results
  ) {
    guard let document = try? parser.parse(body) else { return results.add("refused") }
    guard let list = try? RecordList(in: document.root, rows: mapping.source.rows) else {
      return results.add("unusable")
    }
    guard let records = list.value else {
      return results.add("\(list.errorMember == nil ? 0 : 1) 0 . .")
    }
    var bad: [BadRecord] = []
    let page = decoder.decode(
      records, of: mapping.source, page: 1,
      context: RecordContext(fetchedAt: 1_700_000_000_123, parent: mapping.parent)
    ) { bad.append($0) }
    results.add(page, bad: bad, hasError: list.errorMember != nil)
  }
}
