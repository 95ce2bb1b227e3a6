/// The name of the stored property that a key path leads to, from its description (SE-0369); nil for computed
/// properties, nested paths, and binaries without reflection metadata.
func propertyName(of keyPath: AnyKeyPath) -> String? {
  let text = String(describing: keyPath)
  guard text.hasPrefix("\\"), !text.contains("<"), let dot = text.firstIndex(of: ".") else { return nil }
  let name = text[text.index(after: dot)...]
  return name.isEmpty || name.contains(where: { ".?!".contains($0) }) ? nil : String(name)
}
