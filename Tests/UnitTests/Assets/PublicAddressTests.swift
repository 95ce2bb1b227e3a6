import CCurl
import TestSupport
import Testing

@testable import HTTP

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

@Suite("Addresses that are public", .fewAtATime, .once)
struct PublicAddressTests {
  private func isPublic(_ address: String) -> Bool? {
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(address, nil, &hints, &list) == 0, let list else { return nil }
    defer { freeaddrinfo(list) }
    return ccurl_is_public(list.pointee.ai_addr) != 0
  }

  @Test(
    "loopback, private, link-local and other special ranges are not, also inside IPv6 (RFC 6890)",
    arguments: [
      "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
      "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255",
      "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "fe80::1", "fc00::1", "fd12::1",
      "ff02::1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001::1",
    ])
  func special(_ address: String) { #expect(isPublic(address) == false) }

  @Test(
    "all others are",
    arguments: [
      "1.1.1.1", "100.128.0.1", "172.32.0.1", "192.0.77.2", "192.169.0.1", "198.20.0.1", "::ffff:1.1.1.1",
      "2606:4700::1111", "2001:4860:4860::8888", "2a00::1",
    ])
  func ordinary(_ address: String) { #expect(isPublic(address) == true) }

  @Test(
    "no connection is made to any spelling of a private address, and none is tried again",
    arguments: [
      "127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "[::1]", "[::ffff:127.0.0.1]",
      "169.254.169.254",
    ])
  func refused(_ host: String) async throws {
    let client = HTTPClient(transport: CurlTransport(), retry: RetryPolicy(retries: 3, base: .seconds(60)))
    var request = HTTPRequest(url: try HTTPURL("http://\(host):1/x"))
    request.connectsToPublicOnly = true
    let failure = await #expect(throws: HTTPError.self) {
      try await client.send(request, limits: client.limits)
    }
    // libcurl has read the numbers as what they mean.
    let shown = host.first?.isNumber == true && host != "169.254.169.254" ? "127.0.0.1" : host
    #expect(failure?.description == "http://\(shown):1 is at no public address, so it is not connected to")
  }

  @Test("nor is a connection used that another request has made and left open")
  func keptConnection() async throws {
    let server = try AnswerServer([Route("/x", body: "x")])
    let transport = CurlTransport()
    var request = HTTPRequest(url: try HTTPURL(server.base + "/x"))
    #expect(try await transport.send(request, limits: HTTPLimits()).status == 200)
    request.connectsToPublicOnly = true
    let failure = await #expect(throws: HTTPError.self) {
      try await transport.send(request, limits: HTTPLimits())
    }
    #expect(failure?.description == "\(server.base) is at no public address, so it is not connected to")
    #expect(failure?.kind == .permanent)
    #expect(try server.requests().count == 1)
  }
}
