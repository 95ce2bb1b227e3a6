/// What a client asks for: the head of a request. A body is never part of it.
package struct WebRequest: Sendable {
  /// `GET` or `HEAD`.
  package var method: String
  /// Percent-decoded, without the query.
  package var path: String
  /// In the order in which they came.
  package var headers: [(name: String, value: String)]

  package init(method: String = "GET", path: String, headers: [(name: String, value: String)] = []) {
    (self.method, self.path, self.headers) = (method, path, headers)
  }

  /// The first value of a header, whose name may be written in any case; nil if it did not come.
  package func header(_ name: String) -> String? {
    let name = name.lowercased()
    return headers.first { $0.name.lowercased() == name }?.value
  }
}
