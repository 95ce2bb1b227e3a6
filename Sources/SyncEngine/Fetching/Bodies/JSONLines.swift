import JSON

/// One JSON value on each line.
enum JSONLines {
  /// The list of all lines' values, parsed in one go.
  ///
  /// - Throws: ``BodyError`` that names the first line that is not one JSON value.
  static func document(_ body: [UInt8], _ parser: JSONParser) throws(BodyError) -> JSONDocument {
    let lines = lines(of: body)
    var writer = JSONWriter(capacity: body.count + lines.count + 2)
    writer.raw("[")
    var starts: [Int] = []
    starts.reserveCapacity(lines.count)
    for line in lines {
      // The line feed stays, so that no value can reach into the next line.
      if !starts.isEmpty { writer.raw(",\n") }
      starts.append(writer.bytes.count)
      writer.raw(body[line.range])
    }
    writer.raw("]")
    if let document = try? parser.parse(writer.bytes), isOneValueEach(document, lines, starts) {
      return document
    }
    for line in lines {
      do { _ = try parser.parse(Array(body[line.range])) } catch {
        throw BodyError(line: line.number, error.reason.rawValue)
      }
    }
    throw BodyError("the lines are JSON each by itself, but not together")
  }

  private struct Line {
    var number: Int
    var range: Range<Int>
  }

  /// Lines that hold more than blanks, without these.
  private static func lines(of body: [UInt8]) -> [Line] {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
    var lines: [Line] = []
    var start = body.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    var number = 1
    while start < body.count {
      let end = body[start...].firstIndex(of: 0x0A) ?? body.count
      var (first, last) = (start, end)
      while first < last, isBlank(body[first]) { first += 1 }
      while last > first, isBlank(body[last - 1]) { last -= 1 }
      if first < last { lines.append(Line(number: number, range: first..<last)) }
      start = end + 1
      number += 1
    }
    return lines
  }

  /// Whether each line is exactly one element of the list: `{},{}` on a line would be two.
  private static func isOneValueEach(_ document: JSONDocument, _ lines: [Line], _ starts: [Int]) -> Bool {
    document.withTape { tape in
      var element = 1
      let end = tape.next(0)
      for (line, start) in zip(lines, starts) {
        guard element < end else { return false }
        // A string stands in the tape without its quotes.
        let quote = tape.kind(element) == .string ? 1 : 0
        let raw = tape.raw(element)
        guard let base = raw.baseAddress, base - tape.bytes == start + quote,
          raw.count + 2 * quote == line.range.count
        else { return false }
        element = tape.next(element)
      }
      return element == end
    }
  }
}
