import HTTP

extension Authentication {
  /// Where requests carry a token.
  public enum TokenPlace: Sendable, Hashable {
    /// The Authorization field (RFC 6750 §2.1).
    case bearer
    /// A header field, behind a prefix such as `"Token "`.
    case header(String, prefix: String = "")
    case query(String)
    case cookie(String)

    func addition(_ token: String) -> Addition {
      switch self {
      case .bearer: .header("Authorization", "Bearer " + token)
      case .header(let name, let prefix): .header(name, prefix + token)
      case .query(let name): .query(name, token)
      case .cookie(let name): .cookie(name, token)
      }
    }
  }
}

extension Authentication.Addition {
  func isCarried(by request: HTTPRequest) -> Bool {
    switch self {
    case .header(let name, let value): request.headers[name] == value
    case .query(let name, let value):
      request.url.target.query.split(separator: "&").contains { item in
        item == "\(percentEncoded(name))=\(percentEncoded(value))"
      }
    case .path(_, let value): request.url.target.path.contains(percentEncoded(value))
    case .cookie(let name, let value):
      (request.headers["Cookie"] ?? "").split(separator: ";").contains { item in
        item.drop { $0 == " " } == "\(name)=\(value)"
      }
    }
  }
}
