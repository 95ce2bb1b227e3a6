import CSimdJSON

/// A parsed body: its bytes, and a tape of nodes that point into them.
///
/// ```swift
/// let document = try JSONDocument.parse(Array(#"{"data": [1, 2]}"#.utf8))
/// document.root["data"]?[1]?.token  // "2"
/// ```
public final class JSONDocument: @unchecked Sendable {
  // Sendable: the bytes are a value, the tape is written by the parser before this object exists, belongs to this
  // object alone and is only read afterwards.
  package let body: [UInt8]
  private let skipped: Int
  private let nodes: UnsafeMutablePointer<csj_node>
  private let count: Int

  init(body: [UInt8], skipped: Int, nodes: UnsafeMutablePointer<csj_node>, count: Int) {
    (self.body, self.skipped, self.nodes, self.count) = (body, skipped, nodes, count)
  }

  deinit { csj_free(nodes) }

  /// Parses one body with a parser of its own; a loop over many bodies keeps a ``JSONParser``.
  ///
  /// - Throws: ``JSONError`` for anything that is not exactly one legal JSON text.
  public static func parse(_ body: [UInt8]) throws(JSONError) -> JSONDocument {
    try JSONParser().parse(body)
  }

  public var root: JSONValue { JSONValue(document: self, index: 0) }

  /// Calls `body` with the raw tape, which is valid only during the call.
  package func withTape<R, E: Error>(_ body: (JSONTape) throws(E) -> R) throws(E) -> R {
    let result = self.body.withUnsafeBufferPointer { bytes -> Result<R, E> in
      guard let base = bytes.baseAddress else { preconditionFailure("a document is never empty") }
      do throws(E) {
        return .success(try body(JSONTape(nodes: nodes, bytes: base + skipped)))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}
