import CCrypto

/// A signed JSON Web Token (RFC 7519, RFC 7515 §7.1): claims of the declaration, and `iat`, `exp` and a random `jti`.
///
/// ```swift
/// JSONWebToken(
///   .rs256, key: .file("key.pem"), keyID: "2026",
///   claims: ["iss": "sync@project.example", "aud": "https://login.example/token", "scope": "read"])
/// ```
public struct JSONWebToken: Sendable {
  /// RFC 7518 §3.1.
  public enum Algorithm: String, Sendable, Hashable {
    /// RSA with SHA-256; the key is an RSA private key in PEM form.
    case rs256 = "RS256"
    /// ECDSA with P-256 and SHA-256; the key is an EC private key in PEM form.
    case es256 = "ES256"
    /// HMAC with SHA-256; the key is the secret's text.
    case hs256 = "HS256"
  }

  let algorithm: Algorithm
  let key: Secret
  let keyID: String?
  let lifetime: Duration
  let claims: RequestValue

  /// - Parameters:
  ///   - keyID: the header's `kid`.
  ///   - lifetime: the time from `iat` to `exp`, in whole seconds.
  ///   - claims: an object.
  public init(
    _ algorithm: Algorithm, key: Secret, keyID: String? = nil, lifetime: Duration = .seconds(300),
    claims: RequestValue = [:]
  ) {
    (self.algorithm, self.key, self.keyID) = (algorithm, key, keyID)
    (self.lifetime, self.claims) = (lifetime, claims)
  }

  /// - Throws: ``DeclarationError`` for a key that does not fit the algorithm; it never shows the key.
  func signed(with key: String, at timestamp: Int) throws(DeclarationError) -> String {
    let identifier = keyID.map { ",\"kid\":\(quotedJSON($0))" } ?? ""
    let header = "{\"alg\":\"\(algorithm.rawValue)\",\"typ\":\"JWT\"\(identifier)}"
    let expiry = timestamp + Int(lifetime.components.seconds)
    let nonce = Digest.hex((0..<16).map { _ in UInt8.random(in: .min ... .max) })
    let payload = claims.setting([
      PageRequest.Item("iat", "\(timestamp)", isJSON: true),
      PageRequest.Item("exp", "\(expiry)", isJSON: true),
      PageRequest.Item("jti", nonce),
    ]).json(\.description)
    let text = [header, payload].map { Digest.base64URL(Array($0.utf8)) }.joined(separator: ".")
    return "\(text).\(Digest.base64URL(try signature(of: Array(text.utf8), key: key)))"
  }

  private func signature(of text: [UInt8], key: String) throws(DeclarationError) -> [UInt8] {
    switch algorithm {
    case .hs256: return Digest.hmac(.sha256, text, key: Array(key.utf8))
    case .rs256:
      return try PrivateKey(pem: key, from: self.key, kind: EVP_PKEY_RSA, "an RSA").sign(text)
    case .es256:
      let key = try PrivateKey(pem: key, from: self.key, kind: EVP_PKEY_EC, "an EC")
      guard key.isP256 else {
        throw DeclarationError("the key of the \(self.key) is on another curve than P-256, which ES256 needs")
      }
      return try key.concatenated(key.sign(text))
    }
  }
}

/// A private key of libcrypto.
private final class PrivateKey {
  private let handle: OpaquePointer
  private let secret: Secret

  init(pem: String, from secret: Secret, kind: Int32, _ name: String) throws(DeclarationError) {
    self.secret = secret
    let bytes = Array(pem.utf8)
    let buffer = BIO_new_mem_buf(bytes, Int32(bytes.count))
    defer { BIO_free(buffer) }
    // An empty password, or else OpenSSL asks for one on the terminal.
    var password: [CChar] = [0]
    guard let handle = PEM_read_bio_PrivateKey(buffer, nil, nil, &password) else {
      ERR_clear_error()
      throw DeclarationError("the \(secret) holds no private key in PEM form without a password")
    }
    self.handle = handle
    guard EVP_PKEY_get_base_id(handle) == kind else {
      throw DeclarationError(
        "the \(secret) holds a private key, but not \(name) one, which the algorithm needs")
    }
  }

  deinit { EVP_PKEY_free(handle) }

  var isP256: Bool {
    var name = [CChar](repeating: 0, count: 80)
    var count = 0
    guard EVP_PKEY_get_group_name(handle, &name, name.count, &count) == 1 else { return false }
    return String(decoding: name[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) == "prime256v1"
  }

  func sign(_ text: [UInt8]) throws(DeclarationError) -> [UInt8] {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var count = 0
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, handle) == 1,
      EVP_DigestSign(context, nil, &count, text, text.count) == 1
    else { throw failure }
    var out = [UInt8](repeating: 0, count: count)
    guard EVP_DigestSign(context, &out, &count, text, text.count) == 1 else { throw failure }
    return Array(out[..<count])
  }

  /// Both numbers of an ECDSA signature in 32 bytes each (RFC 7518 §3.4), from their DER form.
  func concatenated(_ signature: [UInt8]) throws(DeclarationError) -> [UInt8] {
    let parsed = signature.withUnsafeBufferPointer { bytes in
      var position = bytes.baseAddress
      return d2i_ECDSA_SIG(nil, &position, bytes.count)
    }
    guard let parsed else { throw failure }
    defer { ECDSA_SIG_free(parsed) }
    var out = [UInt8](repeating: 0, count: 64)
    let written = out.withUnsafeMutableBufferPointer { bytes in
      (
        BN_bn2binpad(ECDSA_SIG_get0_r(parsed), bytes.baseAddress, 32),
        BN_bn2binpad(ECDSA_SIG_get0_s(parsed), bytes.baseAddress.map { $0 + 32 }, 32)
      )
    }
    guard written == (32, 32) else { throw failure }
    return out
  }

  private var failure: DeclarationError {
    ERR_clear_error()
    return DeclarationError("libcrypto cannot sign with the key of the \(secret)")
  }
}
