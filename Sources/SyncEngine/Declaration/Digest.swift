import CCrypto

/// Digests and keyed digests of text, over libcrypto.
///
/// ```swift
/// Digest.md5("abc")                                        // 900150983cd24fb0d6963f7d28e17f72
/// Digest.hash(.sha512, text, as: .base64)
/// Digest.hmac(.sha1, text, key: secret, as: .base64URL)
/// ```
public enum Digest {
  public enum Algorithm: Sendable, Hashable {
    case md5, sha1, sha256, sha384, sha512

    var function: OpaquePointer? {
      switch self {
      case .md5: EVP_md5()
      case .sha1: EVP_sha1()
      case .sha256: EVP_sha256()
      case .sha384: EVP_sha384()
      case .sha512: EVP_sha512()
      }
    }
  }

  /// How the bytes of a digest are written.
  public enum Form: Sendable, Hashable {
    /// Lower-case hexadecimal digits.
    case hex
    /// RFC 4648 §4, with padding.
    case base64
    /// RFC 4648 §5, without padding, as JSON Web Tokens have it.
    case base64URL

    func text(_ bytes: [UInt8]) -> String {
      switch self {
      case .hex: Digest.hex(bytes)
      case .base64: Digest.base64(bytes)
      case .base64URL: Digest.base64URL(bytes)
      }
    }
  }

  public static func hash(_ algorithm: Algorithm, _ text: String, as form: Form = .hex) -> String {
    hash(algorithm, Array(text.utf8), as: form)
  }

  /// A digest of bytes, such as those of a request's body.
  public static func hash(_ algorithm: Algorithm, _ bytes: [UInt8], as form: Form = .hex) -> String {
    form.text(digest(algorithm, bytes))
  }

  /// HMAC (RFC 2104) of a text with a text as its key.
  public static func hmac(_ algorithm: Algorithm, _ text: String, key: String, as form: Form = .hex) -> String
  {
    form.text(hmac(algorithm, Array(text.utf8), key: Array(key.utf8)))
  }

  /// For APIs that ask for it, such as Marvel's; MD5 protects nothing.
  public static func md5(_ text: String) -> String { hash(.md5, text) }
  public static func sha256(_ text: String) -> String { hash(.sha256, text) }
  /// HMAC (RFC 2104) with SHA-256.
  public static func hmacSHA256(_ text: String, key: String) -> String { hmac(.sha256, text, key: key) }

  static func digest(_ algorithm: Algorithm, _ bytes: [UInt8]) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    EVP_Digest(bytes, bytes.count, &out, &count, algorithm.function, nil)
    return Array(out[..<Int(count)])
  }

  static func hmac(_ algorithm: Algorithm, _ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    HMAC(algorithm.function, key, Int32(key.count), bytes, bytes.count, &out, &count)
    return Array(out[..<Int(count)])
  }

  static func hex(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  static func base64(_ bytes: [UInt8]) -> String {
    var out = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
    let count = EVP_EncodeBlock(&out, bytes, Int32(bytes.count))
    return String(decoding: out[..<Int(count)], as: UTF8.self)
  }

  static func base64URL(_ bytes: [UInt8]) -> String {
    String(
      decoding: base64(bytes).utf8.compactMap { byte -> UInt8? in
        switch byte {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        case UInt8(ascii: "="): nil
        default: byte
        }
      }, as: UTF8.self)
  }

  /// The bytes of a base64 text with padding; nil for anything else.
  static func bytes(base64 text: String) -> [UInt8]? {
    guard !text.isEmpty, text.utf8.count % 4 == 0 else { return nil }
    var out = [UInt8](repeating: 0, count: text.utf8.count / 4 * 3)
    let count = EVP_DecodeBlock(&out, Array(text.utf8), Int32(text.utf8.count))
    guard count >= 0 else { return nil }
    let padding = text.utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    return Array(out[..<(Int(count) - padding)])
  }
}
