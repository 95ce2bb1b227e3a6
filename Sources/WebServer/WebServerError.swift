/// Why a server could not be started, as one sentence.
package struct WebServerError: Error, CustomStringConvertible {
  package var description: String
  init(_ description: String) { self.description = description }
}
