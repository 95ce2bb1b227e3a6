/// The name of the stored property that a key path leads to, from its description (SE-0369); nil for computed
/// properties, nested paths, and binaries without reflection metadata.
func propertyName(of keyPath: AnyKeyPath) -> String? {
  let text = keyPath.debugDescription
  guard text.hasPrefix("\\"), let dot = endOfType(text.utf8) else { return nil }
  let name = text.utf8[text.utf8.index(after: dot)...]
  return name.isEmpty || name.contains(where: { ".?!<".utf8.contains($0) }) ? nil : String(name)
}

/// Where the name of the type ends, whose generic arguments may hold dots: `\Page<Shop.Item>.id`.
private func endOfType(_ text: String.UTF8View) -> String.Index? {
  var depth = 0
  var last = UInt8(ascii: " ")
  for index in text.indices {
    switch text[index] {
    case UInt8(ascii: "<"): depth += 1
    case UInt8(ascii: ">") where last != UInt8(ascii: "-"): depth -= 1
    case UInt8(ascii: ".") where depth == 0: return index
    default: break
    }
    last = text[index]
  }
  return nil
}
