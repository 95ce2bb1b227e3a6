import HTTP
import TestSupport
import Testing

@testable import SyncEngine

/// Link header fields by RFC 8288.
@Suite(.once)
struct LinkHeaderTests {
  private func decision(_ fields: [String]) throws -> PageDecision {
    let headers = HTTPHeaders(fields.map { ("link", $0) })
    return try LinkHeader(relation: "next").decide(
      after: Page(number: 1, status: 200, headers: headers))
  }

  private func next(_ fields: String...) throws -> String? {
    guard case .next(.address(let address)) = try decision(fields) else { return nil }
    return address
  }

  @Test("the next page among other links")
  func several() throws {
    #expect(
      try next(#"<https://a.example/?page=2>; rel="next", <https://a.example/?page=9>; rel="last""#)
        == "https://a.example/?page=2")
    #expect(try next(#"<a>;rel=last,<b>;rel=next"#) == "b")
    #expect(try next(#"<a>; rel="prev""#, #"<b>; rel="next""#) == "b")
    #expect(try next(#"<a>; rel="first next""#) == "a")
    #expect(try next("<a>; rel=\"first\t next  last\"") == "a")
    #expect(try next(#"<a>; title="x"; rel="next"; type="text/html""#) == "a")
  }

  @Test("names and relation types compare without case, blanks stand where the grammar has them")
  func form() throws {
    #expect(try next(#"<a>; REL="NEXT""#) == "a")
    #expect(try next("<a>\t ;\t rel\t =\t \"next\"\t ") == "a")
    #expect(try next(#"  <a>;rel="next"  "#) == "a")
    #expect(try next(#"<a>;;rel=next;"#) == "a")
    #expect(try next(#"<a>; crossorigin; rel=next"#) == "a")
    #expect(try next(#"<a>; rel="\n\e\x\t""#) == "a")
    #expect(try next("<>; rel=next") == "")
  }

  @Test("commas, semicolons and brackets inside of addresses and quotes part nothing")
  func delimiters() throws {
    #expect(try next(#"</x?a=1,2;b=3>; rel="next""#) == "/x?a=1,2;b=3")
    #expect(try next(#"<a>; title="b, <c>; rel=last; \"d\""; rel="next""#) == "a")
    #expect(try next(#"<a>; title="\\"; rel="next""#) == "a")
    #expect(try next(#"<a>; title=""; rel=next"#) == "a")
    #expect(try next(#"<a>; rel="x"; title="; rel=next", <b>; rel=next"#) == "b")
    #expect(try next(#"<a>; title*=UTF-8''%e2%82%ac, <b>; rel=next"#) == "b")
    #expect(try next(#"<a?rel=next>; rel=last"#) == nil)
  }

  @Test("empty elements of the list are passed over (RFC 9110 §5.6.1)")
  func emptyElements() throws {
    #expect(try next(#", ,<a>; rel="next",, ,"#) == "a")
    #expect(try decision([""]) == .end(.proven))
    #expect(try decision([" , "]) == .end(.proven))
  }

  @Test("no next link ends the walk by proof")
  func end() throws {
    #expect(try decision([]) == .end(.proven))
    for field in [
      #"<a>; rel="prev""#, "<a>", #"<a>; rel="""#, #"<a>; rel="nextpage""#, #"<a>; rev="next""#,
      #"<a>; title="next""#,
      #"<a>; rel="last"; rel="next""#, #"<a>; rel="next"; anchor="/other""#,
      #"<a>; rel="http://x.example/next""#,
      #"<a>; rel*="next""#, #"<a>; xrel="next""#,
    ] {
      #expect(try decision([field]) == .end(.proven), "\(field)")
    }
  }

  @Test(
    "what follows no grammar is an error, never the end",
    arguments: [
      "a; rel=next", "<a; rel=next", #"<a>; rel="next"#, #"<a>; rel="next\"#, "<a> rel=next",
      #"<a>; rel="next" x"#,
      #"<a>; rel="next"x"#, "<a>; rel=last <b>; rel=next", "<a>, b", ">a<; rel=next", "null", "{}",
    ])
  func malformed(_ field: String) {
    #expect(throws: PagingError.self) { try decision([field]) }
    #expect(throws: PagingError.self) { try decision(["<z>; rel=last", field]) }
  }

  @Test(
    "a combining character behind a quote or bracket hides it from nobody",
    arguments: [
      "<a>; title=\"\u{301}x, y; z\"; rel=next", "<\u{301}a>; rel=next",
      "<a>\u{20}; \u{301}=\"x\u{301}\"; rel=next",
      "<a>; rel=\"next \u{301}x\"", "<a>; title=\"\\\"\u{301}\"; rel=next",
    ])
  func combining(_ field: String) throws {
    #expect(try next(field)?.hasSuffix("a") == true)
  }
}
