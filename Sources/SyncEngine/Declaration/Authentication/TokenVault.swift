import CCrypto

/// Tokens in the store, encrypted with AES-256-GCM (NIST SP 800-38D) under a key made of the declared secrets: a copy
/// of the database gives nobody a token, and another declared secret finds nothing.
struct TokenVault: Sendable {
  private let store: any Store
  /// The state's owner; no table has a name with a colon in front.
  private let owner: String
  private let name: String
  private let key: [UInt8]

  /// - Parameters:
  ///   - identity: what else distinguishes the tokens, such as the endpoint and the scope.
  ///   - secrets: at least one that nobody can guess.
  init(store: any Store, api: String, identity: String, secrets: [String]) {
    (self.store, owner) = (store, ":\(api)")
    let joined = Array(secrets.joined(separator: "\u{0}").utf8)
    key = Digest.hmac(.sha256, Array("syncd token key".utf8), key: joined)
    name = "token " + Digest.hex(Digest.hmac(.sha256, Array("name \(identity)".utf8), key: key).prefix(8))
  }

  /// The right to renew: one holder among all processes on the store.
  func lease(wait: Duration) async throws -> any Lease {
    try await store.lease(table: owner, isShared: false, wait: wait)
  }

  /// What was kept; nil where there is nothing that the key opens.
  func load() async throws -> Token? {
    guard let sealed = try await store.state(of: owner)[name], let bytes = Digest.bytes(base64: sealed) else {
      return nil
    }
    return open(bytes).flatMap { Token(json: $0) }
  }

  func keep(_ token: Token) async throws {
    try await store.keep([name: Digest.base64(seal(Array(token.json.utf8)))], of: owner)
  }

  private static let nonceSize = 12
  private static let tagSize = 16

  /// Nonce, ciphertext, tag.
  private func seal(_ text: [UInt8]) throws -> [UInt8] {
    let nonce = (0..<Self.nonceSize).map { _ in UInt8.random(in: .min ... .max) }
    let context = EVP_CIPHER_CTX_new()
    defer { EVP_CIPHER_CTX_free(context) }
    var out = [UInt8](repeating: 0, count: text.count)
    var tag = [UInt8](repeating: 0, count: Self.tagSize)
    var (count, rest): (Int32, Int32) = (0, 0)
    guard EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce) == 1,
      EVP_EncryptUpdate(context, &out, &count, text, Int32(text.count)) == 1,
      EVP_EncryptFinal_ex(context, &tag, &rest) == 1,
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagSize), &tag) == 1
    else { throw StoreError("libcrypto cannot encrypt a token") }
    return nonce + out + tag
  }

  private func open(_ sealed: [UInt8]) -> [UInt8]? {
    guard sealed.count > Self.nonceSize + Self.tagSize else { return nil }
    let nonce = Array(sealed.prefix(Self.nonceSize))
    let text = Array(sealed.dropFirst(Self.nonceSize).dropLast(Self.tagSize))
    var tag = Array(sealed.suffix(Self.tagSize))
    let context = EVP_CIPHER_CTX_new()
    defer { EVP_CIPHER_CTX_free(context) }
    var out = [UInt8](repeating: 0, count: text.count)
    var (count, rest): (Int32, Int32) = (0, 0)
    var unused = [UInt8](repeating: 0, count: Self.tagSize)
    guard EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce) == 1,
      EVP_DecryptUpdate(context, &out, &count, text, Int32(text.count)) == 1,
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagSize), &tag) == 1,
      EVP_DecryptFinal_ex(context, &unused, &rest) == 1
    else { return nil }
    return out
  }
}
