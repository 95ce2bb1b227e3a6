/// How the bodies of a source are written. Whatever it is, rows, paths and fields read a body as they read JSON.
///
/// ```swift
/// Source(.api, "export.ndjson", format: .ndjson, paging: .none)
/// Source(.api, "stations.csv", format: .csv(separator: ";"), paging: .none)
/// Source(.api, "Products", rows: "feed.entry", format: .xml(keyed: ["link": "rel"]),
///        paging: .next("feed.link.next.@href"))
/// ```
public struct BodyFormat: Sendable {
  enum Form: Sendable {
    case json
    case lines
    case csv(separator: UInt8, header: [String]?)
    case xml(XMLConvention)
  }

  let form: Form
  /// Why the format cannot be; the start of the program refuses it.
  var fault: String?

  init(_ form: Form, fault: String? = nil) { (self.form, self.fault) = (form, fault) }

  /// One JSON text (RFC 8259).
  public static let json = BodyFormat(.json)

  /// One JSON value on each line: the answer is their list. Lines end with LF or CRLF, empty ones are passed over.
  public static let ndjson = BodyFormat(.lines)

  /// Rows of fields (RFC 4180): the answer is a list of objects whose members are texts.
  ///
  /// - Parameters:
  ///   - separator: one ASCII character between the fields.
  ///   - header: the columns' names; nil where the first line has them.
  public static func csv(separator: Character = ",", header: [String]? = nil) -> BodyFormat {
    var fault: String?
    if [nil, UInt8(ascii: "\""), 0x0A, 0x0D].contains(separator.asciiValue) {
      fault = "\(String(separator).debugDescription) cannot separate the fields of CSV"
    }
    if let header {
      if header.isEmpty { fault = "the header of CSV has no column" }
      if Set(header).count < header.count { fault = "the header of CSV has a name twice" }
    }
    return BodyFormat(.csv(separator: separator.asciiValue ?? 0, header: header), fault: fault)
  }

  /// XML: `{"feed": {"@version": "1", "title": "…", "entry": [{…}, {…}]}}`.
  ///
  /// - Parameters:
  ///   - lists: names of elements that are lists however many there are. The elements that `rows:` leads to are
  ///     anyhow.
  ///   - keyed: elements that become members of one object, by the value of an attribute: with `["link": "rel"]` the
  ///     path of `<link rel="next" href="…"/>` is `link.next.@href`.
  ///   - ignoring: names of attributes that are passed over, so that an element with no others is plain text.
  public static func xml(
    lists: Set<String> = [], keyed: [String: String] = [:], ignoring: Set<String> = []
  ) -> BodyFormat {
    BodyFormat(.xml(XMLConvention(lists: lists, keyed: keyed, ignoring: ignoring)))
  }

  /// The name that messages use.
  var name: String {
    switch form {
    case .json: "JSON"
    case .lines: "JSON lines"
    case .csv: "CSV"
    case .xml: "XML"
    }
  }

  /// What the requests accept.
  var accept: String {
    switch form {
    case .json: "application/json"
    case .lines: "application/x-ndjson, application/jsonl, application/json;q=0.5"
    case .csv: "text/csv, text/plain;q=0.5"
    case .xml: "application/xml, application/atom+xml, text/xml"
    }
  }

  /// Whether a body that was cut can look whole, so that only its framing shows that it is.
  var needsKnownEnd: Bool {
    switch form {
    case .json, .xml: false
    case .lines, .csv: true
    }
  }

  /// Distinguishes declarations for the fingerprint of a scope; empty for JSON, whose tables were there before.
  var description: String {
    switch form {
    case .json: ""
    case .lines: " lines"
    case .csv(let separator, let header): " CSV \(separator) \(header?.joined(separator: ",") ?? "")"
    case .xml(let convention):
      " XML \(convention.lists.sorted()) \(convention.keyed.sorted { $0.key < $1.key }) \(convention.ignoring.sorted())"
    }
  }
}

/// What of an XML document becomes a list, an object by attribute, or nothing.
struct XMLConvention: Sendable {
  var lists: Set<String> = []
  var keyed: [String: String] = [:]
  var ignoring: Set<String> = []
}
