/// Why a body cannot be read.
struct BodyError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
  init(line: Int, _ reason: String) { description = "line \(line): \(reason)" }
}
