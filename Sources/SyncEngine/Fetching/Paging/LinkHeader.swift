extension Paging {
  /// The Link header names the next page with `rel="next"` (RFC 8288), as GitHub does. Its absence ends the walk and
  /// proves that it is complete.
  public static var linkHeader: Paging { linkHeader(rel: "next") }

  /// The same with another relation type.
  public static func linkHeader(rel: String) -> Paging {
    Paging(
      makePager: { _ in LinkHeader(relation: rel.lowercased()) }, paths: [],
      description: "link header \(rel)",
      reads: PageReads(headers: ["Link"])
    )
  }
}

struct LinkHeader: Pager {
  /// In lower case: relation types compare without case (RFC 8288 §2.1.1).
  let relation: String

  func firstRequest() -> PageRequest { .items([]) }

  func decide(after page: Page) throws -> PageDecision {
    guard let field = page.headers["Link"] else { return .end(.proven) }
    guard let links = WebLink.parse(field) else {
      throw PagingError("the Link header cannot be read: \(field)")
    }
    // A link with `anchor` is about another resource (RFC 8288 §3.2).
    let next = links.first { $0.relations.contains(relation) && $0.parameters["anchor"] == nil }
    return next.map { .next(.address($0.target)) } ?? .end(.proven)
  }
}

/// A link of a Link header (RFC 8288 §3).
struct WebLink: Equatable {
  var target: String
  /// Names in lower case; of a name that comes twice the first value counts.
  var parameters: [String: String]

  var relations: [String] {
    (parameters["rel"] ?? "").lowercased().unicodeScalars.split { $0 == " " || $0 == "\t" }.map { String($0) }
  }

  /// Nil if the field does not follow the grammar.
  static func parse(_ field: String) -> [WebLink]? {
    // By scalars: a combining character would hide the quote or bracket before it.
    var rest = Substring(field).unicodeScalars
    func skipBlanks() { rest = rest.drop { $0 == " " || $0 == "\t" } }
    func token(until delimiters: String) -> String {
      let token = rest.prefix { !delimiters.unicodeScalars.contains($0) }
      rest = rest[token.endIndex...]
      return String(token)
    }
    var links: [WebLink] = []
    while true {
      repeat {
        skipBlanks()
      } while rest.first == "," && rest.popFirst() != nil
      if rest.isEmpty { return links }
      guard rest.popFirst() == "<", let close = rest.firstIndex(of: ">") else { return nil }
      var link = WebLink(target: String(rest[..<close]).trimmed, parameters: [:])
      rest = rest[rest.index(after: close)...]
      skipBlanks()
      while rest.first == ";" {
        rest.removeFirst()
        skipBlanks()
        let name = token(until: " \t=;,").lowercased()
        skipBlanks()
        var value = ""
        if rest.first == "=" {
          rest.removeFirst()
          skipBlanks()
          if rest.first == "\"" {
            rest.removeFirst()
            var isClosed = false
            while let scalar = rest.popFirst() {
              if scalar == "\"" {
                isClosed = true
                break
              }
              value.unicodeScalars.append(scalar == "\\" ? rest.popFirst() ?? "\\" : scalar)
            }
            guard isClosed else { return nil }
          } else {
            value = token(until: " \t;,")
          }
          skipBlanks()
        }
        if !name.isEmpty, link.parameters[name] == nil { link.parameters[name] = value }
      }
      guard rest.isEmpty || rest.first == "," else { return nil }
      links.append(link)
    }
  }
}

extension String {
  var trimmed: String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) })
    else { return "" }
    return String(self[first...last])
  }
}
