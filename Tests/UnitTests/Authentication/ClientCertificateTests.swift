import Foundation
import HTTP
import TestSupport
import Testing

@testable import SyncEngine

/// TLS with an authority of the test's own.
@Suite(.timeLimit(.minutes(15)), .fewAtATime, .once)
struct ClientCertificateTests {
  private func file(_ name: String) -> String { TestKeys.folder + "/" + name }

  @Test("a client shows its certificate: in two files, in one, with a locked key")
  func shown() async throws {
    let server = try AuthServer(tls: true)
    let ways: [Authentication] = [
      .clientCertificate(file("client.pem"), key: file("client.key"), authority: file("ca.pem")),
      .clientCertificate(file("both.pem"), authority: file("ca.pem")),
      .clientCertificate(
        file("client.pem"), key: file("locked.key"), password: secret("key-password"),
        authority: file("ca.pem")),
    ]
    for way in ways { #expect(try await Caller(server, way).ask("mtls/items") == "200") }
    #expect(try await Caller(server, .authority(file("ca.pem"))).ask("open/items") == "200")
    #expect(try await Caller(server, .authority(file("ca.pem"))).ask("mtls/items").hasPrefix("401"))
    // Without the password no terminal is asked.
    let locked = try Caller(
      server, .clientCertificate(file("client.pem"), key: file("locked.key"), authority: file("ca.pem")))
    let failure = await locked.ask("mtls/items")
    #expect(failure.contains("private key") || failure.contains("certificate"), "\(failure)")
  }

  @Test("a server of an unknown authority is refused, and no connection of another caller is used for it")
  func unknownAuthority() async throws {
    let server = try AuthServer(tls: true)
    #expect(try await Caller(server, .authority(file("ca.pem"))).ask("open/items") == "200")
    #expect(try await Caller(server).ask("open/items").lowercased().contains("certificate"))
    #expect(
      try await Caller(server, .authority(file("client.pem"))).ask("open/items").lowercased().contains(
        "certificate"))
    #expect(try server.log() == "GET /open/items - 200")
  }

  @Test("of connections that one transport keeps, a request uses none that was made with another certificate")
  func pooled() async throws {
    let server = try AuthServer(tls: true)
    let transport = CurlTransport()
    let url = try HTTPURL(server.base + "/mtls/items")
    var statuses: [Int] = []
    for certificate in [file("both.pem"), nil, file("both.pem")] {
      var request = HTTPRequest(url: url)
      request.tls = TLSFiles(certificate: certificate, authority: file("ca.pem"))
      statuses.append(try await transport.send(request, limits: HTTPLimits()).status)
    }
    #expect(statuses == [200, 401, 200])
  }

  @Test("a token's endpoint at home sees the certificate too, one elsewhere does not")
  func tokens() async throws {
    let (server, other) = (try AuthServer(tls: true), try AuthServer(tls: true))
    for endpoint in ["token", other.base + "/token"] {
      let caller = try Caller(
        server, .clientCertificate(file("both.pem"), authority: file("ca.pem")),
        .clientCredentials(endpoint, client: secret("client one"), secret: secret("client+secret/1")))
      #expect(await caller.ask("mtls/items") == "200")
    }
    #expect(try other.log() == "POST /token basic client_credentials 200")
    try expect(
      server.log(),
      is: """
        POST /token basic client_credentials certificate 200
        GET /mtls/items syncd client 200
        GET /mtls/items syncd client 200
        """)
  }

  @Test("a file that is not there is named before anything is asked")
  func missing() throws {
    let error = #expect(throws: DeclarationError.self) {
      try Caller("https://h.example", [.clientCertificate("/nowhere/a.pem")])
    }
    #expect(
      error?.message == "API \"auth\": the file /nowhere/a.pem cannot be read: No such file or directory")
  }
}
