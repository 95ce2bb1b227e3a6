import CCrypto

/// Digests of text, as lower-case hexadecimal digits, over libcrypto.
public enum Digest {
  /// For APIs that ask for it, such as Marvel's; MD5 protects nothing.
  public static func md5(_ text: String) -> String { hex(digest(EVP_md5(), Array(text.utf8))) }
  public static func sha256(_ text: String) -> String { hex(digest(EVP_sha256(), Array(text.utf8))) }

  /// HMAC (RFC 2104) with SHA-256.
  public static func hmacSHA256(_ text: String, key: String) -> String {
    var out = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    let key = Array(key.utf8)
    let text = Array(text.utf8)
    HMAC(EVP_sha256(), key, Int32(key.count), text, text.count, &out, &count)
    return hex(out[..<Int(count)])
  }

  private static func digest(_ algorithm: OpaquePointer?, _ bytes: [UInt8]) -> ArraySlice<UInt8> {
    var out = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    EVP_Digest(bytes, bytes.count, &out, &count, algorithm, nil)
    return out[..<Int(count)]
  }

  static func hex(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
