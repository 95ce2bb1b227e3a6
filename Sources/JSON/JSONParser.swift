import CSimdJSON

/// Parses documents one after the other and keeps its working memory in between.
///
/// One parser serves one task at a time; the documents it makes are independent of it.
public final class JSONParser {
  private let parser: OpaquePointer

  public init() {
    guard let parser = csj_parser_create() else { fatalError("out of memory") }
    self.parser = parser
  }

  deinit { csj_parser_destroy(parser) }

  /// Parses a whole body. A leading UTF-8 byte order mark is passed over (RFC 8259 §8.1).
  ///
  /// - Throws: ``JSONError`` for anything that is not exactly one legal JSON text.
  public func parse(_ body: [UInt8]) throws(JSONError) -> JSONDocument {
    let skipped = body.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    var nodes: UnsafeMutablePointer<csj_node>?
    var count = 0
    var errorOffset = 0
    let code = body.withUnsafeBufferPointer { bytes -> csj_error in
      guard let base = bytes.baseAddress else { return CSJ_EMPTY }
      return csj_parse(parser, base + skipped, bytes.count - skipped, &nodes, &count, &errorOffset)
    }
    guard code == CSJ_OK, let nodes else { throw JSONError(code, offset: errorOffset + skipped) }
    return JSONDocument(body: body, skipped: skipped, nodes: nodes, count: count)
  }
}
