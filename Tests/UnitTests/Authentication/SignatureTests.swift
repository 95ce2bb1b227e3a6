import Foundation
import HTTP
import TestSupport
import Testing

@testable import SyncEngine

/// Signatures, judged by other programs: Python's hmac and openssl.
@Suite(.timeLimit(.minutes(15)), .fewAtATime, .once)
struct SignatureTests {
  @Test("a closure signs method, path, query, fields and body")
  func closure() async throws {
    let server = try AuthServer()
    let auth = Authentication.signed(using: secret("hmac-secret-key")) { signing in
      let text = [
        signing.method, signing.path, signing.query, Digest.hash(.sha256, signing.body), signing.httpDate,
      ].joined(separator: "\n")
      return [
        .header("Date", signing.httpDate),
        .header("X-Signature", Digest.hmac(.sha512, text, key: signing.secrets[0], as: .base64)),
      ]
    }
    let caller = try Caller(server, .query("a b", secret("c&d")), auth)
    #expect(await caller.ask("hmac/items?page=1") == "200")
    #expect(await caller.ask("hmac/items", method: "POST", body: "{\"q\": 1}") == "200")
  }

  @Test("a closure's view of the request")
  func signing() throws {
    var request = HTTPRequest(
      "POST", url: try HTTPURL("http://h.example:8080?x=%20/#f"), headers: ["A": "1", "a": "2"])
    request.body = [1]
    let signing = Authentication.Signing(request, secrets: ["s"], at: 784_111_777)
    #expect(signing.httpDate == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(signing.host == "h.example:8080" && signing.path == "/" && signing.query == "x=%20/")
    #expect(signing.headers == ["a": "1, 2"] && signing.body == [1] && signing.method == "POST")
    #expect(
      Authentication.Signing(HTTPRequest(url: try HTTPURL("https://h.example:443/a?")), secrets: [], at: 0)
        .host == "h.example")
  }

  @Test("digests in their forms (RFC 1321, RFC 4231 §4.3, RFC 4648 §10)")
  func digests() {
    #expect(Digest.md5("abc") == "900150983cd24fb0d6963f7d28e17f72")
    #expect(Digest.hash(.sha1, "abc") == "a9993e364706816aba3e25717850c26c9cd0d89d")
    #expect(
      Digest.hmac(.sha256, "what do ya want for nothing?", key: "Jefe")
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    for (text, expected) in ["": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foobar": "Zm9vYmFy"] {
      #expect(Digest.base64(Array(text.utf8)) == expected)
      if !text.isEmpty { #expect(Digest.bytes(base64: expected) == Array(text.utf8)) }
    }
    #expect(Digest.base64URL([0xFB, 0xFF]) == "-_8" && Digest.base64([0xFB, 0xFF]) == "+/8=")
    #expect(Digest.bytes(base64: "a") == nil && Digest.bytes(base64: "****") == nil)
  }

  private func token(_ algorithm: JSONWebToken.Algorithm, _ key: Secret, audience: RequestValue)
    -> JSONWebToken
  {
    JSONWebToken(algorithm, key: key, keyID: "k1", claims: ["iss": "sync \"one\"", "aud": audience])
  }

  @Test("JSON Web Tokens of all algorithms, as bearer tokens and as assertions; openssl verifies them")
  func webTokens() async throws {
    let server = try AuthServer()
    let keys: [(JSONWebToken.Algorithm, Secret)] = [
      (.rs256, .file(TestKeys.folder + "/rsa.pem")), (.es256, .file(TestKeys.folder + "/ec.pem")),
      (.hs256, secret("hs256-shared-key-of-the-test")),
    ]
    for (algorithm, key) in keys {
      let caller = try Caller(server, .assertion(token(algorithm, key, audience: "api")))
      #expect(await caller.ask("jwt/items") == "200")
      #expect(await caller.ask("jwt/items") == "200")
      let granted = try Caller(
        server, .assertion(token(algorithm, key, audience: "token"), at: "token", scope: "s"))
      #expect(await granted.ask("oauth/items") == "200")
    }
    // The wrong audience: the server quotes the assertion, which is not shown.
    let refused = try Caller(server, .assertion(token(.es256, keys[1].1, audience: "api"), at: "token"))
    #expect(
      await refused.ask("oauth/items")
        == "no token: \(server.base)/token answered HTTP 400: invalid_grant, claims ***")
    #expect(
      try server.log().split(separator: "\n").map { $0.hasPrefix("POST") ? "POST" : String($0) } == [
        "GET /jwt/items RS256 200", "GET /jwt/items RS256 200", "POST", "GET /oauth/items access-token-1 200",
        "GET /jwt/items ES256 200", "GET /jwt/items ES256 200", "POST", "GET /oauth/items access-token-2 200",
        "GET /jwt/items HS256 200", "GET /jwt/items HS256 200", "POST", "GET /oauth/items access-token-3 200",
        "POST",
      ])
  }

  @Test("the published HS256 example verifies (RFC 7515 appendix A.1), and a hundred ES256 signatures do too")
  func manySignatures() throws {
    // r and s are short now and then: each is padded to 32 bytes.
    let token = JSONWebToken(.es256, key: .file(TestKeys.folder + "/ec.pem"))
    let pem = try Secret.file(TestKeys.folder + "/ec.pem").resolve()
    for second in 0..<600 {
      let parts = try token.signed(with: pem, at: second).split(separator: ".")
      #expect(parts[2].count == 86)
    }
    let header = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
    let payload =
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    let encoded = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
    let padded =
      encoded.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/") + "=="
    let key = try #require(Digest.bytes(base64: padded))
    let signature = Digest.base64URL(Digest.hmac(.sha256, Array("\(header).\(payload)".utf8), key: key))
    #expect(signature == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
  }

  @Test("a key that does not fit is refused at the start, unseen")
  func wrongKeys() throws {
    func fault(_ algorithm: JSONWebToken.Algorithm, _ file: String) -> String {
      do {
        _ = try Caller(
          "http://h.example", [.assertion(JSONWebToken(algorithm, key: .file(TestKeys.folder + file)))])
        return "accepted"
      } catch let error as DeclarationError {
        return error.message.replacingOccurrences(of: TestKeys.folder, with: "")
      } catch { return "\(error)" }
    }
    #expect(fault(.es256, "/ec.pem") == "accepted")
    #expect(
      fault(.rs256, "/ec.pem")
        == "API \"auth\": the file /ec.pem holds a private key, but not an RSA one, which the algorithm needs"
    )
    #expect(
      fault(.es256, "/rsa.pem")
        == "API \"auth\": the file /rsa.pem holds a private key, but not an EC one, which the algorithm needs"
    )
    #expect(
      fault(.es256, "/p384.pem")
        == "API \"auth\": the key of the file /p384.pem is on another curve than P-256, which ES256 needs")
    #expect(
      fault(.es256, "/locked.key")
        == "API \"auth\": the file /locked.key holds no private key in PEM form without a password")
    #expect(
      fault(.rs256, "/rsa.pub")
        == "API \"auth\": the file /rsa.pub holds no private key in PEM form without a password")
  }
}
