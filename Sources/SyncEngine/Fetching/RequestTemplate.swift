import HTTP

/// The requests for an entity's pages: the API's URL, the source's path, parameters, headers and body.
struct RequestTemplate: Sendable {
  private let base: HTTPURL
  private let path: Template
  private let query: [(name: String, value: Template)]
  private let body: RequestBody?
  private let headers: HTTPHeaders
  /// Names that authentication gives a value in the path.
  private let keys: [String]
  let parentColumns: [String]

  /// What credentials belong to.
  var origin: HTTPURL.Origin { base.origin }

  /// - Throws: ``DeclarationError`` for a URL, path or template that cannot work.
  init(_ source: Source, entity: String, parentColumns known: [String]) throws(DeclarationError) {
    do { base = try source.api.address() } catch {
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
    body = source.body
    var headers = source.api.headers
    if headers["Accept"] == nil { headers["Accept"] = source.format.accept }
    for (name, value) in source.headers { headers[name] = value }
    self.headers = headers
    keys = source.api.auth.flatMap(\.pathNames)
    var columns = known
    for template in [path] + query.map(\.value) + (body?.templates ?? []) {
      if let fault = template.fault { throw DeclarationError("\(entity): \(fault)") }
      for path in template.paths {
        if template == self.path, path.components.count == 1, keys.contains(path.description) { continue }
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

  /// The request for one parent, whose values are in the order of ``parentColumns``.
  ///
  /// - Parameter items: what the paging adds.
  /// - Throws: ``PagingError`` for a value that must not stand in a path.
  func request(parent: [StoredValue], adding items: [PageRequest.Item] = []) throws(PagingError)
    -> HTTPRequest
  {
    func added(_ place: ParameterPlace) -> [PageRequest.Item] { items.filter { $0.place == place } }
    var request = HTTPRequest(url: try address(parent, adding: added(.query)), headers: headers)
    for item in added(.header) { request.headers[item.name] = item.value }
    if let item = added(.body).first, body == nil {
      throw PagingError("the paging sets \"\(item.name)\" in the body, but the source declares none")
    }
    if let body {
      request.method = "POST"
      request.body = body.bytes(added(.body)) { filled($0, parent) }
      if request.headers["Content-Type"] == nil { request.headers["Content-Type"] = body.contentType }
    }
    return request
  }

  private func filled(_ template: Template, _ parent: [StoredValue]) -> String {
    template.parts.map { part in
      switch part {
      case .literal(let text): text
      case .path(let path): value(path, parent)
      }
    }.joined()
  }

  /// A parameter that the paging adds stands in place of the source's own one of that name.
  private func address(
    _ parent: [StoredValue], adding items: [PageRequest.Item]
  ) throws(PagingError) -> HTTPURL {
    var filledPath = ""
    for part in path.parts {
      switch part {
      case .literal(let text): filledPath += text
      case .path(let path) where keys.contains(path.description):
        filledPath += Authentication.placeholder(path.description)
      case .path(let path): filledPath += try segment(value(path, parent))
      }
    }
    let mark = filledPath.utf8.firstIndex(of: UInt8(ascii: "?")) ?? filledPath.endIndex
    let joined = base.appending(path: String(filledPath[..<mark]))
      .appending(encodedQuery: String(Substring(filledPath.utf8[mark...].dropFirst())))
    let url: HTTPURL
    do { url = try HTTPURL(joined.string) } catch { throw PagingError("\(error)") }
    let own = query.filter { own in !items.contains { $0.name == own.name } }
    return url.appending(
      query: own.map { ($0.name, filled($0.value, parent)) } + items.map { ($0.name, $0.value) })
  }

  private func value(_ path: JSONPath, _ parent: [StoredValue]) -> String {
    guard let name = path.parentColumn(prefix: "parent"), let position = parentColumns.firstIndex(of: name)
    else { return "" }
    return parent[position].text(as: .text) ?? ""
  }

  /// A value as one segment of a path: encoded, and never a step up or an empty one.
  private func segment(_ value: String) throws(PagingError) -> String {
    // Servers undo the encoding before they look for steps: `..%2Fadmin` leads out too.
    let parts = value.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }
    guard !value.isEmpty, !parts.contains("."), !parts.contains("..") else {
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
