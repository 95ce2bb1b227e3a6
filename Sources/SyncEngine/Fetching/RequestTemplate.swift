import HTTP

/// The address of an entity's pages for one parent: the API's URL, the source's path and parameters.
struct RequestTemplate: Sendable {
  private let base: HTTPURL
  private let path: Template
  private let query: [(name: String, value: Template)]
  let parentColumns: [String]

  /// What credentials belong to.
  var origin: HTTPURL.Origin { base.origin }

  /// - Throws: ``DeclarationError`` for a URL, path or template that cannot work.
  init(_ source: Source, entity: String, parentColumns known: [String]) throws(DeclarationError) {
    do { base = try HTTPURL(source.api.url) } catch {
      throw DeclarationError("API \"\(source.api.name)\": \(error)")
    }
    let lowered = source.path.lowercased()
    if lowered.hasPrefix("http://") || lowered.hasPrefix("https://") {
      let path = HTTPURL.withoutUser(source.path)
      throw DeclarationError(
        "\(entity): the path \"\(path)\" is a whole address; put its front into the API's URL")
    }
    path = Template(source.path)
    query = source.query.items
    var columns = known
    for template in [path] + query.map(\.value) {
      if let fault = template.fault { throw DeclarationError("\(entity): \(fault)") }
      for path in template.paths {
        guard let column = path.parentColumn(prefix: "parent") else {
          throw DeclarationError(
            "\(entity): \"{\(path)}\" in \"\(template)\" is nothing that a request knows; it knows {parent.column}"
          )
        }
        if !columns.contains(column) { columns.append(column) }
      }
    }
    parentColumns = columns
  }

  /// The address for one parent, whose values are in the order of ``parentColumns``.
  ///
  /// - Throws: ``PagingError`` for a value that must not stand in a path.
  func address(parent: [StoredValue]) throws(PagingError) -> HTTPURL {
    var filled = ""
    for part in path.parts {
      switch part {
      case .literal(let text): filled += text
      case .path(let path): filled += try segment(value(path, parent))
      }
    }
    let mark = filled.utf8.firstIndex(of: UInt8(ascii: "?")) ?? filled.endIndex
    let joined = base.appending(path: String(filled[..<mark]))
      .appending(encodedQuery: String(Substring(filled.utf8[mark...].dropFirst())))
    let url: HTTPURL
    do { url = try HTTPURL(joined.string) } catch { throw PagingError("\(error)") }
    return url.appending(
      query: query.map { item in
        (
          item.name,
          item.value.parts.map { part in
            switch part {
            case .literal(let text): text
            case .path(let path): value(path, parent)
            }
          }.joined()
        )
      })
  }

  private func value(_ path: JSONPath, _ parent: [StoredValue]) -> String {
    guard let name = path.parentColumn(prefix: "parent"), let position = parentColumns.firstIndex(of: name)
    else { return "" }
    return parent[position].text(as: .text) ?? ""
  }

  /// A value as one segment of a path: encoded, and never a step up or an empty one.
  private func segment(_ value: String) throws(PagingError) -> String {
    guard !value.isEmpty, value != ".", value != ".." else {
      throw PagingError("a parent's value \"\(value)\" cannot stand in the path \"\(path)\"")
    }
    return percentEncoded(value)
  }
}

extension JSONPath {
  /// The column of `prefix.column`.
  func parentColumn(prefix: String) -> String? {
    guard components.count == 2, components[0] == .key(prefix), case .key(let name) = components[1] else {
      return nil
    }
    return name
  }
}
