import CCompression

/// Undoes content encodings (RFC 9110 §8.4). A stream that does not reach its own end is an error: libcurl would
/// hand out the shorter body as if it were whole.
enum ContentDecoding {
  /// What a request may ask for.
  static let accepted = "gzip, br, zstd, deflate"

  /// - Parameters:
  ///   - encodings: the Content-Encoding field, applied codings in order.
  ///   - limit: the largest decoded size in bytes, enforced while decoding.
  static func decode(_ body: [UInt8], encodings: String?, limit: Int) throws(HTTPError) -> [UInt8] {
    var body = body
    let names = (encodings ?? "").split(separator: ",").map { $0.trimmingBlanks.lowercased() }
    for name in names.reversed() where !name.isEmpty && name != "identity" {
      switch name {
      case "gzip", "x-gzip": body = try inflate(body, windowBits: 15 + 16, name: "gzip", limit: limit)
      case "deflate":
        // RFC 9110 means the zlib format; some servers send raw deflate.
        let isZlib = body.count >= 2 && body[0] & 0x0F == 8 && (Int(body[0]) << 8 | Int(body[1])) % 31 == 0
        body = try inflate(body, windowBits: isZlib ? 15 : -15, name: "deflate", limit: limit)
      case "br": body = try brotli(body, limit: limit)
      case "zstd": body = try zstd(body, limit: limit)
      default: throw HTTPError(.encoding, "the body's content encoding \"\(name)\" is unknown")
      }
    }
    return body
  }

  private static func damaged(_ name: String) -> HTTPError {
    HTTPError(.encoding, "the body is not a whole \(name) stream")
  }

  private static func tooLarge(_ limit: Int) -> HTTPError {
    HTTPError(.tooLarge, "the decoded body is larger than the limit of \(limit) bytes")
  }

  /// Output that grows by chunks up to a limit.
  private struct Output {
    var bytes: [UInt8] = []
    let limit: Int

    mutating func append(_ chunk: UnsafeBufferPointer<UInt8>) throws(HTTPError) {
      guard bytes.count + chunk.count <= limit else { throw tooLarge(limit) }
      bytes.append(contentsOf: chunk)
    }
  }

  private static let chunkSize = 256 << 10

  private static func inflate(
    _ body: [UInt8], windowBits: Int32, name: String, limit: Int
  ) throws(HTTPError) -> [UInt8] {
    var stream = z_stream()
    guard ccompression_inflate_init(&stream, windowBits) == Z_OK else { throw damaged(name) }
    defer { inflateEnd(&stream) }
    var output = Output(limit: limit)
    var input = body
    let chunk = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: chunkSize)
    defer { chunk.deallocate() }
    let failure = input.withUnsafeMutableBufferPointer { input -> HTTPError? in
      stream.next_in = input.baseAddress
      stream.avail_in = UInt32(input.count)
      while true {
        stream.next_out = chunk.baseAddress
        stream.avail_out = UInt32(chunk.count)
        let code = CCompression.inflate(&stream, Z_NO_FLUSH)
        guard code == Z_OK || code == Z_STREAM_END else { return damaged(name) }
        do throws(HTTPError) {
          try output.append(UnsafeBufferPointer(rebasing: chunk[..<(chunk.count - Int(stream.avail_out))]))
        } catch { return error }
        if code == Z_STREAM_END {
          if stream.avail_in == 0 { return nil }
          // RFC 1952 §2.2: a gzip file is a series of members.
          guard windowBits > 15, inflateReset(&stream) == Z_OK else { return damaged(name) }
        }
      }
    }
    if let failure { throw failure }
    return output.bytes
  }

  private static func brotli(_ body: [UInt8], limit: Int) throws(HTTPError) -> [UInt8] {
    guard let decoder = BrotliDecoderCreateInstance(nil, nil, nil) else { throw damaged("brotli") }
    defer { BrotliDecoderDestroyInstance(decoder) }
    var output = Output(limit: limit)
    let chunk = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: chunkSize)
    defer { chunk.deallocate() }
    let failure = body.withUnsafeBufferPointer { input -> HTTPError? in
      var next = input.baseAddress
      var available = input.count
      while true {
        var out = chunk.baseAddress
        var room = chunk.count
        let code = BrotliDecoderDecompressStream(decoder, &available, &next, &room, &out, nil)
        do throws(HTTPError) {
          try output.append(UnsafeBufferPointer(rebasing: chunk[..<(chunk.count - room)]))
        } catch { return error }
        switch code {
        case BROTLI_DECODER_RESULT_SUCCESS: return available == 0 ? nil : damaged("brotli")
        case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: continue
        default: return damaged("brotli")
        }
      }
    }
    if let failure { throw failure }
    return output.bytes
  }

  private static func zstd(_ body: [UInt8], limit: Int) throws(HTTPError) -> [UInt8] {
    guard let decoder = ZSTD_createDCtx() else { throw damaged("zstd") }
    defer { ZSTD_freeDCtx(decoder) }
    var output = Output(limit: limit)
    let chunk = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: chunkSize)
    defer { chunk.deallocate() }
    let failure = body.withUnsafeBufferPointer { bytes -> HTTPError? in
      var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
      while true {
        var out = ZSTD_outBuffer(dst: chunk.baseAddress, size: chunk.count, pos: 0)
        let code = ZSTD_decompressStream(decoder, &out, &input)
        if ZSTD_isError(code) != 0 { return damaged("zstd") }
        do throws(HTTPError) {
          try output.append(UnsafeBufferPointer(rebasing: chunk[..<out.pos]))
        } catch { return error }
        if input.pos == input.size {
          // 0: a frame ended. Otherwise there may be output left, or the stream is cut.
          if code == 0 { return nil }
          if out.pos < out.size { return damaged("zstd") }
        }
      }
    }
    if let failure { throw failure }
    return output.bytes
  }
}

extension Substring {
  var trimmingBlanks: Substring {
    let front = drop { $0 == " " || $0 == "\t" }
    let end = front.lastIndex { $0 != " " && $0 != "\t" }.map { front.index(after: $0) } ?? front.startIndex
    return front[..<end]
  }
}
