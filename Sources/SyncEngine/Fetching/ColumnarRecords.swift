import JSON

/// Records whose values stand in lists, one list for each field: `{"time": [1, 2], "wind": [7.4, 8]}`.
enum ColumnarRecords {
  /// The list of records. Members that are no list are left out.
  ///
  /// - Throws: ``BodyError`` for lists of different lengths, for none, and for a member that comes twice.
  static func zipped(_ object: JSONValue, at path: JSONPath) throws(BodyError) -> JSONValue {
    var columns: [(key: [UInt8], next: JSONValue)] = []
    let place = path.components.isEmpty ? "the answer" : "\"\(path)\""
    var count: (name: String, count: Int)?
    var seen: Set<[UInt8]> = []
    for (key, value) in object.entries where value.kind == .array {
      let name = key.string.map(quotedJSON) ?? key.text
      guard seen.insert(Array(name.utf8)).inserted else {
        throw BodyError("\(place) has the list \(name) twice")
      }
      let length = value.count
      if let count, count.count != length {
        throw BodyError(
          "the lists in \(place) are not of one length: \(count.name) has \(count.count) values, \(name) has \(length)"
        )
      }
      count = (name, length)
      columns.append((Array("\(key.text):".utf8), value))
    }
    guard let count else { throw BodyError("there is no list in \(place)") }

    let bytes = object.document.withTape { tape -> [UInt8] in
      var out = JSONWriter(capacity: 2 * tape.raw(object.index).count)
      var positions = columns.map { $0.next.index + 1 }
      out.raw("[")
      for row in 0..<count.count {
        out.raw(row == 0 ? "{" : ",{")
        for (column, (key, _)) in columns.enumerated() {
          if column > 0 { out.raw(",") }
          out.raw(key)
          let value = positions[column]
          let isString = tape.kind(value) == .string
          if isString { out.raw("\"") }
          out.raw(tape.raw(value))
          if isString { out.raw("\"") }
          positions[column] = tape.next(value)
        }
        out.raw("}")
      }
      out.raw("]")
      return out.bytes
    }
    do { return try JSONDocument.parse(bytes).root } catch { throw BodyError("\(error)") }
  }
}
