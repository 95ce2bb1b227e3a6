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

  /// - Throws: ``HTTPError`` for a name that is no token (RFC 9110 §5.6.2), and for a value with a line break or a
  ///   zero byte (§5.5), which would begin a field of its own. A value may be secret: the error shows the name alone.
  package func check() throws(HTTPError) {
    for (name, value) in fields {
      guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte) else {
        throw HTTPError(.header, "\(name.debugDescription) cannot be the name of a header field")
      }
      guard !value.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D || $0 == 0 }) else {
        throw HTTPError(.header, "the header field \"\(name)\" has a line break or a zero byte in its value")
      }
    }
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}

extension String {
  func equalsIgnoringCase(_ other: String) -> Bool {
    utf8.count == other.utf8.count
      && zip(utf8, other.utf8).allSatisfy {
        $0 == $1 || ($0 | 0x20 == $1 | 0x20 && $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A)
      }
  }
}
