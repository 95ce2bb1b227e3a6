import JSON

/// The records of an answer, found where the source declares them.
struct RecordList {
  /// The list, object or record; nil for a null that is declared to be an empty list.
  let value: JSONValue?
  /// A non-empty `error` or `errors` member beside the list, or on the way to it.
  let errorMember: String?
  private let shape: Rows.Shape

  /// The first and the last record, or element on the way to one; nil where there is none.
  var ends: (first: JSONValue?, last: JSONValue?) {
    guard let value else { return (nil, nil) }
    if value.kind == .array { return (value[0], value.last) }
    let members = shape == .byKey ? value.members.map(\.value) : [value]
    return (members.first, members.last)
  }

  /// - Throws: ``Unusable`` if the records are not where and what they are declared to be.
  init(in root: JSONValue, rows: Rows) throws(Unusable) {
    shape = rows.shape
    errorMember = Self.errorMember(in: root, above: rows.listPath)
    let found: JSONValue?
    do { found = try rows.listPath.value(in: root) } catch {
      throw Unusable("\(rows.expectation), but \(error)", errorMember)
    }
    guard let found else { throw Unusable("\(rows.expectation), but there is nothing", errorMember) }
    if found.isNull && rows.isNullEmpty {
      value = nil
      return
    }
    guard rows.fits(found.kind) else {
      throw Unusable("\(rows.expectation), but it is \(found.kind.name)", errorMember)
    }
    value = found
  }

  struct Unusable: Error, CustomStringConvertible {
    let description: String
    init(_ text: String, _ errorMember: String?) {
      description = errorMember.map { "\(text); the answer says \($0)" } ?? text
    }
  }

  private static func errorMember(in root: JSONValue, above path: JSONPath) -> String? {
    var value = root
    // Where the root itself holds the records there is no step to take, and its own members are looked at.
    let steps: [JSONPath.Component?] = path.components.isEmpty ? [nil] : path.components
    for step in steps {
      guard value.kind == .object else { return nil }
      for name in ["error", "errors"] where step != .key(name) {
        if let member = value[name], !isEmpty(member) { return "\(name): \(member.text)" }
      }
      guard case .key(let key)? = step, let next = value[key] else { return nil }
      value = next
    }
    return nil
  }

  private static func isEmpty(_ value: JSONValue) -> Bool {
    switch value.kind {
    case .null, .false: true
    case .string: value.string?.isEmpty ?? false
    case .array, .object: value.count == 0
    case .integer, .decimal: value.int64 == 0
    case .true: false
    }
  }
}
