import TestSupport
import Testing

@testable import HTTP

/// Addresses by RFC 3986.
@Suite(.once)
struct HTTPURLTests {
  static let base = "http://a/b/c/d;p?q"

  @Test(
    "references of RFC 3986 §5.4",
    arguments: [
      ("g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"), ("//g", "http://g/"),
      ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("g?y/./x", "http://a/b/c/g?y/./x"),
      ("g?y/../x", "http://a/b/c/g?y/../x"), (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"),
      ("g;x=1/y", "http://a/b/c/g;x=1/y"), ("./g", "http://a/b/c/g"), ("../g", "http://a/b/g"),
      ("../../g", "http://a/g"), ("./", "http://a/b/c/"), ("../", "http://a/b/"), ("../../", "http://a/"),
      ("../../../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
      ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
    ])
  func references(_ reference: String, _ expected: String) throws {
    #expect(try HTTPURL(Self.base).resolving(reference).string == expected)
  }

  @Test("a reference that is empty but for a fragment names the address itself", arguments: ["", "#s"])
  func sameDocument(_ reference: String) throws {
    #expect(try HTTPURL(Self.base).resolving(reference).string == Self.base)
  }

  @Test(
    "dot segments at the end and inside are removed (RFC 3986 §5.2.4)",
    arguments: [
      (".", "http://a/b/c/"), ("..", "http://a/b/"), ("../..", "http://a/"), ("/./g", "http://a/g"),
      ("/../g", "http://a/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
      ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
    ])
  func dotSegments(_ reference: String, _ expected: String) throws {
    #expect(try HTTPURL(Self.base).resolving(reference).string == expected)
  }

  @Test("fragments are never asked for: what is resolved without them is the same address")
  func fragments() throws {
    for (reference, expected) in [("g#s", "http://a/b/c/g"), ("g?y#s", "http://a/b/c/g?y")] {
      let resolved = try HTTPURL(Self.base).resolving(reference).string.prefix { $0 != "#" }
      #expect(resolved == expected)
    }
  }

  @Test("an absolute reference is kept byte for byte")
  func absolute() throws {
    for text in [
      "http://B.example/%7e/../x?a=%2F&b=c+d", "HTTPS://b.example", "http://b.example:80/a//b/./c",
    ] {
      #expect(try HTTPURL(Self.base).resolving(text).string == text)
    }
  }

  @Test(
    "no address that can be asked",
    arguments: [
      "", "a", "/a", "//a/b", "ftp://a/", "file:///x", "javascript:alert(1)", "mailto:a@b", "http:", "http:/",
      "http://",
      "http://?x", "http://:80/", "http://a:99999/", "http://a:x/", "http://a:-1/",
      "http://a b/",
      "http://a/b c", " http://a/", "http://a/\n", "http://[::1/",
      "http://[zz]/",
      "http://::1/", "http://user@a/", "http://user:pass@a/", "http://:pass@a/", "http://a\\@b/", "https//a",
      "httpx://a/", "http:a.example",
    ])
  func refused(_ text: String) { #expect(throws: HTTPURL.Invalid.self) { try HTTPURL(text) } }

  @Test("an address has two slashes and a host behind them", arguments: ["http:///x", "http:/a.example/x"])
  func slashes(_ text: String) throws {
    #expect(throws: HTTPURL.Invalid.self) { try HTTPURL(text) }
    #expect(throws: HTTPURL.Invalid.self) { try HTTPURL(Self.base).resolving(text) }
  }

  @Test("an address with a zero byte is refused, not cut there")
  func zeroBytes() throws {
    for text in ["http://a/\u{0}b", "http://a\u{0}.b/"] {
      #expect(throws: HTTPURL.Invalid.self) { try HTTPURL(text) }
    }
    #expect(throws: HTTPURL.Invalid.self) { try HTTPURL(Self.base).resolving("g\u{0}h") }
  }

  @Test("a reference with another scheme or with a password is refused")
  func refusedReferences() throws {
    let base = try HTTPURL(Self.base)
    for text in [
      "g:h", "ftp://a/x", "ftp:x", "file:/x", "mailto:a@b.example", "javascript:alert(1)", "data:,x",
      "http://u:p@a/", "//u:p@a/x", "a\nb",
    ] {
      #expect(throws: HTTPURL.Invalid.self, "\(text)") { try base.resolving(text) }
    }
  }

  @Test("no error tells a password (RFC 3986 §7.5)", arguments: ["http", "https", "ftp"])
  func passwords(_ scheme: String) throws {
    let base = try HTTPURL(Self.base)
    var errors: [String] = []
    for address in [
      "user:hunter2@a.example/", "user:hunter2@a.example:99999/", "user:hunter2@a b/", "user:hunter2@",
      "user:hunter2%40a/", "user:hun/hunter2@a/", "hunter2@a/\u{0}", "a:hunter2@b@c/", "us er:hunter2@a/",
    ] {
      for front in ["\(scheme)://", "\(scheme):/", "\(scheme):", "//", "hunter2:"] {
        for read in [{ try HTTPURL($0) }, { try base.resolving($0) }] as [(String) throws -> HTTPURL] {
          do {
            _ = try read(front + address)
            Issue.record("\(front)\(address) was accepted")
          } catch { errors.append("\(error)") }
        }
      }
    }
    #expect(errors.allSatisfy { !$0.contains("hunter2") }, "\(errors)")
    #expect(HTTPURL.withoutUser("HTTPS://u:p@h/x?y=1@2") == "https://…@2")
    #expect(HTTPURL.withoutUser("https://h.example/x") == "https://h.example/x")
  }

  @Test("origins compare by scheme, host without case, and port")
  func origins() throws {
    func origin(_ text: String) throws -> HTTPURL.Origin { try HTTPURL(text).origin }
    #expect(try origin("HTTP://A.Example/x") == origin("http://a.example:80?y"))
    #expect(try origin("https://a.example") == origin("https://a.example:443/"))
    #expect(try origin("https://a.example:/") == origin("https://a.example/"))
    #expect(try origin("http://a.example") != origin("https://a.example"))
    #expect(try origin("http://a.example:443") != origin("https://a.example:443"))
    #expect(try origin("http://a.example") != origin("http://a.example:81"))
    #expect(try origin("http://a.example") != origin("http://b.a.example"))
    #expect(try origin("http://a.example#@b.example/") == origin("http://a.example"))
    #expect(try origin("http://a.example?@b.example/") == origin("http://a.example"))
    #expect(try origin("http://[::1]:8080/x") != origin("http://[::1]/x"))
    #expect(try origin("http://[2001:DB8::1]/") == origin("http://[2001:db8::1]:80/"))
    for (text, expected) in [
      ("http://a.example:80/x", "http://a.example"), ("https://a.example:444", "https://a.example:444"),
      ("https://A.example:80", "https://a.example:80"), ("http://[::1]:8080/x", "http://[::1]:8080"),
      ("http://[::1]", "http://[::1]"),
    ] { #expect(try origin(text).description == expected) }
  }

  @Test("a path is added below the base path")
  func paths() throws {
    for (base, path, expected) in [
      ("http://a", "x", "http://a/x"), ("http://a/", "/x", "http://a/x"),
      ("http://a/v1", "x/y/", "http://a/v1/x/y/"),
      ("http://a/v1/", "x", "http://a/v1/x"), ("http://a/v1?k=v", "x", "http://a/v1/x?k=v"),
      ("http://a?k=/v", "x", "http://a/x?k=/v"), ("http://a/v1#f?g", "x", "http://a/v1/x"),
      ("http://a/v1", "", "http://a/v1"),
      ("http://a/v1", "/", "http://a/v1"), ("http://[::1]:8080/v1", "x", "http://[::1]:8080/v1/x"),
    ] { #expect(try HTTPURL(base).appending(path: path).string == expected) }
  }

  @Test("query items are added behind those that are there")
  func queries() throws {
    for (base, expected) in [
      ("http://a", "http://a?p%20q=1%262"), ("http://a/x?", "http://a/x?p%20q=1%262"),
      ("http://a/x?k", "http://a/x?k&p%20q=1%262"), ("http://a/x?k=v&", "http://a/x?k=v&p%20q=1%262"),
      ("http://a/x?k=%20#f?g", "http://a/x?k=%20&p%20q=1%262"),
    ] { #expect(try HTTPURL(base).appending(query: [("p q", "1&2")]).string == expected) }
    let url = try HTTPURL("http://a/x").appending(query: [("a", ""), ("", "b"), ("é", "+/=#?%\u{0}")])
    #expect(url.string == "http://a/x?a=&=b&%C3%A9=%2B%2F%3D%23%3F%25%00")
    #expect(try HTTPURL("http://a/x").appending(query: []).string == "http://a/x")
    #expect(try HTTPURL("http://a/x#\u{301}f").appending(query: [("k", "v")]).string == "http://a/x?k=v")
    #expect(
      try HTTPURL("http://a/x?\u{301}").appending(query: [("k", "v")]).string == "http://a/x?\u{301}&k=v")
  }

  @Test("only unreserved characters stay as they are (RFC 3986 §2.3)")
  func encoding() {
    let unreserved = "ABCXYZabcxyz0189-._~"
    #expect(percentEncoded(unreserved) == unreserved)
    for byte in UInt8.min...0x7F where !unreserved.utf8.contains(byte) {
      let scalar = Character(Unicode.Scalar(byte))
      if scalar.isASCII, scalar.isLetter || scalar.isNumber { continue }
      let digits = String(byte, radix: 16, uppercase: true)
      #expect(percentEncoded("\(scalar)") == "%" + (digits.count == 1 ? "0" : "") + digits)
    }
    #expect(percentEncoded("😀") == "%F0%9F%98%80")
    #expect(percentEncoded("") == "")
  }
}
