import HTTP
import JSON

/// What a paging reads of an answer: its status, its header, and its body without the records.
struct PageOutline {
  /// How much of a body a paging reads.
  enum Detail: Sendable, Hashable {
    /// What stands around the records.
    case envelope
    /// The first and the last record too.
    case ends
    /// Perhaps all of it.
    case whole
  }

  var status: Int
  var headers: HTTPHeaders
  /// Elements of the page's list, and the records in them.
  var elements: Int
  var records: Int
  var body: JSONDocument

  /// The largest outline that is kept, in bytes. It is small where the records are a list.
  static let limit = 64 << 10

  /// The outline as JSON text; nil where it would be too large.
  static func text(
    status: Int, headers: HTTPHeaders, elements: Int, records: Int, body: JSONValue, rows: Rows,
    detail: Detail
  ) -> [UInt8]? {
    var out = JSONWriter(capacity: 1024)
    out.raw("{\"status\":\(status),\"elements\":\(elements),\"records\":\(records),\"headers\":[".utf8)
    var isFirst = true
    for (name, value) in headers.fields where !passedOver.contains(name.lowercased()) {
      out.raw(isFirst ? "[" : ",[")
      out.string(name.utf8)
      out.raw(",")
      out.string(value.utf8)
      out.raw("]")
      isFirst = false
    }
    out.raw("],\"body\":")
    let isWhole = body.document.withTape { tape in
      write(tape, body.index, rows.listPath.components[...], rows.shape, detail, &out)
    }
    out.raw("}")
    return isWhole && out.bytes.count <= limit ? out.bytes : nil
  }

  /// Header fields that are about one answer alone, or that nobody may keep.
  static let passedOver: Set = [
    "set-cookie", "date", "age", "expires", "server", "connection", "keep-alive", "content-length",
    "content-encoding", "transfer-encoding", "etag", "last-modified",
  ]

  /// Writes a value on the way to the records, or theirs; false where there is too much of it.
  private static func write(
    _ tape: JSONTape, _ value: Int, _ path: ArraySlice<JSONPath.Component>, _ shape: Rows.Shape,
    _ detail: Detail, _ out: inout JSONWriter
  ) -> Bool {
    switch (path.first, tape.kind(value)) {
    case (nil, .array): writeList(tape, value, keepsEnds: detail == .ends, &out)
    case (nil, .object) where shape == .byKey && detail == .envelope: out.raw("{}")
    case (.key(var name)?, .object):
      var child = value + 1
      out.raw("{")
      while child < tape.next(value) {
        if child > value + 1 { out.raw(",") }
        out.raw(tape.text(child).utf8)
        out.raw(":")
        let isOnPath = name.withUTF8 { tape.string(child, equals: $0) }
        guard
          isOnPath
            ? write(tape, child + 1, path.dropFirst(), shape, detail, &out) : copy(tape, child + 1, &out)
        else { return false }
        child = tape.next(child + 1)
      }
      out.raw("}")
    default: return copy(tape, value, &out)
    }
    return out.bytes.count <= limit
  }

  private static func writeList(_ tape: JSONTape, _ list: Int, keepsEnds: Bool, _ out: inout JSONWriter) {
    let (first, end) = (list + 1, tape.next(list))
    out.raw("[")
    if keepsEnds && first < end {
      var last = first
      while tape.next(last) < end { last = tape.next(last) }
      out.raw(tape.text(first).utf8)
      if last > first {
        out.raw(",")
        out.raw(tape.text(last).utf8)
      }
    }
    out.raw("]")
  }

  private static func copy(_ tape: JSONTape, _ value: Int, _ out: inout JSONWriter) -> Bool {
    guard tape.raw(value).count <= limit else { return false }
    out.raw(tape.text(value).utf8)
    return out.bytes.count <= limit
  }

  /// Nil for what is no outline.
  init?(parsing text: String) {
    guard let root = try? JSONDocument.parse(Array(text.utf8)).root, let status = root["status"]?.int64,
      let elements = root["elements"]?.int64, let records = root["records"]?.int64,
      let fields = root["headers"], let body = root["body"],
      let document = try? JSONDocument.parse(Array(body.text.utf8))
    else { return nil }
    (self.status, self.elements, self.records) = (Int(status), Int(elements), Int(records))
    headers = HTTPHeaders(
      fields.elements.compactMap { field in
        guard let name = field[0]?.string, let value = field[1]?.string else { return nil }
        return (name, value)
      })
    self.body = document
  }
}
