import HTTP
import JSON

// What a failing walk says.
extension Walker {
  /// `HTTP 404 Not Found`, with what the server says about it.
  func statusText(_ response: HTTPResponse) -> String {
    let names = [
      204: "No Content", 206: "Partial Content", 304: "Not Modified", 400: "Bad Request", 401: "Unauthorized",
      403: "Forbidden",
      404: "Not Found", 408: "Request Timeout", 410: "Gone", 422: "Unprocessable Content",
      429: "Too Many Requests",
      500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
    ]
    var text = "HTTP \(response.status)\(names[response.status].map { " \($0)" } ?? "")"
    if response.attempts > 1 { text += " (after \(response.attempts) attempts)" }
    if let wait = response.refusedWait {
      let longest = plan.source.api.retry.longestWait.components.seconds
      text +=
        ", and it asks for a wait of \(wait.components.seconds) s (Retry-After), longer than retry.longestWait (\(longest) s)"
    }
    if let said = said(by: response) { text += ": \(redactor.excerpt(said.utf8, limit: 300))" }
    return text
  }

  /// What a server says about a failure: a member of a JSON object that is there for it, or plain text.
  func said(by response: HTTPResponse) -> String? {
    if let root = (try? JSONDocument.parse(response.body))?.root {
      return ["message", "detail", "error_description", "error", "errors", "title"].lazy
        .compactMap { root[$0] }.map { $0.string ?? $0.text }.first {
          !["null", "", "[]", "{}"].contains($0)
        }
    }
    guard response.headers["Content-Type"]?.lowercased().hasPrefix("text/plain") == true else { return nil }
    let line = String(decoding: response.body.prefix(2000), as: UTF8.self)
    return line.allSatisfy(\.isWhitespace) ? nil : line
  }

  func carried(_ errorMember: String) -> String {
    "the answer carries \(redactor.excerpt(errorMember.utf8, limit: 120))"
  }

  /// A message that quotes the source and says at its end what is wrong.
  func quoted(_ message: String) -> String {
    redactor.excerpt(message.utf8, limit: 500, keepingEnd: 150)
  }
}
