import SyncEngine

/// Takes the values of a row in the form in which a table holds them.
protocol CellSink {
  mutating func null(_ column: Int)
  mutating func integer(_ value: Int64, _ column: Int)
  mutating func real(_ value: Double, _ column: Int)
  /// The bytes stay where they are until the row is done.
  mutating func text(_ bytes: UnsafeBufferPointer<UInt8>, _ column: Int)
  /// The text of an instant, which is gone when the function returns.
  mutating func passingText(_ bytes: UnsafeBufferPointer<UInt8>, _ column: Int)
  /// The bytes stay where they are until the row is done.
  mutating func blob(_ bytes: UnsafeBufferPointer<UInt8>, _ column: Int)
}

/// In which form a table holds the columns of a record.
struct CellForms: Sendable {
  enum Form: UInt8, Sendable { case plain, timestamp, text }

  let columns: [Column]
  /// By column.
  let forms: [Form]

  /// - Parameter asText: names of columns that hold the text form of their values.
  init(_ columns: [Column], asText: Set<String> = []) {
    self.columns = columns
    forms = columns.map {
      $0.type == .timestamp ? .timestamp : asText.contains($0.name) ? .text : .plain
    }
  }

  /// Hands a cell over. A value that is missing is null.
  ///
  /// It takes no object, so that none is retained for each of millions of cells.
  @inline(__always)
  static func put(
    _ cell: Cell, _ column: Int, as form: Form, in arena: UnsafeMutablePointer<UInt8>,
    into sink: inout some CellSink
  ) {
    switch cell.kind {
    case .text: sink.text(cell.text(in: arena), column)
    case .integer:
      switch form {
      case .plain: sink.integer(cell.integer, column)
      case .timestamp:
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Timestamp.textLength) { room in
          guard let base = room.baseAddress else { return }
          Timestamp.write(cell.integer, into: base)
          sink.passingText(UnsafeBufferPointer(room), column)
        }
      case .text: pass(String(cell.integer), column, into: &sink)
      }
    case .real:
      if form == .text {
        pass(String(cell.real), column, into: &sink)
      } else {
        sink.real(cell.real, column)
      }
    case .blob:
      let bytes = cell.text(in: arena)
      if form == .text {
        pass(DataEncoding.base64.string(Array(bytes)), column, into: &sink)
      } else {
        sink.blob(bytes, column)
      }
    case .null, .missing: sink.null(column)
    }
  }

  private static func pass(_ text: String, _ column: Int, into sink: inout some CellSink) {
    var text = text
    text.withUTF8 { sink.passingText($0, column) }
  }

  /// `id 5, lang de`
  func key(of cells: UnsafePointer<Cell>, _ memory: RowMemory) -> String {
    columns.indices.filter { columns[$0].role == .key }.map { column in
      let cell = cells[column]
      let value =
        switch cell.kind {
        case .text: String(decoding: memory.text(cell), as: UTF8.self)
        case .integer:
          columns[column].type == .timestamp ? Timestamp.text(cell.integer) : String(cell.integer)
        default: "?"
        }
      return "\(columns[column].name) \(value)"
    }.joined(separator: ", ")
  }
}
