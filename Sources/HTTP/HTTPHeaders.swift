/// Header fields in the order in which they came; names compare without case (RFC 9110 §5.1).
public struct HTTPHeaders: Sendable, ExpressibleByDictionaryLiteral {
  public private(set) var fields: [(name: String, value: String)]

  public init(_ fields: [(name: String, value: String)] = []) { self.fields = fields }
  public init(dictionaryLiteral elements: (String, String)...) { fields = elements.map { ($0.0, $0.1) } }

  /// All values of a field joined by commas (RFC 9110 §5.3); nil if it is absent. Setting replaces all of them.
  public subscript(name: String) -> String? {
    get {
      let values = fields.filter { $0.name.equalsIgnoringCase(name) }.map(\.value)
      return values.isEmpty ? nil : values.joined(separator: ", ")
    }
    set {
      fields.removeAll { $0.name.equalsIgnoringCase(name) }
      if let newValue { fields.append((name, newValue)) }
    }
  }

  public mutating func append(_ name: String, _ value: String) { fields.append((name, value)) }
}

extension String {
  func equalsIgnoringCase(_ other: String) -> Bool {
    utf8.count == other.utf8.count
      && zip(utf8, other.utf8).allSatisfy {
        $0 == $1 || ($0 | 0x20 == $1 | 0x20 && $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A)
      }
  }
}
