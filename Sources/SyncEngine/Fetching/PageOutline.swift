import HTTP
import JSON

/// What a paging reads of an answer.
struct PageReads: Sendable, Hashable {
  /// Header fields.
  var headers: [String] = []
  /// Places in the body.
  var body: [JSONPath] = []
  /// Places in the first and the last record.
  var record: [JSONPath] = []
}

/// What a paging read of an answer, and nothing else of it.
struct PageOutline {
  var status: Int
  var headers: HTTPHeaders
  /// Elements of the page's list, and the records in them.
  var elements: Int
  var records: Int
  var root: JSONValue
  var first: JSONValue?
  var last: JSONValue?

  /// The outline of a page as JSON text.
  static func text(of page: Page, records: Int, reads: PageReads) -> [UInt8] {
    var out = JSONWriter(capacity: 256)
    out.raw("{\"status\":\(page.status),\"elements\":\(page.recordCount),\"records\":\(records)".utf8)
    for name in reads.headers {
      guard let value = page.headers[name] else { continue }
      out.raw(",")
      out.string("header \(name)".utf8)
      out.raw(":")
      out.string(value.utf8)
    }
    for (name, value, paths) in [
      ("body", page.root, reads.body), ("first", page.firstRecord, reads.record),
      ("last", page.lastRecord, reads.record),
    ] {
      guard let value, name == "body" || !paths.isEmpty else { continue }
      out.raw(",\"\(name)\":".utf8)
      write(paths.map { $0.components[...] }, of: value, &out)
    }
    out.raw("}")
    return out.bytes
  }

  /// Writes a value with what some paths lead to, and nothing else of it.
  private static func write(
    _ paths: [ArraySlice<JSONPath.Component>], of value: JSONValue, _ out: inout JSONWriter
  ) {
    guard value.kind == .object, !paths.contains(where: \.isEmpty) else {
      // A list that no path leads into is as good as an empty one.
      out.raw(paths.isEmpty ? Array("{}".utf8) : Array(value.text.utf8))
      return
    }
    var keys: [JSONPath.Component] = []
    for path in paths where !keys.contains(path[path.startIndex]) { keys.append(path[path.startIndex]) }
    out.raw("{")
    var isFirst = true
    for case .key(let key) in keys {
      guard let member = value[key] else { continue }
      out.raw("\(isFirst ? "" : ",")\(quotedJSON(key)):".utf8)
      isFirst = false
      write(paths.filter { $0.first == .key(key) }.map { $0.dropFirst() }, of: member, &out)
    }
    out.raw("}")
  }

  /// Nil for what is no outline.
  init?(parsing text: String, reads: PageReads) {
    guard let root = try? JSONDocument.parse(Array(text.utf8)).root, let status = root["status"]?.int64,
      let elements = root["elements"]?.int64, let records = root["records"]?.int64, let body = root["body"]
    else { return nil }
    (self.status, self.elements, self.records) = (Int(status), Int(elements), Int(records))
    headers = HTTPHeaders(
      reads.headers.compactMap { name in root["header \(name)"]?.string.map { (name, $0) } })
    (self.root, first, last) = (body, root["first"], root["last"])
  }
}

extension Paging {
  /// Whether ``reads`` says all: a place in a list cannot be kept without what stands before it.
  var isOutlined: Bool {
    guard let reads else { return false }
    return (reads.body + reads.record).allSatisfy { path in
      path.components.allSatisfy { if case .key = $0 { true } else { false } }
    }
  }
}
