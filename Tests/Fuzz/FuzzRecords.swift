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
    Target(Belongings.self, parent: [.integer(7), .text("né\u{0}\"")]), Target(Arrays.self),
    Target(Belongings.self, parent: [.integer(.min), .null]), Target(Kinds.self), Target(Zoned.self),
    Target(Order.self),
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
  private let source: RecordSource
  private let plan: DecodingPlan
  private let columns: [Column]
  private let parent: [StoredValue]
  /// Reads a cell back into the property.
  private let assign: [@Sendable (StoredValue) throws -> Void]
  private let nested: [Nested]

  /// A table of records in the entity's.
  private struct Nested {
    let name: String
    let columns: [Column]
    /// The position of the owner's table among the nested ones; nil where the entity is the owner.
    let owner: Int?
    let assign: [@Sendable (StoredValue) throws -> Void]
  }

  init<E: Entity>(_ entity: E.Type, parent: [StoredValue] = []) {
    do {
      let plan = try EntityPlan(entity, urls: [:])
      (name, source, self.plan) = (plan.name, plan.recordSource, plan.decoding)
      columns = plan.schema.synced
      precondition(plan.decoding.parentColumns.count == parent.count)
    } catch {
      fatalError("\(error)")
    }
    self.parent = parent
    assign = Self.assignments(E.self)
    nested = Self.nested(E.mapping)
  }

  private static func assignments<R: Record>(_ record: R.Type) -> [@Sendable (StoredValue) throws -> Void] {
    R.mapping.columns.map { column in
      { value in
        var row = R()
        try column.assign(&row, value)
      }
    }
  }

  /// The tables of nested records at any depth, in the order of the page's batches.
  private static func nested<R: Record>(_ mapping: Mapping<R>, owner: Int? = nil, from start: Int = 0)
    -> [Nested]
  {
    var found: [Nested] = []
    for records in mapping.nested {
      func add<N: Record>(_ record: N.Type) {
        do {
          // The plan of the owner has checked what is asked of it.
          let columns = try TableSchema(record).synced
          let own = start + found.count
          found.append(Nested(name: N.table, columns: columns, owner: owner, assign: assignments(record)))
          found += nested(N.mapping, owner: own, from: own + 1)
        } catch { fatalError("\(error)") }
      }
      add(records.record)
    }
    return found
  }

  func examine(_ body: [UInt8]) {
    guard let document = try? JSONParser().parse(body) else { return }
    let list: RecordList
    do { list = try RecordList(in: document.root, rows: source.rows) } catch {
      _ = error.description
      return
    }
    guard let records = list.value else { return }

    // The second time finds a decoder that has seen the records.
    let decoder = RecordDecoder(plan)
    var bad: [[BadRecord]] = [[], []]
    let pages = (0..<2).map { pass in
      decoder.decode(
        records, of: source, page: 1, context: RecordContext(fetchedAt: 1_700_000_000_123, parent: parent)
      ) { bad[pass].append($0) }
    }
    let page = pages[0]
    require(bad[0] == bad[1], "other bad records the second time", body)
    let count = page.batch.rowCount + bad[0].count
    require(page.recordCount == pages[1].recordCount, "other records the second time", body)
    require(
      source.filter == nil ? count == page.recordCount : count <= page.recordCount,
      "a record is neither row nor bad", body)
    if source.rows.recordPath.isEmpty {
      let isSingle =
        source.rows.shape == .object || (source.rows.shape == .listOrObject && records.kind == .object)
      require(page.recordCount == (isSingle ? 1 : records.count), "\(page.recordCount) records", body)
    }
    examine(page.batch, pages[1].batch, columns, assign, body)

    require(page.nested.count == nested.count, "\(page.nested.count) nested tables", body)
    for (position, table) in nested.enumerated() {
      let (first, second) = (page.nested[position], pages[1].nested[position])
      examine(first.batch, second.batch, table.columns, table.assign, body)
      require(first.owners == second.owners && first.lists == second.lists, "\(table.name) differs", body)
      // Each row came in a list, and each list in a row of the owner's batch, in its order.
      let owners = table.owner.map { page.nested[$0].batch.rowCount } ?? page.batch.rowCount
      require(first.owners.count == first.batch.rowCount, "\(table.name): an owner for each row", body)
      require(
        first.owners.allSatisfy { Set(first.lists).contains($0) }, "\(table.name): rows of no list", body)
      require(first.lists.allSatisfy { $0 < owners }, "\(table.name): a list of no owner", body)
      require(zip(first.lists, first.lists.dropFirst()).allSatisfy { $0 < $1 }, "\(table.name): lists", body)
      require(
        zip(first.owners, first.owners.dropFirst()).allSatisfy { $0 <= $1 }, "\(table.name): owners", body)
    }
    for record in bad[0] {
      require(
        (try? JSONDocument.parse(Array(record.record.utf8))) != nil,
        "a bad record is no JSON: \(record.record)", body)
      require(!record.description.isEmpty, "no description", body)
    }
  }

  private func examine(
    _ batch: RowBatch, _ second: RowBatch, _ columns: [Column],
    _ assign: [@Sendable (StoredValue) throws -> Void], _ body: [UInt8]
  ) {
    require(batch.rowCount == second.rowCount, "other rows the second time", body)
    require(batch.columnCount == columns.count, "\(batch.columnCount) columns", body)
    guard let memory = try? batch.memory(), let other = try? second.memory() else {
      preconditionFailure("the rows are in memory")
    }
    for row in 0..<batch.rowCount {
      for (position, column) in columns.enumerated() {
        examine(memory, row, position, column, assign[position], body)
        require(
          memory.value(row: row, column: position) == other.value(row: row, column: position),
          "\(column.name) differs the second time", body)
      }
    }
  }

  private func examine(
    _ memory: RowMemory, _ row: Int, _ position: Int, _ column: Column,
    _ assign: @Sendable (StoredValue) throws -> Void, _ body: [UInt8]
  ) {
    let cell = memory.row(row)[position]
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
      case .duration: break
      default: require(false, "an integer in \(column.name)", body)
      }
    case .real:
      require(column.type == .real && cell.real.isFinite, "\(cell.real) in \(column.name)", body)
    case .blob: require(column.type == .blob, "a blob in \(column.name)", body)
    case .text:
      let text = memory.text(cell)
      require([.text, .json, .decimal, .day, .uuid].contains(column.type), "a text in \(column.name)", body)
      require(String(validating: text, as: UTF8.self) != nil, "\(column.name) is not UTF-8", body)
      if column.type == .json { examine(json: Array(text), column, body) }
    }
    // Lists of dates and values of one's own are read when they are asked for.
    let isChecked =
      column.type != .json
      || ["integers", "bytes", "numbers", "singles", "flags", "words", "sizes"].contains(column.name)
    guard isChecked, let value = memory.value(row: row, column: position) else { return }
    do { try assign(value) } catch {
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
