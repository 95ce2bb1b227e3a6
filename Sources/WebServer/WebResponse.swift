/// An answer, whole: its length is always said, and the server leaves the body out where the method is `HEAD`.
package struct WebResponse: Sendable {
  package var status: Int
  package var headers: [(name: String, value: String)]
  package var body: [UInt8]

  package init(status: Int = 200, headers: [(name: String, value: String)] = [], body: [UInt8]) {
    (self.status, self.headers, self.body) = (status, headers, body)
  }

  /// Plain text, that ends with its line.
  package static func text(
    _ text: String, status: Int = 200, headers: [(name: String, value: String)] = []
  ) -> WebResponse {
    WebResponse(
      status: status, headers: [("Content-Type", "text/plain; charset=utf-8")] + headers,
      body: Array((text + "\n").utf8))
  }
}
