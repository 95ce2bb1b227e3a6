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
    let members = shape == .byKey ? value.entries.map(\.value) : [value]
    return (members.first, members.last)
  }

  /// - Throws: ``Unusable`` if the records are not where and what they are declared to be.
  ///   Also if one of `errors` leads to anything.
  init(in root: JSONValue, rows: Rows, errors: [JSONPath] = []) throws(Unusable) {
    shape = rows.shape
    for path in errors { try Self.check(path, in: root) }
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
    guard rows.shape == .columns else {
      value = found
      return
    }
    do { value = try ColumnarRecords.zipped(found, at: rows.path) } catch {
      throw Unusable("\(error)", errorMember)
    }
  }

  /// A path of an error that leads nowhere in this answer leads to no error.
  private static func check(_ path: JSONPath, in root: JSONValue) throws(Unusable) {
    do {
      guard let found = try path.value(in: root), !found.saysNothing else { return }
      throw Unusable("the answer reports an error, \(path): \(found.string ?? found.text)", nil)
    } catch let obstacle as JSONPath.Obstacle {
      guard case .ambiguous = obstacle else { return }
      throw Unusable("the answer may report an error: \(obstacle)", nil)
    } catch let error as Unusable { throw error } catch { return }
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
        if let member = value[name], !member.saysNothing { return "\(name): \(member.text)" }
      }
      guard case .key(let key)? = step, let next = value[key] else { return nil }
      value = next
    }
    return nil
  }
}
