import TestSupport
import Testing

@testable import HTTP

/// Content encodings: whole, cut and damaged.
@Suite(.fewAtATime, .once)
struct ContentDecodingTests {
  private static let plain = Array(
    String(repeating: "The quick brown fox jumps over the lazy dog. ", count: 6).utf8)

  /// The plain text as Python's modules and the tools of brotli and zstd write it.
  private static func bodies() throws -> [(name: String, body: [UInt8])] {
    let program = """
      import gzip, sys, zlib
      t = b"The quick brown fox jumps over the lazy dog. " * 6
      raw = zlib.compressobj(9, zlib.DEFLATED, -15)
      made = {
          "gzip": gzip.compress(t), "zlib": zlib.compress(t), "raw": raw.compress(t) + raw.flush(),
          "stored": gzip.compress(t, 0), "two": gzip.compress(t[:100]) + gzip.compress(t[100:]),
          "zlib1": zlib.compress(t, 1), "first": gzip.compress(t[:100])}
      for line in sys.stdin.readlines(): print(made[line.strip()].hex())
      """
    let names = ["gzip", "stored", "zlib", "zlib1", "raw"]
    var bodies = zip(names, try PythonOracle.lines(program, names)).map { name, hex in
      (name: name == "gzip" || name == "stored" ? "gzip" : "deflate", body: Hexadecimal.bytes(hex))
    }
    bodies.append(
      (
        "br",
        Hexadecimal.bytes(
          "1b0d01882c0e78d3d0955d9710bb172ba9cad092cc8cad415ce6f236c8199e9e"
            + "0a7b830d387048206f24bc41a715ce1c1e27aa2938c2d9ecd360")
      ))
    let zstd =
      "b50100d40254686520717569636b2062726f776e20666f78206a756d7073206f76657220746865206c617a7920646f672e20"
      + "0100f5424a9501"
    bodies.append(("zstd", Hexadecimal.bytes("28b52ffd0468" + zstd + "306d19ee")))
    bodies.append(("zstd", Hexadecimal.bytes("28b52ffd0068" + zstd)))
    return bodies
  }

  private func decode(_ body: [UInt8], _ encodings: String?, limit: Int = 1 << 20) throws(HTTPError)
    -> [UInt8]
  {
    try ContentDecoding.decode(body, encodings: encodings, limit: limit)
  }

  @Test("whole bodies are decoded, cut ones and those with more behind them are an error")
  func wholeAndCut() throws {
    for (name, body) in try Self.bodies() {
      #expect(try decode(body, name) == Self.plain, "\(name)")
      for count in 0..<body.count {
        #expect(throws: HTTPError.self, "\(name) cut at \(count)") { try decode(Array(body[..<count]), name) }
      }
      #expect(throws: HTTPError.self, "\(name)") { try decode(body + [0x41], name) }
    }
  }

  @Test("a check sum that does not fit is an error")
  func checkSums() throws {
    for (name, body) in try Self.bodies() where name == "gzip" || body.last == 0xEE || body.first == 0x78 {
      for index in body.indices.suffix(4) {
        var damaged = body
        damaged[index] ^= 0x10
        #expect(throws: HTTPError.self, "\(name)") { try decode(damaged, name) }
      }
    }
  }

  @Test("the limit holds while decoding, and exactly the limit passes")
  func limit() throws {
    for (name, body) in try Self.bodies() {
      #expect(try decode(body, name, limit: Self.plain.count).count == Self.plain.count, "\(name)")
      for limit in [Self.plain.count - 1, 1, 0] {
        let error = #expect(throws: HTTPError.self) { try decode(body, name, limit: limit) }
        #expect(error?.kind == .tooLarge, "\(name)")
      }
    }
  }

  @Test("a gzip body may have several members (RFC 1952 §2.2); an end between them is legal")
  func members() throws {
    let program = """
      import gzip, sys
      t = b"The quick brown fox jumps over the lazy dog. " * 6
      for line in sys.stdin.readlines():
          a, b = map(int, line.split())
          print(gzip.compress(t[a:b]).hex())
      """
    let parts = try PythonOracle.lines(program, ["0 100", "100 270", "0 0"]).map { Hexadecimal.bytes($0) }
    let both = parts[0] + parts[1]
    #expect(try decode(both, "gzip") == Self.plain)
    #expect(try decode(parts[2] + both + parts[2], "gzip") == Self.plain)
    #expect(try decode(parts[2], "gzip") == [])
    for count in 0..<both.count where count != parts[0].count {
      #expect(throws: HTTPError.self, "cut at \(count)") { try decode(Array(both[..<count]), "gzip") }
    }
    #expect(throws: HTTPError.self) { try decode(both, "gzip", limit: Self.plain.count - 1) }
  }

  @Test("zstd frames in a row, and a skippable one (RFC 8878 §3)")
  func frames() throws {
    let body = try #require(try Self.bodies().last).body
    #expect(try decode(body + body, "zstd") == Self.plain + Self.plain)
    let skippable: [UInt8] = [0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 1, 2]
    #expect(try decode(skippable + body + skippable, "zstd") == Self.plain)
    #expect(throws: HTTPError.self) { try decode(body + body.dropLast(), "zstd") }
  }

  @Test("outputs around the size of a chunk are whole")
  func chunks() throws {
    let sizes = [262_143, 262_144, 262_145, 524_288, 1_000_000]
    let program = """
      import gzip, sys, zlib
      for line in sys.stdin.readlines(): print(gzip.compress(b"a" * int(line)).hex())
      """
    for (size, hex) in zip(sizes, try PythonOracle.lines(program, sizes.map { String($0) })) {
      let body = Hexadecimal.bytes(hex)
      #expect(try decode(body, "gzip", limit: size).count == size)
      #expect(throws: HTTPError.self) { try decode(body, "gzip", limit: size - 1) }
      #expect(throws: HTTPError.self) { try decode(body.dropLast(), "gzip", limit: size) }
    }
  }

  @Test("names without case, several codings, and none")
  func names() throws {
    let bodies = try Self.bodies()
    let gzip = bodies[0].body
    for name in ["GZIP", "x-gzip", " gzip ", "identity, gzip", "gzip, identity", ",gzip,", "\tgzip\t"] {
      #expect(try decode(gzip, name) == Self.plain, "\(name)")
    }
    for name in [nil, "", "identity", " , "] { #expect(try decode([1, 2], name) == [1, 2]) }
    for name in ["zip", "compress", "gzip;q=1", "gz ip", "aes128gcm", "*"] {
      let error = #expect(throws: HTTPError.self) { try decode(gzip, name) }
      #expect(error?.kind == .encoding)
    }
    let program = """
      import gzip, sys, zlib
      t = b"The quick brown fox jumps over the lazy dog. " * 6
      for line in sys.stdin.readlines(): print(gzip.compress(zlib.compress(t)).hex())
      """
    let twice = Hexadecimal.bytes(try PythonOracle.lines(program, [""])[0])
    #expect(try decode(twice, "deflate, gzip") == Self.plain)
    #expect(throws: HTTPError.self) { try decode(twice, "gzip, deflate") }
  }
}
