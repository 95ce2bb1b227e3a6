/// The name of the stored property that a key path leads to, from its description (SE-0369); nil for computed
/// properties, nested paths, and binaries without reflection metadata.
func propertyName(of keyPath: AnyKeyPath) -> String? {
  let text = String(describing: keyPath)
  guard text.hasPrefix("\\"), let dot = endOfType(text) else { return nil }
  let name = text[text.index(after: dot)...]
  return name.isEmpty || name.contains(where: { ".?!<".contains($0) }) ? nil : String(name)
}

/// Where the name of the type ends, whose generic arguments may hold dots: `\Page<Shop.Item>.id`.
private func endOfType(_ text: String) -> String.Index? {
  var depth = 0
  var last: Character = " "
  for index in text.indices {
    switch text[index] {
    case "<": depth += 1
    case ">" where last != "-": depth -= 1
    case "." where depth == 0: return index
    default: break
    }
    last = text[index]
  }
  return nil
}
