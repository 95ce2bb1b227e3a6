import HTTP

/// AWS Signature Version 4.
struct AWSSignature: Sendable {
  /// Access key, secret key and perhaps a session token.
  let secrets: [Secret]
  let region: String
  let service: String

  /// The fields that authorise a request; they replace those of the same names.
  ///
  /// - Parameter values: those of ``secrets``.
  func fields(for request: HTTPRequest, values: [String], at timestamp: Int) -> [(
    name: String, value: String
  )] {
    let signing = Authentication.Signing(request, secrets: values, at: timestamp)
    var added = [("X-Amz-Date", Self.date(timestamp))]
    if values.count > 2 { added.append(("X-Amz-Security-Token", values[2])) }
    if service == "s3" {
      added.append(("X-Amz-Content-Sha256", Digest.hash(.sha256, signing.body)))
    }
    let names = added.map { $0.0.lowercased() }
    let signed =
      [("host", signing.host)] + added
      + request.headers.fields.filter { field in
        let name = field.name.lowercased()
        return !names.contains(name) && (name == "content-type" || name.hasPrefix("x-amz-"))
      }
    let authorization = authorization(
      canonical: canonicalRequest(
        method: signing.method, path: signing.path, query: signing.query, headers: signed, body: signing.body),
      signed: signed, accessKey: values[0], secretKey: values[1], at: timestamp)
    // What is signed is in lower case; libcurl would send the host as the address spells it.
    let host = request.url.string.contains("://\(signing.host)") ? [] : [("Host", signing.host)]
    return host + added + [("Authorization", authorization)]
  }

  /// - Parameters:
  ///   - path: as it is sent.
  ///   - query: as it is sent.
  func canonicalRequest(
    method: String, path: String, query: String, headers: [(name: String, value: String)], body: [UInt8]
  ) -> String {
    let names = Self.signedNames(headers)
    let lines = names.map { name in
      let values = headers.filter { $0.name.lowercased() == name }.map { Self.trimmed($0.value) }
      return "\(name):\(values.joined(separator: ","))\n"
    }
    return [
      method, service == "s3" ? Self.singlyEncoded(path) : Self.encoded(Self.normalized(path)),
      Self.canonicalQuery(query), lines.joined(), names.joined(separator: ";"), Digest.hash(.sha256, body),
    ].joined(separator: "\n")
  }

  func authorization(
    canonical: String, signed: [(name: String, value: String)], accessKey: String, secretKey: String,
    at timestamp: Int
  ) -> String {
    let date = Self.date(timestamp)
    let scope = [String(date.prefix(8)), region, service, "aws4_request"]
    let text = ["AWS4-HMAC-SHA256", date, scope.joined(separator: "/"), Digest.sha256(canonical)]
      .joined(separator: "\n")
    let key = scope.reduce(Array("AWS4\(secretKey)".utf8)) { Digest.hmac(.sha256, Array($1.utf8), key: $0) }
    let signature = Digest.hex(Digest.hmac(.sha256, Array(text.utf8), key: key))
    return
      "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope.joined(separator: "/")), SignedHeaders=\(Self.signedNames(signed).joined(separator: ";")), Signature=\(signature)"
  }

  private static func date(_ timestamp: Int) -> String {
    let time = CivilTime(timestamp)
    return "\(time.year)\(time.month)\(time.day)T\(time.hour)\(time.minute)\(time.second)Z"
  }

  private static func signedNames(_ headers: [(name: String, value: String)]) -> [String] {
    Set(headers.map { $0.name.lowercased() }).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// Without blanks at both ends, and with one for many between.
  private static func trimmed(_ value: String) -> String {
    value.split { $0 == " " || $0 == "\t" || $0.isNewline }.joined(separator: " ")
  }

  /// The path without empty, `.` and `..` segments; a slash at its end stays.
  private static func normalized(_ path: String) -> String {
    var kept: [Substring] = []
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    for segment in segments {
      switch segment {
      case "", ".": break
      case "..": _ = kept.popLast()
      default: kept.append(segment)
      }
    }
    let endsWithSlash = ["", ".", ".."].contains(segments.last ?? "")
    return kept.isEmpty ? "/" : "/" + kept.joined(separator: "/") + (endsWithSlash ? "/" : "")
  }

  /// Each segment encoded: what was encoded already is encoded twice.
  private static func encoded(_ path: String) -> String {
    path.split(separator: "/", omittingEmptySubsequences: false).map { percentEncoded(String($0)) }
      .joined(separator: "/")
  }

  private static func singlyEncoded(_ path: String) -> String {
    path.split(separator: "/", omittingEmptySubsequences: false).map { percentEncoded(percentDecoded($0)) }
      .joined(separator: "/")
  }

  private static func canonicalQuery(_ query: String) -> String {
    query.split(separator: "&").map { item in
      let name = item.prefix { $0 != "=" }
      return [name, item[name.endIndex...].dropFirst()].map { percentEncoded(percentDecoded($0)) }
    }
    .sorted { $0.lexicographicallyPrecedes($1) { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
    .map { "\($0[0])=\($0[1])" }.joined(separator: "&")
  }

  private static func percentDecoded(_ text: Substring) -> String {
    var out: [UInt8] = []
    var rest = text.utf8
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2).compactMap { Character(UnicodeScalar($0)).hexDigitValue }
      if byte == UInt8(ascii: "%"), digits.count == 2 {
        out.append(UInt8(digits[0] * 16 + digits[1]))
        rest = rest.dropFirst(2)
      } else {
        out.append(byte)
      }
    }
    return String(decoding: out, as: UTF8.self)
  }
}
