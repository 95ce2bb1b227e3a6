/// A value inside a ``JSONDocument``, which it keeps alive.
///
/// Nothing is converted until asked for, and numbers are handed out as the token they were written as.
public struct JSONValue: Sendable {
  package let document: JSONDocument
  package let index: Int

  package init(document: JSONDocument, index: Int) { (self.document, self.index) = (document, index) }

  private func tape<R>(_ body: (JSONTape) -> R) -> R { document.withTape(body) }

  public var kind: JSONKind { tape { $0.kind(index) } }
  public var isNull: Bool { kind == .null }

  /// The text of a string; nil for any other kind, and for a string with half a surrogate pair.
  public var string: String? { tape { $0.kind(index) == .string ? $0.string(index) : nil } }

  /// The token of a number, exactly as it was written; nil for any other kind.
  public var token: String? {
    tape { tape in
      switch tape.kind(index) {
      case .integer, .decimal: String(decoding: tape.raw(index), as: UTF8.self)
      default: nil
      }
    }
  }

  /// The value of an integer token; nil for any other kind and beyond 64 bits.
  public var int64: Int64? { kind == .integer ? token.flatMap { Int64($0) } : nil }

  public var bool: Bool? {
    switch kind {
    case .true: true
    case .false: false
    default: nil
    }
  }

  /// The value as JSON text, as it stands in the body.
  public var text: String {
    tape { tape in
      let raw = String(decoding: tape.raw(index), as: UTF8.self)
      return tape.kind(index) == .string ? "\"\(raw)\"" : raw
    }
  }

  /// A hash of the value as it stands in the body; equal texts have equal ones within one run of a program.
  package var contentHash: Int {
    tape { tape in
      var hasher = Hasher()
      hasher.combine(bytes: UnsafeRawBufferPointer(tape.raw(index)))
      return hasher.finalize()
    }
  }

  /// The member of an object; the last one where the key stands twice. Nil for other kinds.
  public subscript(key: String) -> JSONValue? { member(key)?.value }

  /// The member of an object together with the number of times its key stands there.
  public func member(_ key: String) -> (value: JSONValue, count: Int)? {
    tape { tape in
      guard tape.kind(index) == .object, let found = tape.member(key, of: index) else { return nil }
      return (JSONValue(document: document, index: found.value), found.count)
    }
  }

  /// The element of an array, counted from 0; nil beyond its end and for other kinds.
  public subscript(position: Int) -> JSONValue? {
    tape { tape in
      guard tape.kind(index) == .array, position >= 0 else { return nil }
      var child = index + 1
      let end = tape.next(index)
      var passed = 0
      while passed < position, child < end {
        child = tape.next(child)
        passed += 1
      }
      return child < end ? JSONValue(document: document, index: child) : nil
    }
  }

  /// The last element of an array; nil for an empty one and for other kinds.
  public var last: JSONValue? {
    tape { tape in
      guard tape.kind(index) == .array else { return nil }
      var (child, last) = (index + 1, -1)
      while child < tape.next(index) {
        last = child
        child = tape.next(child)
      }
      return last < 0 ? nil : JSONValue(document: document, index: last)
    }
  }

  /// The number of elements or members; 0 for scalars.
  public var count: Int {
    tape { tape in
      let kind = tape.kind(index)
      guard kind == .array || kind == .object else { return 0 }
      var child = index + 1
      let end = tape.next(index)
      var count = 0
      while child < end {
        child = tape.next(kind == .object ? child + 1 : child)
        count += 1
      }
      return count
    }
  }

  /// The elements of an array; none for other kinds.
  public var elements: [JSONValue] {
    tape { tape in
      guard tape.kind(index) == .array else { return [] }
      var found: [JSONValue] = []
      var child = index + 1
      while child < tape.next(index) {
        found.append(JSONValue(document: document, index: child))
        child = tape.next(child)
      }
      return found
    }
  }

  /// The members of an object in their order, keys that stand twice among them; none for other kinds, and without
  /// members whose key holds half a surrogate pair.
  public var members: [(key: String, value: JSONValue)] {
    entries.compactMap { entry in entry.key.string.map { ($0, entry.value) } }
  }

  /// All members of an object in their order, with their keys as they stand in the body; none for other kinds.
  package var entries: [(key: JSONValue, value: JSONValue)] {
    tape { tape in
      guard tape.kind(index) == .object else { return [] }
      var found: [(key: JSONValue, value: JSONValue)] = []
      var child = index + 1
      while child < tape.next(index) {
        found.append(
          (JSONValue(document: document, index: child), JSONValue(document: document, index: child + 1)))
        child = tape.next(child + 1)
      }
      return found
    }
  }

  /// A string's text, a number's token, `true` or `false`; nil for other kinds.
  public var scalarText: String? {
    switch kind {
    case .string: string
    case .integer, .decimal: token
    case .true: "true"
    case .false: "false"
    case .object, .array, .null: nil
    }
  }

  /// Whether it is null, `false`, zero, or an empty string, array or object: what APIs write where nothing is to be said.
  public var saysNothing: Bool {
    switch kind {
    case .null, .false: true
    case .true: false
    case .string: string?.isEmpty ?? false
    case .integer, .decimal:
      token?.prefix { $0 != "e" && $0 != "E" }.contains { ("1"..."9").contains($0) } == false
    case .array, .object: count == 0
    }
  }

  /// The double nearest to a number; nil for other kinds and beyond a double's range.
  public var double: Double? {
    tape { tape in
      switch tape.kind(index) {
      case .integer, .decimal: nearestDouble(tape.raw(index))
      default: nil
      }
    }
  }
}
