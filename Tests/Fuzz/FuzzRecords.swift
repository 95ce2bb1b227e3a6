import FoundationEssentials
import JSON

@testable import SyncEngine

#if canImport(Glibc)
  import Glibc
#endif

/// The way of an answer's body to rows, over random bytes: `Scripts/fuzz` builds and runs it.
///
/// The first byte of the input, best a digit, chooses the entity; the rest is the body.
@main
enum FuzzRecords {
  /// With libFuzzer's options and folders, or with `--replay FILE...`.
  static func main() {
    let words = CommandLine.arguments
    if words.dropFirst().first == "--replay" {
      for file in words.dropFirst(2) {
        guard let data = FileManager.default.contents(atPath: file) else { fatalError("cannot read \(file)") }
        examine(Array(data))
      }
      return
    }
    var count = CommandLine.argc
    var arguments = CommandLine.unsafeArgv
    exit(
      runFuzzer(&count, &arguments) { bytes, count in
        FuzzRecords.examine(Array(UnsafeBufferPointer(start: bytes, count: count)))
        return 0
      })
  }

  private static let targets: [Target] = [
    Target(Numbers.self), Target(Texts.self), Target(Instants.self), Target(Templates.self),
    Target(Children.self, parent: [.integer(7), .text("né\u{0}\"")]), Target(Arrays.self),
    Target(Children.self, parent: [.integer(.min), .null]),
  ]

  static func examine(_ input: [UInt8]) {
    guard let first = input.first else { return }
    targets[Int(first &- 0x30) % targets.count].examine(Array(input.dropFirst()))
  }
}

// libFuzzer's own entry point, for programs that have a main function
// (llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library).
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// An entity, and all that must be true of its rows whatever the answer is.
struct Target {
  private let name: String
  private let rows: Rows
  private let plan: DecodingPlan
  private let columns: [Column]
  private let parent: [StoredValue]
  /// Reads a cell back into the property.
  private let assign: [@Sendable (StoredValue) throws -> Void]

  init<E: Entity>(_ entity: E.Type, parent: [StoredValue] = []) {
    do {
      let plan = try EntityPlan(entity, urls: [:])
      (name, rows, self.plan) = (plan.name, plan.source.rows, plan.decoding)
      columns = plan.schema.synced
      precondition(plan.decoding.parentColumns.count == parent.count)
    } catch {
      fatalError("\(error)")
    }
    self.parent = parent
    assign = E.mapping.columns.map { column in
      { value in
        var row = E()
        try column.assign(&row, value)
      }
    }
  }

  func examine(_ body: [UInt8]) {
    guard let document = try? JSONParser().parse(body) else { return }
    let list: RecordList
    do { list = try RecordList(in: document.root, rows: rows) } catch {
      _ = error.description
      return
    }
    guard let records = list.value else { return }

    // The second time finds a decoder that has seen the records.
    let decoder = RecordDecoder(plan)
    var bad: [[BadRecord]] = [[], []]
    let batches = (0..<2).map { pass in
      decoder.decode(
        records, of: RecordSource(rows: rows), page: 1, context: RecordContext(parent: parent)
      ) { bad[pass].append($0) }.batch
    }
    let batch = batches[0]
    require(bad[0] == bad[1], "other bad records the second time", body)
    require(batch.rowCount == batches[1].rowCount, "other rows the second time", body)
    let isSingle = rows.shape == .object || (rows.shape == .listOrObject && records.kind == .object)
    require(
      batch.rowCount + bad[0].count == (isSingle ? 1 : records.count), "a record is neither row nor bad", body
    )
    require(batch.columnCount == columns.count, "\(batch.columnCount) columns", body)

    for row in 0..<batch.rowCount {
      for (position, column) in columns.enumerated() {
        examine(batch, row, position, column, body)
        require(
          batch.value(row: row, column: position) == batches[1].value(row: row, column: position),
          "\(column.name) differs the second time", body)
      }
    }
    for record in bad[0] {
      require(
        (try? JSONDocument.parse(Array(record.record.utf8))) != nil,
        "a bad record is no JSON: \(record.record)", body)
      require(!record.description.isEmpty, "no description", body)
    }
  }

  private func examine(_ batch: RowBatch, _ row: Int, _ position: Int, _ column: Column, _ body: [UInt8]) {
    let cell = batch.row(row)[position]
    switch cell.kind {
    case .missing:
      require(column.role != .key, "the key \(column.name) is missing", body)
      return
    case .null:
      require(column.isNullable, "\(column.name) is null", body)
      return
    case .integer:
      switch column.type {
      case .integer: break
      case .boolean: require(cell.integer == 0 || cell.integer == 1, "a boolean is \(cell.integer)", body)
      case .timestamp:
        require((Timestamp.first...Timestamp.last).contains(cell.integer), "instant \(cell.integer)", body)
        let text = Array(Timestamp.text(cell.integer).utf8)
        require(
          text.withUnsafeBufferPointer { Timestamp.parse($0) } == cell.integer, "instant \(cell.integer)",
          body)
      default: require(false, "an integer in \(column.name)", body)
      }
    case .real:
      require(column.type == .real && cell.real.isFinite, "\(cell.real) in \(column.name)", body)
    case .blob: require(column.type == .blob, "a blob in \(column.name)", body)
    case .text:
      let text = batch.text(cell)
      require([.text, .json, .decimal, .day, .uuid].contains(column.type), "a text in \(column.name)", body)
      require(String(validating: text, as: UTF8.self) != nil, "\(column.name) is not UTF-8", body)
      if column.type == .json { examine(json: Array(text), column, body) }
    }
    guard column.type != .json, let value = batch.value(row: row, column: position) else { return }
    do { try assign[position](value) } catch {
      require(false, "\(column.name) cannot be read: \(error)", body)
    }
  }

  private func examine(json text: [UInt8], _ column: Column, _ body: [UInt8]) {
    require((try? JSONDocument.parse(text)) != nil, "\(column.name) is no JSON", body)
    let again = text.withUnsafeBufferPointer { text in
      [UInt8](unsafeUninitializedCapacity: text.count + 64) { buffer, count in
        count = buffer.baseAddress.map { minify(text, into: $0) } ?? 0
      }
    }
    require(again == text, "\(column.name) has white space left", body)
  }

  private func require(_ condition: Bool, _ text: @autoclosure () -> String, _ body: [UInt8]) {
    if condition { return }
    fatalError("\(name): \(text()), from \(String(decoding: body, as: UTF8.self))")
  }
}
