import Foundation
import HTTP
import SQLiteStore
import Synchronization
import TestSupport

@testable import SyncEngine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// `Tests/Support/auth.py`, which asks for credentials. It ends with this object.
final class AuthServer: Sendable {
  let base: String
  private let process: ServerProcess

  init(tls: Bool = false) throws {
    process = try ServerProcess(script: "auth.py", [TestKeys.folder] + (tls ? ["--tls"] : []))
    base = "\(tls ? "https" : "http")://127.0.0.1:\(try process.port())"
  }

  private func curl(_ words: String...) throws -> String {
    let result = try Shell.result(["curl", "-sk"] + words)
    if result.status != 0 { throw TestFailure("curl \(words): \(result.errors)") }
    return result.output
  }

  /// All requests so far, one line each: what was asked for, what was shown, the answer's status.
  func log() throws -> String {
    try JSONDecoder().decode([String].self, from: Data(curl(base + "/_log").utf8)).joined(separator: "\n")
  }

  func set(_ json: String) throws { _ = try curl("--data-binary", json, base + "/_set") }
}

/// Keys and certificates, made once by openssl.
enum TestKeys {
  static let folder: String = {
    do {
      let folder = try TemporaryFolder()
      let result = try Shell.result(
        [
          "sh", "-ec",
          """
          new="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
          openssl req -x509 $new -keyout ca.key -out ca.pem -subj /CN=ca -days 2
          openssl req $new -keyout server.key -out server.csr -subj /CN=localhost
          openssl req $new -keyout client.key -out client.csr -subj "/CN=syncd client"
          echo subjectAltName=IP:127.0.0.1 > names
          openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -extfile names -days 2
          openssl x509 -req -in client.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out client.pem -days 2
          openssl ec -in client.key -aes128 -passout pass:key-password -out locked.key
          cat client.pem client.key > both.pem
          openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out rsa.pem
          openssl pkey -in rsa.pem -pubout -out rsa.pub
          openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out ec.pem
          openssl pkey -in ec.pem -pubout -out ec.pub
          openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out p384.pem
          """,
        ], directory: folder.path)
      if result.status != 0 { throw TestFailure(result.errors) }
      kept.withLock { $0.append(folder) }
      return folder.path
    } catch { fatalError("no keys: \(error)") }
  }()

  /// The folders go with the program.
  private static let kept = Mutex<[TemporaryFolder]>([])
  private static let cleanUp: Void = { _ = atexit { TestKeys.kept.withLock { $0 = [] } } }()

  /// A secret with this value.
  static func secret(_ value: String) -> Secret {
    cleanUp
    let path = "\(folder)/secret-\(Digest.sha256(value))"
    if !FileManager.default.fileExists(atPath: path) {
      try? value.write(toFile: path, atomically: true, encoding: .utf8)
    }
    return .file(path)
  }
}

func secret(_ value: String) -> Secret { TestKeys.secret(value) }

/// One program's credentials for one API: what an engine makes of a declaration.
struct Caller {
  let home: HTTPURL
  let client: HTTPClient
  let authorizer: Authorizer
  let redactor = Redactor()

  /// - Parameter store: that of earlier callers, whose tokens are there.
  init(_ base: String, _ auth: [Authentication], store: (any Store)? = nil) throws {
    home = try HTTPURL(base + "/")
    client = HTTPClient(transport: CurlTransport(), retry: RetryPolicy(retries: 1, base: .milliseconds(1)))
    var api = API("auth", url: base + "/")
    api.auth = auth
    authorizer = try Authorizer(
      api, client: client,
      credentials: Credentials(
        redactor: redactor, store: try store ?? SQLite.open(":memory:"), wait: .seconds(60),
        grace: .seconds(300)))
  }

  init(_ server: AuthServer, _ auth: Authentication..., store: (any Store)? = nil) throws {
    try self.init(server.base, auth, store: store)
  }

  /// The answer's status, or the failure, without secrets.
  @discardableResult
  func ask(_ path: String, method: String = "GET", headers: HTTPHeaders = [:], body: String? = nil) async
    -> String
  {
    var request = HTTPRequest(method, url: home.appending(path: path), headers: headers)
    if let body { request.body = Array(body.utf8) }
    do {
      let response = try await client.send(
        request, home: home.origin, authorize: authorizer.authorize, renew: authorizer.renew(after:))
      let text = String(decoding: response.body, as: UTF8.self)
      return response.status == 200 ? "200" : redactor.redact("\(response.status) \(text)")
    } catch { return redactor.redact("\(error)") }
  }
}
