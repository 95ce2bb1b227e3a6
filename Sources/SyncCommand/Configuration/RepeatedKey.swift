/// Finds a key that one object has twice, in a text that has been read as JSON5: whoever wrote it means both, and only one
/// could hold.
struct RepeatedKey {
  let key: String
  /// Counted from 1.
  let line: Int

  private enum Level { case object(Set<String>), list }

  /// - Returns: the first one; nil where there is none.
  static func find(in text: [UInt8]) -> RepeatedKey? {
    var levels: [Level] = []
    var isKeyNext = false
    var (index, line) = (0, 1)
    func byte(_ offset: Int = 0) -> UInt8? { index + offset < text.count ? text[index + offset] : nil }
    func skip(while holds: (UInt8) -> Bool) {
      while let next = byte(), holds(next) {
        if next == UInt8(ascii: "\n") { line += 1 }
        index += 1
      }
    }
    while let next = byte() {
      switch next {
      case UInt8(ascii: "{"):
        levels.append(.object([]))
        (isKeyNext, index) = (true, index + 1)
      case UInt8(ascii: "["):
        levels.append(.list)
        (isKeyNext, index) = (false, index + 1)
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        _ = levels.popLast()
        (isKeyNext, index) = (false, index + 1)
      case UInt8(ascii: ","):
        if case .object? = levels.last { isKeyNext = true }
        index += 1
      case UInt8(ascii: ":"):
        (isKeyNext, index) = (false, index + 1)
      case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "/"): skip { $0 != UInt8(ascii: "\n") }
      case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"):
        index += 2
        while let next = byte(), next != UInt8(ascii: "*") || byte(1) != UInt8(ascii: "/") {
          if next == UInt8(ascii: "\n") { line += 1 }
          index += 1
        }
        index += 2
      case let next where next <= 0x20: skip { $0 <= 0x20 }
      default:
        let (start, isQuoted) = (index, next == UInt8(ascii: "\"") || next == UInt8(ascii: "'"))
        if isQuoted {
          index += 1
          while let inner = byte(), inner != next { index += inner == UInt8(ascii: "\\") ? 2 : 1 }
          index += 1
        } else {
          skip { $0 > 0x20 && !",:{}[]/".utf8.contains($0) }
          // Something that no value begins with: it was read, so it is harmless.
          if index == start { index += 1 }
        }
        guard isKeyNext, case .object(var keys)? = levels.last else { continue }
        let end = min(index, text.count)
        let key = String(
          decoding: isQuoted ? text[(start + 1)..<max(start + 1, end - 1)] : text[start..<end], as: UTF8.self)
        guard keys.insert(key).inserted else { return RepeatedKey(key: key, line: line) }
        levels[levels.count - 1] = .object(keys)
        isKeyNext = false
      }
    }
    return nil
  }
}
