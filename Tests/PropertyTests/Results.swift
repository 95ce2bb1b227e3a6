@testable import SyncEngine

/// What the engine made of documents, in the words of oracle.py.
struct Results {
  private(set) var text: [UInt8] = []

  mutating func add(_ word: String) {
    text += Array(word.utf8)
    text.append(UInt8(ascii: "\n"))
  }

  mutating func add(_ page: PageRows, bad: [BadRecord], hasError: Bool) {
    text += Array("\(hasError ? 1 : 0) \(page.recordCount) ".utf8)
    add(page.batch)
    text.append(UInt8(ascii: " "))
    let entries = bad.map { "\($0.position):\($0.column ?? "")" }
    text += Array((entries.isEmpty ? "." : entries.joined(separator: ",")).utf8)
    for nested in page.nested {
      text.append(UInt8(ascii: " "))
      add(nested.batch)
      for numbers in [nested.owners, nested.lists] {
        text += Array((numbers.isEmpty ? " ." : " " + numbers.map(String.init).joined(separator: ",")).utf8)
      }
    }
    text.append(UInt8(ascii: "\n"))
  }

  private mutating func add(_ batch: RowBatch) {
    if batch.rowCount == 0 { text.append(UInt8(ascii: ".")) }
    guard let memory = try? batch.memory() else { preconditionFailure("the rows are in memory") }
    for row in 0..<batch.rowCount {
      if row > 0 { text.append(UInt8(ascii: ";")) }
      for column in 0..<batch.columnCount {
        if column > 0 { text.append(UInt8(ascii: ",")) }
        add(memory, memory.row(row)[column])
      }
    }
  }

  private mutating func add(_ memory: RowMemory, _ cell: Cell) {
    switch cell.kind {
    case .missing: text.append(UInt8(ascii: "-"))
    case .null: text.append(UInt8(ascii: "n"))
    case .integer: text += Array("i\(cell.integer)".utf8)
    case .real: text += Array(Self.cell(.real(cell.real)).utf8)
    case .text, .blob:
      text.append(cell.kind == .text ? UInt8(ascii: "t") : UInt8(ascii: "x"))
      for byte in memory.text(cell) { text += [Self.digit(byte >> 4), Self.digit(byte & 15)] }
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

  static func cell(_ value: StoredValue) -> String {
    switch value {
    case .null: "n"
    case .integer(let value): "i\(value)"
    case .real(let value):
      "d" + String(repeating: "0", count: value.bitPattern.leadingZeroBitCount / 4).prefix(15)
        + String(value.bitPattern, radix: 16)
    case .blob(let bytes):
      "x" + String(decoding: bytes.flatMap { [digit($0 >> 4), digit($0 & 15)] }, as: UTF8.self)
    case .text(let text):
      "t" + String(decoding: text.utf8.flatMap { [digit($0 >> 4), digit($0 & 15)] }, as: UTF8.self)
    }
  }
}
