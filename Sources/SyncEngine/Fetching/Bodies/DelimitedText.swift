/// CSV (RFC 4180), read into a JSON list of objects whose members are texts.
struct DelimitedText {
  private let bytes: UnsafeBufferPointer<UInt8>
  private let separator: UInt8
  private var position: Int
  private var line = 1

  private enum FieldEnd { case separator, line, body }

  private init(_ bytes: UnsafeBufferPointer<UInt8>, separator: UInt8) {
    (self.bytes, self.separator) = (bytes, separator)
    position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
  }

  /// - Parameters:
  ///   - header: the columns' names; nil where the first line has them.
  ///   - needed: of each of these the first line has to have one.
  ///   - isEndKnown: whether the body is known to be whole. Otherwise a last line without a line break fails: its
  ///     last field may be half of one.
  /// - Throws: ``BodyError`` that names the line.
  static func json(
    _ body: [UInt8], separator: UInt8, header: [String]?, needed: [[String]], isEndKnown: Bool
  ) throws(BodyError) -> [UInt8] {
    let result = body.withUnsafeBufferPointer { bytes -> Result<[UInt8], BodyError> in
      var reader = DelimitedText(bytes, separator: separator)
      do throws(BodyError) {
        return .success(try reader.read(header: header, needed: needed, isEndKnown: isEndKnown))
      } catch { return .failure(error) }
    }
    return try result.get()
  }

  private mutating func read(
    header: [String]?, needed: [[String]], isEndKnown: Bool
  ) throws(BodyError) -> [UInt8] {
    var endsWithLine = true
    var names = (header ?? []).map { Array($0.utf8) }
    if header == nil {
      (names, endsWithLine) = try readHeader()
      for group in needed where !group.contains(where: { names.contains(Array($0.utf8)) }) {
        let there = names.prefix(20).map { String(decoding: $0, as: UTF8.self).debugDescription }
        throw BodyError(
          "the header has no column \(group.map(\.debugDescription).joined(separator: " or ")); it has \(there.joined(separator: ", "))"
        )
      }
    }
    // What stands in front of each value, written once.
    let nameless = names.count { $0.isEmpty }
    let keys = names.map { name -> [UInt8]? in
      if name.isEmpty && nameless > 1 { return nil }
      var key = JSONWriter(capacity: name.count + 3)
      key.string(name)
      key.raw(":")
      return key.bytes
    }

    var out = JSONWriter(capacity: bytes.count * 2)
    out.raw("[")
    var isFirst = true
    while position < bytes.count {
      // An empty line is no row, unless a row is one field.
      if keys.count > 1, skipEmptyLine() { continue }
      let start = line
      if !isFirst { out.raw(",") }
      isFirst = false
      endsWithLine = try readRow(keys, into: &out, line: start)
    }
    out.raw("]")
    if !endsWithLine && !isEndKnown {
      throw BodyError(
        line: line, "it has no line break, and the answer has no length: it may have been cut short")
    }
    return out.bytes
  }

  private mutating func readHeader() throws(BodyError) -> (names: [[UInt8]], endsWithLine: Bool) {
    while skipEmptyLine() {}
    guard position < bytes.count else { throw BodyError("there is no header") }
    var names: [[UInt8]] = []
    while true {
      var name: [UInt8] = []
      let end = try readField { name.append(contentsOf: $0) }
      names.append(name)
      if end == .separator { continue }
      let named = names.filter { !$0.isEmpty }
      var seen: Set<[UInt8]> = []
      for name in named where !seen.insert(name).inserted {
        throw BodyError("the header has the column \"\(String(decoding: name, as: UTF8.self))\" twice")
      }
      return (names, end == .line)
    }
  }

  /// Reads one row; returns whether a line break ended it.
  private mutating func readRow(
    _ keys: [[UInt8]?], into out: inout JSONWriter, line start: Int
  ) throws(BodyError) -> Bool {
    out.raw("{")
    var isFirst = true
    var column = 0
    while true {
      var end = FieldEnd.body
      if column < keys.count, let key = keys[column] {
        if !isFirst { out.raw(",") }
        isFirst = false
        out.raw(key)
        out.raw("\"")
        end = try readField { out.content($0) }
        out.raw("\"")
      } else {
        end = try readField { _ in }
      }
      column += 1
      if end == .separator { continue }
      guard column == keys.count else {
        throw BodyError(
          line: start, "it has \(count(column, "field")), where there are \(count(keys.count, "column"))")
      }
      out.raw("}")
      return end == .line
    }
  }

  private func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

  private mutating func skipEmptyLine() -> Bool {
    guard position < bytes.count else { return false }
    if bytes[position] == 0x0A {
      position += 1
    } else if bytes[position] == 0x0D, position + 1 < bytes.count, bytes[position + 1] == 0x0A {
      position += 2
    } else {
      return false
    }
    line += 1
    return true
  }

  /// Reads a field and what ends it, and hands out its text part by part.
  private mutating func readField(_ part: (Slice<UnsafeBufferPointer<UInt8>>) -> Void) throws(BodyError)
    -> FieldEnd
  {
    let quote = UInt8(ascii: "\"")
    if position < bytes.count, bytes[position] == quote {
      try readQuoted(part)
    } else {
      let start = position
      while position < bytes.count {
        let byte = bytes[position]
        if byte == separator || byte == 0x0A || byte == 0x0D { break }
        if byte == quote {
          throw BodyError(line: line, "a quote stands in a field that does not begin with one")
        }
        position += 1
      }
      part(bytes[start..<position])
    }
    guard position < bytes.count else { return .body }
    let byte = bytes[position]
    position += 1
    if byte == separator { return .separator }
    if byte == 0x0D {
      guard position < bytes.count, bytes[position] == 0x0A else {
        throw BodyError(line: line, "a carriage return stands without a line feed")
      }
      position += 1
    } else if byte != 0x0A {
      throw BodyError(line: line, "something follows the closing quote of a field")
    }
    line += 1
    return .line
  }

  private mutating func readQuoted(_ part: (Slice<UnsafeBufferPointer<UInt8>>) -> Void) throws(BodyError) {
    let quote = UInt8(ascii: "\"")
    let opened = line
    position += 1
    var start = position
    while position < bytes.count {
      if bytes[position] == 0x0A { line += 1 }
      guard bytes[position] == quote else {
        position += 1
        continue
      }
      let isDoubled = position + 1 < bytes.count && bytes[position + 1] == quote
      // Of a doubled quote the first one belongs to the text.
      part(bytes[start..<(isDoubled ? position + 1 : position)])
      position += isDoubled ? 2 : 1
      if !isDoubled { return }
      start = position
    }
    throw BodyError(line: opened, "a quoted field that begins here has no end")
  }
}
